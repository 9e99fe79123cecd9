"""The semijoin's chains and its march through time.

    rows     the left's distinct rows, chained by their probe
    probes   distinct values of the left columns that the predicate reads, chained by their group
    rights   distinct values of the right columns that it reads, chained by their group
    groups   values of the equality keys

A chain's head, and a member's owner, next and previous, are 1 + an id; 0 is none.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.emission import change_list, with_change

OWNER, NEXT, PREVIOUS, SERIAL, BEFORE = 0, 1, 2, 3, 4
"""Fields that rows, probes and rights have: the chain's owner and neighbours; the serial number of the last instant
that changed it (negative once that is done), and what it was before: a row's copies in the result, whether a probe
held, a right's copies."""
COPIES, OLDEST = 5, 6
"""More fields of a row: copies in the left input, the oldest arrival among them. A right has COPIES too."""
MATCHES, UNKNOWNS, ROWS = 5, 6, 7
"""More fields of a probe: how many distinct rights make the predicate true, how many NULL; its chain's first row."""
SLOT: Final = 6
"""One more field of a right: its place among the rights that change in this call."""
SEEN: Final = 8
"""When `distinct` last saw a member."""
FIELDS: Final = 9
NULL_GROUP: Final = 1
SEMI, ANTI, NULL_AWARE = 0, 1, 2
TRUE, UNKNOWN = 1, 2


@njit(cache=True)
def distinct(ids: Array, state: Array, call: int) -> Any:
    """Each of these members once; `call` is a number that no call before had."""
    found, used = np.empty_like(ids), 0
    for key in ids:
        if state[key, SEEN] != call:
            state[key, SEEN] = call
            found[used] = key
            used += 1
    return found[:used]


@njit(cache=True)
def empty_groups(owners: Array, heads: Array) -> Any:
    """Those of these owners that own nothing any more, each once; not NULL_GROUP, which stays."""
    found, used = np.empty_like(owners), 0
    for owner in owners:
        if owner != NULL_GROUP and heads[0, owner - 1] == 0 and heads[1, owner - 1] == 0:
            heads[0, owner - 1] = -1
            found[used] = owner
            used += 1
    for owner in found[:used]:
        heads[0, owner - 1] = 0
    return found[:used]


@njit(cache=True)
def link(state: Array, ids: Array, owners: Array, heads: Array) -> None:
    """Puts each member that has no owner yet in front of its owner's chain (`heads[owner - 1]`)."""
    for i in range(len(ids)):
        member = state[ids[i]]
        if member[OWNER] != 0:
            continue
        member[OWNER], member[PREVIOUS], member[NEXT] = owners[i], 0, heads[owners[i] - 1]
        if member[NEXT] != 0:
            state[member[NEXT] - 1, PREVIOUS] = ids[i] + 1
        heads[owners[i] - 1] = ids[i] + 1


@njit(cache=True)
def unlink(state: Array, ids: Array, heads: Array) -> None:
    """Takes members out of their chains, and clears them."""
    for key in ids:
        member = state[key]
        if member[NEXT] != 0:
            state[member[NEXT] - 1, PREVIOUS] = member[PREVIOUS]
        if member[PREVIOUS] != 0:
            state[member[PREVIOUS] - 1, NEXT] = member[NEXT]
        else:
            heads[member[OWNER] - 1] = member[NEXT]
        member[:] = 0


@njit(cache=True)
def pairs_by_group(owners: Array, state: Array, heads: Array) -> Any:
    """Every member of each owner's chain: (place in `owners`, id)."""
    places, ids, used = np.empty(16, np.int64), np.empty(16, np.int64), 0
    for i in range(len(owners)):
        member = heads[owners[i] - 1]
        while member != 0:
            if used == len(ids):
                places = np.concatenate((places, np.empty_like(places)))
                ids = np.concatenate((ids, np.empty_like(ids)))
            places[used], ids[used] = i, member - 1
            used += 1
            member = state[member - 1, NEXT]
    return places[:used], ids[:used]


@njit(cache=True)
def count_matches(probe_ids: Array, truth: Array, probes: Array) -> None:
    """Adds rights that stand already to what new probes know."""
    for i in range(len(probe_ids)):
        if truth[i] == TRUE:
            probes[probe_ids[i], MATCHES] += 1
        elif truth[i] == UNKNOWN:
            probes[probe_ids[i], UNKNOWNS] += 1


