"""The indexes of a join side, over the positions of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.operators.columns.vector import Array, Vector
from penstock.operators.join_rows import Move
from penstock.operators.kernels import join_chains
from penstock.operators.kernels.join import VACANT

MINIMUM_BUCKET_BITS: Final = 8
CHUNK: Final = 1 << 16
"""Pairs that a step makes before the next one takes them: what lies between steps stays in the cache."""
Pairs = tuple[Array, Array]
"""Candidate numbers, and the place of the row that each is joined with."""


class HashIndex:
    """Rows by a 64-bit word: a key that is one word, or several mixed (see `kernels.join_chains`)."""

    def __init__(self) -> None:
        self._bits = MINIMUM_BUCKET_BITS
        self._heads: Array = np.full(1 << self._bits, join_chains.NONE, np.int32)
        self._chain: Array = np.empty(0, np.int32)
        self._after: Array = np.empty(0, np.int32)
        self._before: Array = np.empty(0, np.int32)
        self.keys = 0

    def move(self, move: Move) -> None:
        """Follows the side's positions."""
        self._chain = join_chains.moved(self._chain, move.dead, move.live, move.capacity)
        self._after = join_chains.moved(self._after, move.dead, move.live, move.capacity)
        self._before = join_chains.moved(self._before, move.dead, move.live, move.capacity)
        if move.dead:
            join_chains.reduce_heads(self._heads, move.dead)

    def insert(self, positions: Array, sign: Array, words: Array, shift: int) -> None:
        """Adds the rows of the + elements; the word of position p is `words[p + shift]`."""
        self._resize(self.keys + len(positions), words, shift)
        self.keys += join_chains.insert(positions, sign, *self._table(), words, shift)

    def remove(self, positions: Array, sign: Array, words: Array, shift: int) -> None:
        """Takes the rows of the - elements out."""
        self.keys -= join_chains.remove(positions, sign, *self._table(), words, shift)

    def probe(self, wanted: Array, events: Array, words: Array, shift: int, lives: tuple[Array, Array, Array],
              row_shift: int) -> Iterator[Pairs]:  # fmt: skip
        """Pairs of candidates (by their word) and rows that live at the candidate's event, in chunks."""
        arguments = (self._heads, self._bits, self._chain, self._after, words, shift, row_shift, *lives)
        start, room = 0, min(CHUNK, 2 * len(wanted) + 16)
        while start < len(wanted):
            pairs = np.empty(room, np.int32), np.empty(room, np.int32)
            following, count = join_chains.probe(wanted, events, start, *arguments, *pairs)
            room *= 1 + (following == start)
            start = following
            if count:
                yield pairs[0][:count], pairs[1][:count]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._heads.nbytes + self._chain.nbytes + self._after.nbytes + self._before.nbytes

    def _table(self) -> tuple[Array, int, Array, Array, Array]:
        return self._heads, self._bits, self._chain, self._after, self._before

    def _resize(self, keys: int, words: Array, shift: int) -> None:
        """One to eight buckets a key."""
        if len(self._heads) >= keys >= len(self._heads) // 16 or (keys <= 1 << self._bits == 1 << MINIMUM_BUCKET_BITS):
            return
        self._bits = max(MINIMUM_BUCKET_BITS, (keys - 1).bit_length())
        heads = np.empty(1 << self._bits, np.int32)
        join_chains.rehash(self._heads, heads, self._bits, self._chain, words, shift)
        self._heads = heads


class SortedIndex:
    """Rows in the order of a value, for comparisons: sorted arrays that each interval merges into and takes out of."""

    def __init__(self) -> None:
        self.values: Array = np.empty(0)
        self.positions: Array = np.empty(0, np.int64)

    def move(self, move: Move) -> None:
        """Follows the side's positions."""
        self.positions = self.positions - move.dead

    def insert(self, positions: Array, vector: Vector) -> None:
        """Adds the rows; those whose value is NULL compare with nothing."""
        values = vector.values
        if vector.nulls is not None:
            positions, values = positions[~vector.nulls], values[~vector.nulls]
        if not len(self.values):
            self.values = values[:0]
        order = np.argsort(values, kind="stable")
        places = np.searchsorted(self.values, values[order], side="right")
        self.values = np.insert(self.values, places, values[order])
        self.positions = np.insert(self.positions, places, positions[order])

    def remove(self, sign: Array, touch: Array) -> None:
        """Takes out the rows whose positions are vacant; where no sign is -, there are none."""
        if (sign < 0).any():
            kept = touch[self.positions] != VACANT
            self.values, self.positions = self.values[kept], self.positions[kept]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.values.nbytes + self.positions.nbytes
