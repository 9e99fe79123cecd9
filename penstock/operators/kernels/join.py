"""What a train-at-a-time join needs beside its indexes: event numbers, lifetimes and spans.

The deltas of all sides of one interval are numbered 0, 1, 2, ... in the order of their timestamps: events. A row that
is born or dies in the interval is touched: `touch[position]` is then its entry in the short arrays `born` and `died`,
else 0, whose entry lives through the whole interval; VACANT is the touch of a position without a row.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array

VACANT: Final = -1
NEVER: Final = 2**31 - 1


@njit(cache=True)
def add_earlier(ts: Array, other: Array, ties: bool, events: Array) -> None:
    """Adds to each event number how many elements of `other` come before it; `ties`: those of the same instant too."""
    j = 0
    for k in range(len(ts)):
        while j < len(other) and (other[j] < ts[k] or (ties and other[j] == ts[k])):
            j += 1
        events[k] += j


@njit(cache=True)
def mark(positions: Array, sign: Array, events: Array, touch: Array, born: Array, died: Array) -> tuple[int, int]:
    """Notes births and deaths; returns how many entries `born` and `died` now have, and how many rows died unborn.

    A row dies unborn where its - stands before its + in the list of one instant.
    """
    born[0], died[0] = -1, NEVER
    count, unborn = 1, 0
    for k in range(len(positions)):
        if sign[k] > 0:
            touch[np.uint64(positions[k])] = count
            born[count], died[count] = events[k], NEVER
            count += 1
    for k in range(len(positions)):
        if sign[k] < 0:
            row = np.uint64(positions[k])
            t = touch[row]
            if t == 0:
                t = count
                touch[row] = t
                born[t] = -1
                count += 1
            died[t] = events[k]
            unborn += born[t] > events[k]
    return count, unborn


@njit(cache=True)
def settle(positions: Array, sign: Array, touch: Array) -> None:
    """Ends the interval: what was born lives on, what died leaves its position vacant."""
    for k in range(len(positions)):
        if sign[k] > 0:
            touch[np.uint64(positions[k])] = 0
    for k in range(len(positions)):
        if sign[k] < 0:
            touch[np.uint64(positions[k])] = VACANT


@njit(cache=True)
def first_alive(touch: Array, start: int, stop: int) -> int:
    """The first position from `start` that is not vacant; `stop` where there is none."""
    while start < stop and touch[start] == VACANT:
        start += 1
    return start


@njit(cache=True)
def spans(low: Array, high: Array, listed: Array, events: Array, start: int, shift: int, touch: Array, born: Array,
          died: Array, out_index: Array, out_row: Array) -> tuple[int, int]:  # fmt: skip
    """Joins candidate i with the rows `listed[low[i]:high[i]]` that live at its event; returns as `probe` does."""
    count = 0
    room = len(out_row)
    for i in range(start, len(events)):
        event, first = events[i], count
        for k in range(low[i], high[i]):
            r = listed[k]
            t = touch[r]
            if born[t] < event and event < died[t]:
                if count == room:
                    return i, first
                out_index[count] = i
                out_row[count] = r + shift
                count += 1
    return len(events), count
