"""Accumulators of the one element that comes first by some key: what min and max, first and last share.

`Best` is the partial: rows only come, so it keeps the best element of each slot. `Queue` is the whole: elements
leave, so it keeps them all, in the heaps of `penstock.operators.kernels.heaps`. A subclass of `Keys` says what an
element is. Partial from outside: (the value), NULL where there was none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import Rows, Steps, with_nulls
from penstock.operators.columns.vector import Array, Vector, physical
from penstock.operators.kernels import heaps, pool
from penstock.operators.kernels.index import grown
from penstock.plan.types import Type


class Elements(NamedTuple):
    """Rows as elements: the least key is best, `words` and `flags` (NULL) are its value, `absent` marks rows that are
    none.
    """

    keys: Array
    words: Array
    flags: Array
    absent: Array


@dataclass(slots=True)
class Keys:
    """How rows become elements, and words values; with `flip` keys are complements, so that the greatest is best."""

    type: Type
    flip: bool

    def elements(self, rows: Rows) -> Elements:
        """The rows' elements."""
        raise TypeError(f"{type(self).__name__} has no elements")

    def values(self, words: Array) -> Array:
        """Words as values of the type."""
        dtype = physical(self.type)
        return words.view(np.float64) if dtype == np.float64 else words.astype(dtype)

    def relabelled(self, version: int) -> tuple[int, Array | None]:
        """The version of the keys now and, where it is not `version`, the new keys by word."""
        return version, None


class Best:
    """Partial: the best element of each slot."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.version = 0
        self.best: Array = np.zeros(0, np.int64)
        self.words: Array = np.zeros(0, np.int64)
        self.flags: Array = np.zeros(0, np.bool_)
        self.full: Array = np.zeros(0, np.bool_)

    def resize(self, slots: int) -> None:
        """See `State`."""
        if slots > len(self.best):
            self.best, self.words = grown(self.best, slots), grown(self.words, slots)
            self.flags, self.full = grown(self.flags, slots), grown(self.full, slots)

    def clear(self, slots: Array) -> None:
        """See `State`."""
        self.full[slots] = False

    def nbytes(self) -> int:
        """See `State`."""
        return sum(a.nbytes for a in (self.best, self.words, self.flags, self.full))

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """See `State`."""
        held = self.full & ~self.flags
        yield self.keys.type, Vector(self.keys.values(self.words[held]))

    def add(self, rows: Rows) -> None:
        """See `Partial`."""
        elements = self.keys.elements(rows)
        self.refresh()
        _improve(self.best, self.words, self.flags, self.full, rows.slots, *elements)

    def absorb(self, slots: Array, columns: Sequence[Vector]) -> None:
        """See `Partial`."""
        self.add(Rows(slots, columns[0]))

    def read(self, slots: Array) -> Vector:
        """See `Partial`."""
        return with_nulls(self.keys.values(self.words[slots]), self.flags[slots] | ~self.full[slots])

    def refresh(self) -> None:
        """Takes new labels over."""
        self.version, key_of = self.keys.relabelled(self.version)
        if key_of is not None:
            held = np.flatnonzero(self.full)
            fresh = key_of[self.words[held]]
            self.best[held] = ~fresh if self.keys.flip else fresh


class Queue:
    """Whole: all elements of each slot."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.version = 0
        self.heads: Array = np.zeros((0, heaps.HEAD), np.int64)
        self.pool: tuple[Array, Array, Array] = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))
        self.free: Array = np.full(pool.SIZES, -1, np.int64)
        self.top: Array = np.zeros(1, np.int64)

    def resize(self, slots: int) -> None:
        """See `State`."""
        if slots > len(self.heads):
            self.heads = grown(self.heads, slots)

    def clear(self, slots: Array) -> None:
        """See `State`."""
        heaps.release(self.heads, slots, self.pool[0], self.free)

    def nbytes(self) -> int:
        """See `State`."""
        return int(self.heads.nbytes) + sum(a.nbytes for a in self.pool)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """See `State`: what left but still lies in a heap is held too."""
        _, words, flags = self.pool
        places = heaps.held(self.heads)
        yield self.keys.type, Vector(self.keys.values(words[places[~flags[places]]]))

    def apply(self, rows: Rows) -> Vector:
        """See `Whole`."""
        elements = self.keys.elements(rows)
        return self._run(rows.slots, elements, rows.signs, rows.marks, rows.readings)

    def combine(self, source: Best, steps: Steps) -> Vector:
        """See `Whole`."""
        source.refresh()
        at = steps.sources
        elements = Elements(source.best[at], source.words[at], source.flags[at], ~source.full[at])
        source.clear(at[steps.signs < 0])
        return self._run(steps.slots.astype(np.int64), elements, steps.signs, steps.signs == 0, steps.readings)

    def _run(self, slots: Array, elements: Elements, signs: Array, marks: Array, readings: int) -> Vector:
        self._refresh()
        words, nulls = np.zeros(readings, np.int64), np.zeros(readings, np.bool_)
        progress = np.zeros(2, np.int64)
        while not _run(
            self.heads, *self.pool, self.free, self.top, slots, *elements, signs, marks, words, nulls, progress
        ):
            size = max(1024, 2 * len(self.pool[0]))
            keys, stored, flags = (grown(a, size) for a in self.pool)
            self.pool = (keys, stored, flags)
        return with_nulls(self.keys.values(words), nulls)

    def _refresh(self) -> None:
        self.version, key_of = self.keys.relabelled(self.version)
        if key_of is not None:
            heaps.rekey(self.heads, self.pool[0], self.pool[1], key_of, self.keys.flip)


@njit(cache=True)
def _improve(best: Array, words: Array, flags: Array, full: Array, slots: Array, new_keys: Array, new_words: Array,
             new_flags: Array, absent: Array) -> None:  # fmt: skip
    for i in range(len(slots)):
        if len(absent) and absent[i]:
            continue
        slot = slots[i]
        if not full[slot] or new_keys[i] < best[slot]:
            best[slot], words[slot], full[slot] = new_keys[i], new_words[i], True
            flags[slot] = len(new_flags) > 0 and new_flags[i]


@njit(cache=True)
def _run(heads: Array, keys: Array, words: Array, flags: Array, free: Array, top: Array, slots: Array, new_keys: Array,
         new_words: Array, new_flags: Array, absent: Array, signs: Array, marks: Array, out: Array, nulls: Array,
         progress: Array) -> bool:  # fmt: skip
    """Applies rows from progress[0] on, reading into out from progress[1] on; False where the pool is full."""
    at = progress[1]
    for i in range(progress[0], len(slots)):
        head = heads[slots[i]]
        sign = signs[i] if len(signs) else 1
        done = True
        if sign and not (len(absent) and absent[i]):
            flag = len(new_flags) > 0 and new_flags[i]
            if sign > 0:
                done = heaps.insert(head, keys, words, flags, free, top, new_keys[i], new_words[i], flag)
            else:
                done = heaps.delete(head, keys, words, flags, free, top, new_keys[i], new_words[i], flag)
        if not done:
            progress[0], progress[1] = i, at
            return False
        if len(marks) and marks[i]:
            nulls[at] = not heaps.settle(head, keys, words, flags)
            if not nulls[at]:
                out[at], nulls[at] = words[head[heaps.LIVE]], flags[head[heaps.LIVE]]
            at += 1
    return True
