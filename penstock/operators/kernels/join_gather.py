"""Gathering and scattering by int32 positions: what NumPy's indexing does, without widening the positions first."""

from __future__ import annotations

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array


@njit(cache=True)
def taken(values: Array, rows: Array) -> Array:
    """The values at these rows."""
    out = np.empty(len(rows), values.dtype)
    for k in range(len(rows)):
        out[k] = values[np.uint64(rows[k])]
    return out


@njit(cache=True)
def keep_least(least: Array, values: Array, rows: Array) -> None:
    """Lowers each entry of `least` to the value at its row, where that is less."""
    for k in range(len(rows)):
        least[k] = min(least[k], values[np.uint64(rows[k])])


@njit(cache=True)
def scatter(values: Array, places: Array, out: Array) -> None:
    """Writes each value to its place."""
    for k in range(len(places)):
        out[np.uint64(places[k])] = values[k]


@njit(cache=True)
def count_events(events: Array, offsets: Array) -> None:
    """Adds 1 to `offsets[e + 1]` for each event e."""
    for k in range(len(events)):
        offsets[np.uint64(events[k] + 1)] += 1


@njit(cache=True)
def arrange(events: Array, offsets: Array, places: Array) -> None:
    """The place of each result in the order of events; `offsets[e]` is the next free place of event e."""
    for k in range(len(events)):
        e = np.uint64(events[k])
        places[k] = offsets[e]
        offsets[e] += 1


@njit(cache=True)
def stamp(events: Array, ts: Array, sign: Array, event_ts: Array, event_sign: Array) -> int:
    """Writes the timestamp and the sign of each element at its event; returns how many signs are -."""
    negative = 0
    for k in range(len(events)):
        e = np.uint64(events[k])
        event_ts[e], event_sign[e] = ts[k], sign[k]
        negative += sign[k] < 0
    return negative
