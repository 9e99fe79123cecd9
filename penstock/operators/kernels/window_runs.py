"""Sliding windows over timestamps as runs of consecutive rows; empty windows cost nothing, however many."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array

EMPTY: Final = -(1 << 62)
"""The window before all others: nothing was in the content yet."""
NEVER: Final = (1 << 63) - 1
_WINDOW, _LOW, _HIGH = 0, 1, 2
_FIELDS: Final = 6


def window_runs(ts: Array, shape: Array, last: int, state: Array) -> list[Array]:
    """The content's changes up to the end of window `last`, as runs: [ts, sign, first, count, window_start,
    window_end].

    ts      timestamps of the rows, in order; each lies in some window shape   origin, slide, size state   the window
    in the content, and its rows [low, high) among those given; moved on to the last window that ended
    """
    runs, used = _window_runs(ts, shape, last, state)
    columns: list[Array] = [runs[:used, i] for i in range(_FIELDS)]
    columns[1] = columns[1].astype(np.int8)
    return columns


@njit(cache=True)
def _window_runs(ts: Array, shape: Array, last: int, state: Array) -> Any:
    origin, slide, size = shape[0], shape[1], shape[2]
    runs, used = np.empty((16, _FIELDS), np.int64), 0
    while True:
        window = _following(ts, shape, state)
        if window > last:
            return runs, used
        if used + 2 > len(runs):
            runs = np.concatenate((runs, np.empty_like(runs)))
        start = origin + window * slide
        if state[_LOW] < state[_HIGH]:
            old = origin + state[_WINDOW] * slide
            _write(runs[used], start + size, -1, state, old, old + size)
            used += 1
        _move_on(ts, start, size, state)
        state[_WINDOW] = window
        if state[_LOW] < state[_HIGH]:
            _write(runs[used], start + size, 1, state, start, start + size)
            used += 1


@njit(cache=True)
def _following(ts: Array, shape: Array, state: Array) -> Any:
    """The next window at whose end the content changes; one after all others if there is none."""
    if state[_LOW] < state[_HIGH]:
        return state[_WINDOW] + 1
    if state[_HIGH] == len(ts):
        return NEVER
    return max(state[_WINDOW] + 1, (ts[state[_HIGH]] - shape[0] - shape[2]) // shape[1] + 1)


@njit(cache=True)
def _move_on(ts: Array, start: int, size: int, state: Array) -> None:
    low, high = state[_LOW], state[_HIGH]
    while low < len(ts) and ts[low] < start:
        low += 1
    high = max(low, high)
    while high < len(ts) and ts[high] < start + size:
        high += 1
    state[_LOW], state[_HIGH] = low, high


@njit(cache=True)
def _write(run: Array, ts: int, sign: int, state: Array, start: int, end: int) -> None:
    run[0], run[1] = ts, sign
    run[2], run[3] = state[_LOW], state[_HIGH] - state[_LOW]
    run[4], run[5] = start, end
