"""The best element of a window whose partials leave in the order in which they entered: min, max, first, last.

A partial that is beaten by a later one never shows again, so each slot keeps only those that are better than all
after them, in order: the first is the window's best. A partial is pushed once and dropped once, so a step costs a
constant on average. The partials' elements stay in the source; a slot is a ring of their numbers in a pool
(`penstock.operators.kernels.pool`).

Reference: the monotonic wedge; Tangwongsan, Hirzel, Schneider, "Sliding-window aggregation algorithms", 2018.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import Rows, Steps, with_nulls
from penstock.operators.aggregates.best import Best, Keys
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels import pool
from penstock.operators.kernels.index import grown
from penstock.plan.types import Type

START, SIZE, CAPACITY, OFFSET = range(4)


class SlidingBest:
    """Whole, of partials only. `heads` has each slot's ring: where it starts, its size, its capacity, its first
    element.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.heads: Array = np.zeros((0, 4), np.int64)
        self.rings: Array = np.zeros(0, np.int64)
        self.free: Array = np.full(pool.SIZES, -1, np.int64)
        self.top: Array = np.zeros(1, np.int64)

    def resize(self, slots: int) -> None:
        """See `State`."""
        if slots > len(self.heads):
            self.heads = grown(self.heads, slots)

    def clear(self, slots: Array) -> None:
        """See `State`."""
        _clear(self.heads, slots, self.rings, self.free)

    def nbytes(self) -> int:
        """See `State`."""
        return int(self.heads.nbytes + self.rings.nbytes)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The values are the source's."""
        return iter(())

    def apply(self, rows: Rows) -> Vector:
        """Rows have no place here."""
        raise TypeError("a sliding best takes partial results only")

    def combine(self, source: Best, steps: Steps) -> Vector:
        """See `Whole`."""
        source.refresh()
        found = np.empty(steps.readings, np.int64)
        progress = np.zeros(2, np.int64)
        elements = (source.best, source.full)
        while not _run(self.heads, self.rings, self.free, self.top, *steps, *elements, found, progress):
            self.rings = grown(self.rings, max(1024, 2 * len(self.rings)))
        value = with_nulls(self.keys.values(source.words[found]), (found < 0) | source.flags[found])
        source.clear(steps.sources[steps.signs < 0])
        return value


@njit(cache=True)
def _run(heads: Array, rings: Array, free: Array, top: Array, slots: Array, sources: Array, signs: Array, best: Array,
         full: Array, found: Array, progress: Array) -> bool:  # fmt: skip
    """Takes steps from progress[0] on, reading into found from progress[1] on; False where the pool is full."""
    at = progress[1]
    for i in range(progress[0], len(slots)):
        head, partial = heads[slots[i]], sources[i]
        if signs[i] == 0:
            found[at] = rings[head[START] + head[OFFSET]] if head[SIZE] else -1
            at += 1
        elif signs[i] < 0:
            if head[SIZE] and rings[head[START] + head[OFFSET]] == partial:
                head[OFFSET] = (head[OFFSET] + 1) & (head[CAPACITY] - 1)
                head[SIZE] -= 1
        elif full[partial]:
            while head[SIZE] and best[_last(head, rings)] >= best[partial]:
                head[SIZE] -= 1
            if head[SIZE] == head[CAPACITY] and not _widened(head, rings, free, top):
                progress[0], progress[1] = i, at
                return False
            head[SIZE] += 1
            rings[head[START] + ((head[OFFSET] + head[SIZE] - 1) & (head[CAPACITY] - 1))] = partial
    return True


@njit(cache=True)
def _last(head: Array, rings: Array) -> int:
    """The number of the last partial of a ring."""
    last: int = rings[head[START] + ((head[OFFSET] + head[SIZE] - 1) & (head[CAPACITY] - 1))]
    return last


@njit(cache=True)
def _widened(head: Array, rings: Array, free: Array, top: Array) -> bool:
    """Moves a full ring to a segment twice as large; False where the pool is full."""
    capacity = max(pool.SMALLEST, 2 * head[CAPACITY])
    start = pool.segment(capacity, rings, free, top)
    if start < 0:
        return False
    for i in range(head[SIZE]):
        rings[start + i] = rings[head[START] + ((head[OFFSET] + i) & (head[CAPACITY] - 1))]
    pool.give_back(head[START], head[CAPACITY], rings, free)
    head[START], head[CAPACITY], head[OFFSET] = start, capacity, 0
    return True


@njit(cache=True)
def _clear(heads: Array, slots: Array, rings: Array, free: Array) -> None:
    for slot in slots:
        pool.give_back(heads[slot, START], heads[slot, CAPACITY], rings, free)
        heads[slot] = 0
