"""Windows by key: queues of rows linked through flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.emission import change_list, with_change

HEAD, TAIL, LENGTH = 0, 1, 2
"""Fields of a key's queue in `push_out`."""
FIRST, FRESH, LAST, COUNT, START, END = 0, 1, 2, 3, 4, 5
"""Fields of a key's queue in `slide`: its first row, the first that is not in the content yet, its last (-1 where there
is no such row), the number of tuples that came, and the bounds of the window in the content."""


@njit(cache=True)
def push_out(keys: Array, first: int, count: int, queue: Array, following: Array, alive: Array) -> Any:
    """Appends row `first` + i to the queue of key i, and takes the first row out of queues that have more than `count`.

    Returns (rows, sign, cause): each change's row, and the arrival that it belongs to.
    """
    n = len(keys)
    rows, sign, cause = np.empty(2 * n, np.int64), np.empty(2 * n, np.int8), np.empty(2 * n, np.int64)
    used = 0
    for i in range(n):
        q = queue[keys[i]]
        if q[LENGTH] == 0:
            q[HEAD] = first + i
        else:
            following[q[TAIL]] = first + i
        q[TAIL] = first + i
        if q[LENGTH] == count:
            rows[used], sign[used], cause[used] = q[HEAD], -1, i
            used += 1
            alive[q[HEAD]] = False
            q[HEAD] = following[q[HEAD]]
        else:
            q[LENGTH] += 1
        rows[used], sign[used], cause[used] = first + i, 1, i
        used += 1
    return rows[:used], sign[:used], cause[:used]


@njit(cache=True)
def numbered(keys: Array, queue: Array) -> Any:
    """The number of each tuple among those of its key, from 0."""
    numbers = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        numbers[i] = queue[keys[i], COUNT]
        queue[keys[i], COUNT] += 1
    return numbers


@njit(cache=True)
def slide(keys: Array, numbers: Array, ts: Array, first: int, shape: Array, bounds: bool,
          queue: Array, following: Array, row_number: Array, row_ts: Array, alive: Array) -> Any:  # fmt: skip
    """Appends row `first` + i, tuple `numbers[i]` of key i, to its queue; where it ends a window, that takes the
    place of the one before.

    shape   origin, slide, count;   bounds   the whole content changes with each window, because its bounds do
    Returns (changes, window starts, window ends): the bounds by a change's tag.
    """
    changes, used = change_list(2 * len(keys)), 0
    starts, ends = np.empty(2 * len(keys), np.int64), np.empty(2 * len(keys), np.int64)
    for i in range(len(keys)):
        q = queue[keys[i]]
        _push(q, first + i, following)
        start = numbers[i] + 1 - shape[2]
        if (start - shape[0]) % shape[1] != 0:
            continue
        starts[2 * i], ends[2 * i] = q[START], q[END]
        row = q[FIRST]
        while row != q[FRESH]:
            if bounds or row_number[row] < start:
                changes = with_change(changes, used, row, i, -1, 2 * i)
                used += 1
            row = following[row]
        _pop(q, start, following, row_number, alive)
        q[START], q[END] = row_ts[q[FIRST]], ts[i]
        starts[2 * i + 1], ends[2 * i + 1] = q[START], q[END]
        row = q[FIRST] if bounds else q[FRESH]
        while row >= 0:
            changes = with_change(changes, used, row, i, 1, 2 * i + 1)
            used += 1
            row = following[row]
        q[FRESH] = -1
    return changes[:used], starts, ends


@njit(cache=True)
def _push(q: Array, row: int, following: Array) -> None:
    if q[FIRST] < 0:
        q[FIRST] = row
    else:
        following[q[LAST]] = row
    if q[FRESH] < 0:
        q[FRESH] = row
    q[LAST] = row
    following[row] = -1


@njit(cache=True)
def _pop(q: Array, start: int, following: Array, row_number: Array, alive: Array) -> None:
    """Takes out the rows numbered below `start`. The row that ends the window stays: the queue does not run empty."""
    while row_number[q[FIRST]] < start:
        alive[q[FIRST]] = False
        if q[FRESH] == q[FIRST]:
            q[FRESH] = following[q[FIRST]]
        q[FIRST] = following[q[FIRST]]
