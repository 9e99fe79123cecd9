"""What closing windows writes down: steps for the accumulators, and the windows that were read.

A step is (slot, source, sign): a partial result enters (+1) or leaves (-1) a group's slot, or the slot is read (0). A
window's readings follow one another, from step AT on.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array

WINDOW, STAMP, BEGINNING, OLDEST, AT, READINGS = range(6)
"""Columns of a window: its number, the timestamp of the row that closed it, the first timestamp and the oldest
arrival in its oldest pane, and where its readings are.
"""
WIDTH: Final = 6


def log_of(steps: int, windows: int) -> tuple[Array, ...]:
    """A log with room for so many: slots, sources and signs of steps, windows, and how many of each are written."""
    arrays = (np.empty(steps, np.int32), np.empty(steps, np.int32), np.empty(steps, np.int8))
    return (*arrays, np.empty((windows, WIDTH), np.int64), np.zeros(2, np.int64))


def widened(log: tuple[Array, ...]) -> tuple[Array, ...]:
    """A log with twice the room that says the same."""
    *arrays, used = log
    return (*(np.concatenate([a, np.empty_like(a)]) for a in arrays), used)


@njit(cache=True, inline="always")
def has_room(slots: Array, used: Array, steps: int) -> bool:
    """True where so many more steps can be written."""
    return bool(used[0] + steps <= len(slots))


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
