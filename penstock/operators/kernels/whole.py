"""Emitting a whole relation at some instants (Rstream)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.emission import CAUSE, ROW, TAG, change_list, with_change
from penstock.plan.windows import BEGIN, END

COPIES, BEFORE, INSTANT, OLDEST, PLACE = 0, 1, 2, 3, 4
"""Fields of a row's state: its copies, those before the instant, the instant's serial number (negative once the row is
done), the oldest arrival of a copy since the row came in, and 1 + its place in the list of rows (0: not there)."""
FIELDS: Final = 5
SERIAL, ROWS, LAST = 0, 1, 2
"""Fields of the operator's state: the last instant's serial number, how many distinct rows there are, and the last
instant at which anything was emitted."""


@njit(cache=True)
def whole_relations(ts: Array, sign: Array, ids: Array, arrival: Array, weight: Array, boundaries: Array, until: int,
                    state: Array, weights: Array, content: Array, own: Array) -> Any:  # fmt: skip
    """The relation at each instant of net change, and at each boundary before `until` while it holds rows; none is
    waited for by what is given up at the end of time.

    boundaries   (slide, first) of each; `until` is exclusive
    weight       weights of the elements, none where all are 1; `weights` sums them by row
    content      the ids of the relation's rows, own[ROWS] of them
    Returns (list of (id, instant, ., arrival), weight of each): one entry a copy.
    """
    out, used = change_list(len(ts)), 0
    shares = np.ones(len(out))
    start = 0
    while start < len(ts):
        if ts[start] < END - 1:
            out, shares, used = _until_boundary(ts[start], boundaries, state, weights, content, own, out, shares, used)
        stop = _take_in(start, ts, sign, ids, arrival, weight, state, weights, own)
        if _settle(ids[start:stop], own[SERIAL], state, content, own):
            out, shares, used = _all_rows(ts[start], state, weights, content, own, out, shares, used)
        start = stop
    out, shares, used = _until_boundary(until, boundaries, state, weights, content, own, out, shares, used)
    return out[:used], shares[:used]


@njit(cache=True)
def _take_in(start: int, ts: Array, sign: Array, ids: Array, arrival: Array, weight: Array,
             state: Array, weights: Array, own: Array) -> Any:  # fmt: skip
    """Counts the changes of the instant that begins at `start`; where it ends."""
    own[SERIAL] += 1
    i = start
    while i < len(ts) and ts[i] == ts[start]:
        row = state[ids[i]]
        if row[INSTANT] != own[SERIAL]:
            row[INSTANT], row[BEFORE] = own[SERIAL], row[COPIES]
            if row[COPIES] == 0:
                row[OLDEST] = arrival[i]
                weights[ids[i]] = 0.0
        row[COPIES] += sign[i]
        row[OLDEST] = min(row[OLDEST], arrival[i]) if sign[i] > 0 else row[OLDEST]
        weights[ids[i]] += sign[i] * (weight[i] if len(weight) else 1.0)
        i += 1
    return i


@njit(cache=True)
def _settle(ids: Array, serial: int, state: Array, content: Array, own: Array) -> Any:
    """Brings the list of rows up to date with the instant; whether anything changed on balance."""
    changed = False
    for key in ids:
        row = state[key]
        if row[INSTANT] != serial:
            continue
        row[INSTANT] = -serial
        changed = changed or row[COPIES] != row[BEFORE]
        if row[COPIES] > 0 and row[PLACE] == 0:
            content[own[ROWS]] = key
            own[ROWS] += 1
            row[PLACE] = own[ROWS]
        elif row[COPIES] == 0 and row[PLACE] > 0:
            own[ROWS] -= 1
            content[row[PLACE] - 1] = content[own[ROWS]]
            state[content[own[ROWS]], PLACE] = row[PLACE]
            row[PLACE] = 0
    return changed


@njit(cache=True)
def _until_boundary(until: int, boundaries: Array, state: Array, weights: Array, content: Array, own: Array, out: Array,
                    shares: Array, used: int) -> Any:  # fmt: skip
    """Emits at the boundaries after the last instant and before `until`, while there are rows.

    What stands from BEGIN is no change in time: boundaries count from the first change after it.
    """
    while len(boundaries) and own[ROWS] > 0 and own[LAST] > BEGIN:
        following = until
        for b in range(len(boundaries)):
            slide, first = boundaries[b, 0], boundaries[b, 1]
            following = min(following, first + ((own[LAST] - first) // slide + 1) * slide)
        if following >= until:
            break
        out, shares, used = _all_rows(following, state, weights, content, own, out, shares, used)
    return out, shares, used


@njit(cache=True)
def _all_rows(instant: int, state: Array, weights: Array, content: Array, own: Array, out: Array, shares: Array,
              used: int) -> Any:  # fmt: skip
    own[LAST] = instant
    for place in range(own[ROWS]):
        key = content[place]
        for _ in range(state[key, COPIES]):
            out = with_change(out, used, key, instant, 1, state[key, OLDEST])
            if len(shares) < len(out):
                shares = np.concatenate((shares, np.ones(len(out) - len(shares))))
            shares[used] = weights[key] / state[key, COPIES]
            used += 1
    return out, shares, used


def columns_of(out: Array) -> tuple[Array, Array, Array]:
    """(ids, instants, arrivals) of what `whole_relations` found."""
    return out[:, ROW].copy(), out[:, CAUSE].copy(), out[:, TAG].copy()
