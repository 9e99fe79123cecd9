"""Rows that leave in another order than they came: a compact store of one window's own.

A window per key, or over an attribute, keeps some rows for ever and drops later ones at once. In the stream's shared
store one cold row would pin all that came after it, so such windows keep their rows here: appended behind the last,
marked dead in `alive`, and moved together when the room runs out. Arrays are never overwritten in place, as in
`Store`, so trains that still look at them stay right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, physical
from penstock.operators.kernels.index import grown
from penstock.plan.schema import Schema
from penstock.plan.types import Type

MINIMUM_ROWS: Final = 256
SLACK: Final = 1 / 4
"""Free rows after moving together, as a share of the live: memory against copies (a row is copied 1 / SLACK times)."""


class RowPool:
    """Columns, arrivals and weights of rows by position; `number` is each row's place in the stream."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.end = 0
        self.number: Array = np.empty(0, np.int64)
        self.alive: Array = np.empty(0, np.bool_)
        self._arrival: Array = np.empty(0, np.int64)
        self._weight: Array | None = None
        self._values: list[Array] = [np.empty(0, physical(t)) for t in schema.types]
        self._nulls: list[Array | None] = [None] * len(schema)

    @property
    def capacity(self) -> int:
        """How many rows there is room for: how long the user's arrays by position must be."""
        return len(self.number)

    def make_room(self, count: int) -> Array | None:
        """Sees to room for `count` more rows. Where rows had to move for it: the positions of those that live on, in
        order, which is the order that they lie in now."""
        if self.end + count <= self.capacity:
            return None
        kept = np.flatnonzero(self.alive[: self.end])
        capacity = max(MINIMUM_ROWS, len(kept) + count + int(len(kept) * SLACK))
        self._values = [grown(v[kept], capacity) for v in self._values]
        self._nulls = [None if n is None else grown(n[kept], capacity) for n in self._nulls]
        self.number = grown(self.number[kept], capacity)
        self.alive = grown(self.alive[kept], capacity)
        self._arrival = grown(self._arrival[kept], capacity)
        self._weight = None if self._weight is None else grown(self._weight[kept], capacity)
        self.end = len(kept)
        return kept

    def append(self, train: Train, number: Array) -> int:
        """Adds the rows of `train`, for which there is room; the position of the first."""
        first, stop = self.end, self.end + len(train)
        for i in range(len(self._values)):
            self._write(i, first, train.column(i))
        self.number[first:stop] = number
        self.alive[first:stop] = True
        self._arrival[first:stop] = train.arrival
        self._write_weight(first, train)
        self.end = stop
        return first

    def selected(self, ts: Array, sign: Array | None, rows: Array) -> Train:
        """Elements over these rows, given by position."""
        weight = None if self._weight is None else self._weight[rows]
        return Train(self.columns(), ts, sign, None, self._arrival[rows], weight, self.number[rows], rows=rows)

    def columns(self) -> list[Vector]:
        """The columns as views, dead rows among them."""
        pairs = zip(self._values, self._nulls, strict=True)
        return [Vector(v[: self.end], None if n is None else n[: self.end]) for v, n in pairs]

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The columns with their types."""
        return zip(self.schema.types, self.columns(), strict=True)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        optional = [a for a in (*self._nulls, self._weight) if a is not None]
        return sum(a.nbytes for a in (*self._values, *optional, self.number, self.alive, self._arrival))

    def _write(self, i: int, first: int, vector: Vector) -> None:
        stop = first + len(vector)
        self._values[i][first:stop] = vector.values
        nulls = self._nulls[i]
        if nulls is None and vector.nulls is not None:
            nulls = self._nulls[i] = np.zeros(self.capacity, np.bool_)
        if nulls is not None:
            nulls[first:stop] = False if vector.nulls is None else vector.nulls

    def _write_weight(self, first: int, train: Train) -> None:
        weight = train.weight
        if self._weight is None and weight is not None:
            self._weight = np.ones(self.capacity)
        if self._weight is not None:
            self._weight[first : first + len(train)] = 1.0 if weight is None else weight


def moved(positions: Array, kept: Array) -> Array:
    """Where the rows at `positions` lie after those at `kept` have moved together; -1 for what is gone, or was -1."""
    if not len(kept):
        return np.full_like(positions, -1)
    # One place more than there are rows: that is what a position of -1 meets.
    places = np.full(max(kept[-1], positions.max(initial=0)) + 2, -1, np.int64)
    places[kept] = np.arange(len(kept))
    found: Array = places[positions]
    return found
