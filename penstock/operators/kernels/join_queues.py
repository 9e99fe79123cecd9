"""Queues of equal rows: which row a `-` takes away where rows have no number to be known by.

`first` and `last` hold the ends of each key's queue (-1: empty), `following` the next row of the same key.
"""

from __future__ import annotations

from typing import Final

from numba import njit

from penstock.operators.columns.vector import Array

EMPTY: Final = -1


@njit(cache=True)
def queue_in(keys: Array, sign: Array, rows: Array, first: Array, last: Array, following: Array) -> None:
    """Each + puts its row at the end of its key's queue."""
    for k in range(len(keys)):
        if sign[k] > 0:
            key, row = keys[k], rows[k]
            if first[key] == EMPTY:
                first[key] = row
            else:
                following[last[key]] = row
            last[key] = row
            following[row] = EMPTY


@njit(cache=True)
def queue_out(keys: Array, sign: Array, rows: Array, first: Array, following: Array, emptied: Array) -> int:
    """Each - takes the first row of its key's queue, and writes it to `rows`; returns how many keys `emptied` lists."""
    count = 0
    for k in range(len(keys)):
        if sign[k] < 0 and first[keys[k]] != EMPTY:
            key = keys[k]
            rows[k] = first[key]
            first[key] = following[first[key]]
            if first[key] == EMPTY:
                emptied[count] = key
                count += 1
    return count
