"""Net changes at each instant: what operators on bags of rows act on, once the `+` and `-` of an instant have
cancelled.

Rows go by their id in a `KeyIndex`. What is kept of a row lies in `state[id]`: its copies on the left and on the
right, and notes on the instant at hand.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array

LEFT, RIGHT, BEFORE, INSTANT, OLDEST = 0, 1, 2, 3, 4
"""Fields of a row's state: copies on either side, what the result held before the instant, the instant's serial number
(negative once the row is done), and the oldest arrival among the instant's changes."""
FIELDS: Final = 5
DISTINCT, EXCEPT, EXCEPT_ALL, INTERSECT, INTERSECT_ALL = range(5)


@njit(cache=True)
def result_copies(rule: int, left: int, right: int) -> Any:
    """How often the result of a set operator holds a row."""
    if rule == DISTINCT:
        return np.int64(left > 0)
    if rule == EXCEPT:
        return np.int64(left > 0 and right == 0)
    if rule == EXCEPT_ALL:
        return max(left - right, 0)
    if rule == INTERSECT:
        return np.int64(left > 0 and right > 0)
    return min(left, right)


@njit(cache=True)
def set_changes(rule: int, ts: Array, sign: Array, side: Array, ids: Array, arrival: Array,
                state: Array, serial: int) -> Any:  # fmt: skip
    """The result's changes: (positions of elements that show the rows, signs, oldest arrivals), the last serial number
    used, and the ids without copies."""
    n = len(ts)
    positions, signs, oldest = np.empty(n, np.int64), np.empty(n, np.int8), np.empty(n, np.int64)
    used = start = 0
    while start < n:
        serial += 1
        stop = start
        while stop < n and ts[stop] == ts[start]:
            _count(rule, state[ids[stop]], sign[stop], side[stop], arrival[stop], serial)
            stop += 1
        for i in range(start, stop):
            row = state[ids[i]]
            if row[INSTANT] == serial:
                row[INSTANT] = -serial
                change = result_copies(rule, row[LEFT], row[RIGHT]) - row[BEFORE]
                for _ in range(abs(change)):
                    positions[used], oldest[used] = i, row[OLDEST]
                    signs[used] = 1 if change > 0 else -1
                    used += 1
        start = stop
    return positions[:used], signs[:used], oldest[:used], serial, _without_copies(ids, state)


@njit(cache=True)
def _count(rule: int, row: Array, sign: int, side: int, arrival: int, serial: int) -> None:
    if row[INSTANT] != serial:
        row[INSTANT] = serial
        row[BEFORE] = result_copies(rule, row[LEFT], row[RIGHT])
        row[OLDEST] = arrival
    row[OLDEST] = min(row[OLDEST], arrival)
    row[RIGHT if side else LEFT] += sign


@njit(cache=True)
def _without_copies(ids: Array, state: Array) -> Any:
    """The ids that can be freed, each once."""
    gone, used = np.empty(len(ids), np.int64), 0
    for key in ids:
        row = state[key]
        if row[LEFT] == 0 and row[RIGHT] == 0 and row[INSTANT] != 0:
            row[INSTANT] = 0
            gone[used] = key
            used += 1
    return gone[:used]


@njit(cache=True)
def mixed_instants(ts: Array, sign: Array) -> Any:
    """Marks the elements of instants that have both `+` and `-`: only there can anything cancel."""
    mixed = np.zeros(len(ts), np.bool_)
    start = 0
    while start < len(ts):
        stop, both = start, False
        while stop < len(ts) and ts[stop] == ts[start]:
            both = both or sign[stop] != sign[start]
            stop += 1
        if both:
            mixed[start:stop] = True
        start = stop
    return mixed


@njit(cache=True)
def surviving(ts: Array, sign: Array, ids: Array, wanted: int, net: Array) -> Any:
    """Marks elements of sign `wanted`, of each row and instant as many as do not cancel; `net` is 0 for each id."""
    kept = np.zeros(len(ts), np.bool_)
    start = 0
    while start < len(ts):
        stop = start
        while stop < len(ts) and ts[stop] == ts[start]:
            net[ids[stop]] += sign[stop] * wanted
            stop += 1
        for i in range(start, stop):
            if sign[i] == wanted and net[ids[i]] > 0:
                net[ids[i]] -= 1
                kept[i] = True
        for i in range(start, stop):
            net[ids[i]] = 0
        start = stop
    return kept
