"""approx_quantile(x, q): see `penstock.operators.kernels.sketch`. Partial and whole at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import Rows, Steps, with_nulls
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels import pool, sketch
from penstock.operators.kernels.index import grown
from penstock.plan.types import Type


class Quantile:
    """A sketch a slot; heads are (start, size, capacity, number of values)."""

    def __init__(self, rank: float) -> None:
        self.rank = rank
        self.heads: Array = np.zeros((0, 4), np.int64)
        self.pool: tuple[Array, Array, Array] = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))
        self.free: Array = np.full(pool.SIZES, -1, np.int64)
        self.top: Array = np.zeros(1, np.int64)

    def resize(self, slots: int) -> None:
        """See `State`."""
        if slots > len(self.heads):
            self.heads = grown(self.heads, slots)

    def clear(self, slots: Array) -> None:
        """See `State`."""
        _clear(self.heads, slots, self.pool[0], self.free)

    def nbytes(self) -> int:
        """See `State`."""
        return int(self.heads.nbytes) + sum(a.nbytes for a in self.pool)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """Numbers only."""
        return iter(())

    def add(self, rows: Rows) -> None:
        """See `Partial`."""
        self.apply(rows)

    def absorb(self, slots: Array, columns: Sequence[Vector]) -> None:
        """See `Partial`: (representative, count) of one bucket a row, as `sketch.buckets` cuts them."""
        values, counts = columns
        self._run(slots, sketch.buckets(values.values), counts.values, np.zeros(len(slots), np.bool_))

    def read(self, slots: Array) -> Vector:
        """See `Partial`."""
        return self._run(slots, slots, np.zeros(len(slots), np.int64), np.ones(len(slots), np.bool_))

    def apply(self, rows: Rows) -> Vector:
        """See `Whole`."""
        counts = rows.signs.astype(np.int64) if len(rows.signs) else np.ones(len(rows.slots), np.int64)
        if len(rows.nulls):
            counts[rows.nulls] = 0
        marks = rows.marks if len(rows.marks) else np.zeros(len(rows.slots), np.bool_)
        return self._run(rows.slots, sketch.buckets(rows.values), counts, marks)

    def combine(self, source: Self, steps: Steps) -> Vector:
        """See `Whole`: the entering and leaving sketches, bucket by bucket."""
        rows = _spread(source.heads, source.pool[0], source.pool[1], *steps)
        source.clear(steps.sources[steps.signs < 0])
        return self._run(*rows)

    def _run(self, slots: Array, buckets: Array, counts: Array, marks: Array) -> Vector:
        out, nulls = np.zeros(int(marks.sum()), np.int64), np.zeros(int(marks.sum()), np.bool_)
        progress = np.zeros(2, np.int64)
        while not _run(
            self.heads, *self.pool, self.free, self.top, slots, buckets, counts, marks, self.rank, out, nulls, progress
        ):
            size = max(1024, 2 * len(self.pool[0]))
            keys, words, flags = (grown(a, size) for a in self.pool)
            self.pool = (keys, words, flags)
        return with_nulls(sketch.representatives(out), nulls)


@njit(cache=True)
def _run(heads: Array, keys: Array, words: Array, flags: Array, free: Array, top: Array, slots: Array, buckets: Array,
         counts: Array, marks: Array, rank: float, out: Array, nulls: Array, progress: Array) -> bool:  # fmt: skip
    """Applies rows from progress[0] on, reading into out from progress[1] on; False where the pool is full."""
    at = progress[1]
    for i in range(progress[0], len(slots)):
        head = heads[slots[i]]
        if counts[i]:
            if not sketch.tally(head, keys, words, flags, free, top, buckets[i], counts[i]):
                progress[0], progress[1] = i, at
                return False
            head[3] += counts[i]
        if marks[i]:
            nulls[at] = head[3] == 0
            if head[3]:
                out[at] = sketch.quantile(head, keys, words, rank, head[3])
            at += 1
    return True


@njit(cache=True)
def _spread(
    heads: Array, keys: Array, words: Array, slots: Array, sources: Array, signs: Array
) -> tuple[Array, Array, Array, Array]:
    """Steps as rows: one for each bucket of an entering or leaving sketch, one for each reading."""
    n = 0
    for i in range(len(slots)):
        n += heads[sources[i], 1] if signs[i] else 1
    into, buckets = np.empty(n, np.int64), np.zeros(n, np.int64)
    counts, marks = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    n = 0
    for i in range(len(slots)):
        if signs[i] == 0:
            into[n], marks[n] = slots[i], True
            n += 1
            continue
        head = heads[sources[i]]
        for j in range(head[0], head[0] + head[1]):
            into[n], buckets[n], counts[n] = slots[i], keys[j], signs[i] * words[j]
            n += 1
    return into, buckets, counts, marks


@njit(cache=True)
def _clear(heads: Array, slots: Array, keys: Array, free: Array) -> None:
    for slot in slots:
        pool.give_back(heads[slot, 0], heads[slot, 2], keys, free)
        heads[slot] = 0
