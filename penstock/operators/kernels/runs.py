"""Merging what enters a window with what leaves it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array


@njit(cache=True)
def merge_runs(leave_ts: Array, leave_first: int, enter_ts: Array, enter_first: int) -> Any:
    """Two runs of consecutive rows, each with its timestamps in order, as one: (ts, sign, rows).

    At one instant `-` comes first, but the `-` of a row that enters and leaves within one instant after its `+`.
    """
    leaving, entering = len(leave_ts), len(enter_ts)
    ts = np.empty(leaving + entering, np.int64)
    sign = np.empty(leaving + entering, np.int8)
    rows = np.empty(leaving + entering, np.int64)
    i = j = 0
    for at in range(leaving + entering):
        entered = leave_first + i < enter_first + j
        if j == entering or (i < leaving and entered and leave_ts[i] <= enter_ts[j]):
            ts[at], sign[at], rows[at] = leave_ts[i], -1, leave_first + i
            i += 1
        else:
            ts[at], sign[at], rows[at] = enter_ts[j], 1, enter_first + j
            j += 1
    return ts, sign, rows


def expand_runs(first: Array, count: Array) -> tuple[Array, Array]:
    """Runs of consecutive rows, row by row: (which run, which row).

    >>> runs, rows = expand_runs(np.array([5, 3]), np.array([2, 3]))
    >>> runs.tolist(), rows.tolist()
    ([0, 0, 1, 1, 1], [5, 6, 3, 4, 5])
    """
    runs = np.repeat(np.arange(len(first)), count)
    within = np.arange(len(runs)) - np.repeat(np.cumsum(count) - count, count)
    return runs, first[runs] + within
