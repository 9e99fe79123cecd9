"""What closing windows writes down: steps for the accumulators, and the windows that were read.

A step is (slot, source, sign): a partial result enters (+1) or leaves (-1) a group's slot, or the slot is read (0). A
window's readings follow one another, from step AT on.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array

WINDOW, STAMP, BEGINNING, OLDEST, AT, READINGS = range(6)
"""Columns of a window: its number, the timestamp of the row that closed it, the first timestamp and the oldest
arrival in its oldest pane, and where its readings are.
"""
WIDTH: Final = 6


@njit(cache=True)
def new_log() -> Any:
    """Steps (slot, source, sign), windows, and how many of each there are."""
    size = 256
    steps = (np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int8))
    return (*steps, np.empty((16, WIDTH), np.int64), np.zeros(2, np.int64))


@njit(cache=True)
def with_room(log: Any, steps: int) -> Any:
    """The log with room for so many steps more."""
    slots, sources, signs, windows, used = log
    while used[0] + steps > len(slots):
        slots, sources, signs = _doubled(slots), _doubled(sources), _doubled(signs)
    return slots, sources, signs, windows, used


@njit(cache=True)
def with_window(log: Any, k: int, stamp: int, beginning: int, arrival: int, at: int) -> Any:
    """The log with a window whose readings begin at step `at`."""
    slots, sources, signs, windows, used = log
    n = used[1]
    if n == len(windows):
        wider = np.empty((2 * n, WIDTH), np.int64)
        wider[:n] = windows
        windows = wider
    windows[n, WINDOW], windows[n, STAMP], windows[n, BEGINNING] = k, stamp, beginning
    windows[n, OLDEST], windows[n, AT], windows[n, READINGS] = arrival, at, used[0] - at
    used[1] = n + 1
    return slots, sources, signs, windows, used


@njit(cache=True)
def _doubled(values: Array) -> Array:
    longer = np.empty(2 * len(values), values.dtype)
    longer[: len(values)] = values
    return longer


@njit(cache=True)
def readings(slots: Array, windows: Array) -> Array:
    """The slots that are read, in order."""
    read = np.empty(windows[:, READINGS].sum(), np.int64)
    n = 0
    for window in windows:
        for i in range(window[AT], window[AT] + window[READINGS]):
            read[n] = slots[i]
            n += 1
    return read