@njit(cache=True)
def march(mode: int, ts: Array, sign: Array, side: Array, ids: Array, arrival: Array,
          pair_start: Array, pair_probe: Array, pair_truth: Array,
          rows: Array, probes: Array, rights: Array, serial: int) -> Any:  # fmt: skip
    """The result's net changes, instant by instant: (list of (row, element, sign, .), last serial number).

    pair_start   where the pairs of each changing right begin: pair_probe, pair_truth say what its coming means to whom
    """
    changes, used = change_list(len(ts)), 0
    start = 0
    while start < len(ts):
        serial += 1
        stop = start
        while stop < len(ts) and ts[stop] == ts[start]:
            _count(mode, sign[stop], side[stop], ids[stop], arrival[stop], rows, probes, rights, serial)
            stop += 1
        touched = _turn_probes(mode, start, stop, side, ids, pair_start, pair_probe, pair_truth, probes, rights, serial)
        for probe in touched:
            changes, used = _turn_rows(mode, probe, start, rows, probes, serial, changes, used)
        for i in range(start, stop):
            if side[i] == 0:
                changes, used = _settle(mode, ids[i], i, rows, probes, serial, changes, used)
        start = stop
    return changes[:used], serial


@njit(cache=True)
def _holds(mode: int, probe: Array) -> Any:
    """1 where rows of this probe are in the result, else 0."""
    if mode == SEMI:
        return np.int64(probe[MATCHES] > 0)
    return np.int64(probe[MATCHES] == 0 and (mode == ANTI or probe[UNKNOWNS] == 0))


@njit(cache=True)
def _count(mode: int, sign: int, side: int, key: int, arrival: int, rows: Array, probes: Array, rights: Array,
           serial: int) -> None:  # fmt: skip
    item = rights[key] if side else rows[key]
    if item[SERIAL] != serial:
        item[SERIAL] = serial
        item[BEFORE] = item[COPIES] * (1 if side else _holds(mode, probes[item[OWNER] - 1]))
    if side == 0 and sign > 0:
        item[OLDEST] = arrival if item[COPIES] == 0 else min(item[OLDEST], arrival)
    item[COPIES] += sign


@njit(cache=True)
def _turn_probes(mode: int, start: int, stop: int, side: Array, ids: Array, pair_start: Array, pair_probe: Array,
                 pair_truth: Array, probes: Array, rights: Array, serial: int) -> Any:  # fmt: skip
    """Tells the probes which rights came and went; the probes that were told."""
    touched, used = np.empty(16, np.int64), 0
    for i in range(start, stop):
        if side[i] == 0 or rights[ids[i], SERIAL] != serial:
            continue
        right = rights[ids[i]]
        right[SERIAL] = -serial
        change = np.int64(right[COPIES] > 0) - np.int64(right[BEFORE] > 0)
        if change == 0:
            continue
        for pair in range(pair_start[right[SLOT]], pair_start[right[SLOT] + 1]):
            probe = probes[pair_probe[pair]]
            if probe[SERIAL] != serial:
                probe[SERIAL], probe[BEFORE] = serial, _holds(mode, probe)
                if used == len(touched):
                    touched = np.concatenate((touched, np.empty_like(touched)))
                touched[used] = pair_probe[pair]
                used += 1
            probe[MATCHES if pair_truth[pair] == TRUE else UNKNOWNS] += change
    return touched[:used]


@njit(cache=True)
def _turn_rows(mode: int, key: int, element: int, rows: Array, probes: Array, serial: int, changes: Array,
               used: int) -> Any:  # fmt: skip
    """Emits the rows of a probe that came to hold, or ceased to; rows that changed themselves are settled later."""
    probe = probes[key]
    change = _holds(mode, probe) - probe[BEFORE]
    member = probe[ROWS] if change != 0 else 0
    while member != 0:
        row = rows[member - 1]
        if row[SERIAL] != serial:
            for _ in range(row[COPIES]):
                changes = with_change(changes, used, member - 1, element, change, row[OLDEST])
                used += 1
        member = row[NEXT]
    return changes, used


@njit(cache=True)
def _settle(mode: int, key: int, element: int, rows: Array, probes: Array, serial: int, changes: Array,
            used: int) -> Any:  # fmt: skip
    """Emits how a row's copies in the result changed over the instant."""
    row = rows[key]
    if row[SERIAL] != serial:
        return changes, used
    row[SERIAL] = -serial
    change = row[COPIES] * _holds(mode, probes[row[OWNER] - 1]) - row[BEFORE]
    for _ in range(abs(change)):
        changes = with_change(changes, used, key, element, 1 if change > 0 else -1, row[OLDEST])
        used += 1
    return changes, used
