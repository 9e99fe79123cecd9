"""Window drops row by row: which batches of windows go, and which tuples with them.

Each group has a row of state. Windows are decided one after another, each when the group's first tuple at or after its
start is seen, from what was seen before it. A batch may go when its coin says so and every query below has had a
result since the batch before, or lost none in it (Tatbul 4.7 with the rule that no new batch is dropped until a result
was delivered). Coins that come up while it may not are kept for later.

    NEXT      the window that is decided next, and BEGIN, its start
    FROM      the first start of the last dropped batch
    TAU       tuples before it were kept for the windows before that batch
    UNTIL     the start of the window after that batch: what is dropped is [TAU, UNTIL)
    OPEN      queries (bits) that had no result since
    LOST      queries that may have lost a result in it
    PENDING   batches that are still to go
    COIN      the batch whose coin is tossed next
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array

NEXT, FROM, TAU, UNTIL, OPEN, LOST, PENDING, COIN, BEGIN = range(9)
WIDTH: Final = 9
DONE, FULL, BLIND = range(3)
TOSSED, HIT, WINDOWS, DROPPED = range(4)
"""Counters: coins tossed, those that came up, windows decided, windows dropped."""
NEVER: Final = -(1 << 61)
MOST_PENDING: Final = 64
"""Batches that wait to be dropped are no more: a group that was blocked for long does not lose everything after."""
FAR: Final = 256
"""Windows without a tuple of the group past which it is as good as new."""
BLOCK: Final = 64
WHOLE: Final = 1 << 32
GROUP, BREAK_TAU, BREAK_UNTIL = range(3)


@njit(cache=True)
def comes_up(seed: int, group: int, batch: int, rate: float) -> bool:
    """The coin of a batch: it comes up with probability `rate`, as evenly as can be. Of each `BLOCK` batches a random
    one is the first to count from, by a hash (splitmix64) of the seed, the group and the block's number, and from it on
    every 1 / `rate`-th goes."""
    x = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(group)
    block = np.uint64(batch // BLOCK)
    x = (x ^ block) + np.uint64(0x9E3779B97F4A7C15) * (block + np.uint64(1))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    part = np.uint64(int(rate * WHOLE))
    return bool(((np.uint64(batch) * part + (x >> np.uint64(32))) & np.uint64(WHOLE - 1)) < part)


@njit(cache=True)
def run(state: Array, rates: Array, batches: Array, names: Array, groups: Array, ts: Array, passed: Array,
        grid: Array, ways: Array, levels: Array, later: int, every: int, start: int, since: int, gone: Array,
        log: Array, counters: Array, sees: bool) -> tuple[int, int, int]:  # fmt: skip
    """Takes rows from `start` on; returns the row to go on from, the log's length, and DONE, FULL (the log is) or
    BLIND: it must know what passed, which is not worked out before (`sees`).

    grid     origin, slide, size and seed
    passed   ways x rows: whether the row reaches the first aggregate on each way; empty: every row does on all
    ways     for each way its query's number, its first and last row in `levels`, and how far results lie behind tuples
    levels   origin, slide and size of the aggregates on the ways
    later    bits of queries of which only a delivered result tells that one was delivered; `every` has those of all
    since    windows before it are not decided
    gone     which rows are dropped
    log      (group, TAU, UNTIL) of each batch that is dropped
    """
    origin, slide, size, seed = grid[0], grid[1], grid[2], grid[3]
    used = 0
    for i in range(start, len(ts)):
        g, t = groups[i], ts[i]
        s = state[g]
        if t >= s[BEGIN]:
            k = (t - origin) // slide
            first = max(s[NEXT], since)
            if first < k - FAR:
                first = k - FAR
            if used + (k - first) + 2 > len(log):
                return i, used, FULL
            s[COIN] = max(s[COIN], first // batches[g])
            used = _decide(s, first, k, t, g, names[g], rates[g], batches[g], origin, slide, size, seed, every, log,
                           used, counters)  # fmt: skip
        if t < s[UNTIL]:
            gone[i] = t >= s[TAU]
        if s[OPEN] != 0:
            if not sees:
                return i, used, BLIND
            _learn(s, t, i, passed, ways, levels, later, slide, size)
    return len(ts), used, DONE


@njit(cache=True)
def _decide(s: Array, first: int, last: int, t: int, g: int, name: int, rate: float, batch: int, origin: int,
            slide: int, size: int, seed: int, every: int, log: Array, used: int, counters: Array) -> int:  # fmt: skip
    """Decides the windows `first` to `last`, before the group's tuple at t. None came since the one before was decided,
    so a batch that ends before t loses nothing."""
    j = first
    while j <= last:
        b = j // batch
        while s[COIN] <= b:
            counters[TOSSED] += 1
            if comes_up(seed, name, s[COIN], rate):
                counters[HIT] += 1
                s[PENDING] = min(s[PENDING] + 1, MOST_PENDING)
            s[COIN] += 1
        begin = origin + j * slide
        waits = s[LOST] if begin >= s[UNTIL] - slide + size else s[OPEN]
        if s[PENDING] > 0 and waits & s[OPEN] == 0:
            s[PENDING] -= 1
            counters[DROPPED] += batch
            counters[WINDOWS] += batch
            j += batch
            if begin + (batch - 1) * slide + size <= t:
                continue
            s[FROM], s[TAU], s[UNTIL] = begin, begin - slide + size, begin + batch * slide
            s[OPEN], s[LOST] = every, 0
            log[used, GROUP], log[used, BREAK_TAU], log[used, BREAK_UNTIL] = g, s[TAU], s[UNTIL]
            used += 1
        else:
            following = min((b + 1) * batch, last + 1)
            if begin < s[UNTIL] - slide + size:
                following = min(following, j + 1 + (s[UNTIL] - slide + size - begin - 1) // slide)
            counters[WINDOWS] += following - j
            j = following
    s[NEXT], s[BEGIN] = j, origin + j * slide
    return used


@njit(cache=True)
def _learn(s: Array, t: int, i: int, passed: Array, ways: Array, levels: Array, later: int, slide: int,
           size: int) -> None:  # fmt: skip
    """What a tuple tells about the queries' results: one that lies in a kept window will be delivered, one that lies
    in a dropped window is lost."""
    for w in range(len(ways)):
        if len(passed) and not passed[w, i]:
            continue
        bit = 1 << ways[w, 0]
        label = _label(t, levels, ways[w, 1], ways[w, 2], ways[w, 3])
        if label >= s[UNTIL] and bit & later == 0:
            s[OPEN] &= ~bit
            s[LOST] &= ~bit
        elif s[FROM] <= t < s[UNTIL] - slide + size:
            s[LOST] |= bit


@njit(cache=True)
def _label(t: int, levels: Array, first: int, last: int, behind: int) -> int:
    """The start, as the place of the drop has it, of a result that a tuple at t is sure to be part of; NEVER where
    there may be none."""
    begin = NEVER
    for level in range(first, last):
        origin, slide, size = levels[level, 0], levels[level, 1], levels[level, 2]
        begin = origin + (t - origin) // slide * slide
        if t >= begin + size:
            return NEVER
        t = begin + size
    return begin - behind


@njit(cache=True)
def skipped(rows: Array, starts: Array, ends: Array, names: Array, taus: Array, untils: Array) -> Array:
    """Which windows reach over what was dropped: those that start before U and end after tau. `names` is sorted."""
    found = np.zeros(len(rows), np.bool_)
    for i in range(len(rows)):
        j = np.searchsorted(names, rows[i])
        while j < len(names) and names[j] == rows[i]:
            if starts[i] < untils[j] and ends[i] > taus[j]:
                found[i] = True
                break
            j += 1
    return found
