"""The store under all windows over one stream, and the stubs by which its users see it (Babu 2.3.1).

Rows are appended once, in the stream's total order, and numbered from 0 for as long as the store lives. Every user
holds a stub: the number below which it needs no row any more. Rows below all stubs are dropped. Arrays are never
overwritten in place: growing copies what is live into new ones, so that trains which still look at the old arrays stay
right.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, physical
from penstock.plan.schema import Schema

MINIMUM_ROWS: Final = 1024
SLACK: Final = 1 / 6
"""Free rows that a grown store has, as a share of its live rows: memory against copies (one row is copied 1 / SLACK
times at most)."""


class Stub:
    """A user's view of a store: it needs the rows numbered `low` and above."""

    __slots__ = ("low", "store")

    def __init__(self, store: Store, low: int) -> None:
        self.store = store
        self.low = low

    def release(self, low: int) -> None:
        """Says that rows below `low` are not needed any more."""
        self.low = low

    def close(self) -> None:
        """Ends the use of the store."""
        self.store.stubs.remove(self)


class Store:
    """Columns, timestamps, arrivals and weights of the live rows of one stream; row `id` lies at `id - base`."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.base = 0
        self.end = 0
        self.stubs: list[Stub] = []
        self._values: list[Array] = [np.empty(0, physical(t)) for t in schema.types]
        self._nulls: list[Array | None] = [None] * len(schema)
        self._ts: Array = np.empty(0, np.int64)
        self._arrival: Array = np.empty(0, np.int64)
        self._weight: Array | None = None

    def stub(self) -> Stub:
        """A new user, who sees what is appended from now on."""
        self.stubs.append(Stub(self, self.end))
        return self.stubs[-1]

    def append(self, train: Train, first: int) -> None:
        """Adds the rows of `train`, numbered from `first`; those that another user has already added are passed
        over."""
        known = self.end - first
        if known >= len(train):
            return
        train = train.slice(known, len(train)) if known else train
        count = len(train)
        self._make_room(count)
        start = self.end - self.base
        for i in range(len(self._values)):
            self._write(i, start, train.column(i))
        self._ts[start : start + count] = train.ts
        self._arrival[start : start + count] = train.arrival
        self._write_weight(start, train)
        self.end += count

    def vectors(self) -> list[Vector]:
        """The live columns as views; row `id` is at position `id - base`."""
        live = self.end - self.base
        return [
            Vector(v[:live], None if n is None else n[:live]) for v, n in zip(self._values, self._nulls, strict=True)
        ]

    @property
    def ts(self) -> Array:
        """The live timestamps as a view."""
        return self._ts[: self.end - self.base]

    @property
    def arrival(self) -> Array:
        """The live arrival times as a view."""
        return self._arrival[: self.end - self.base]

    @property
    def weight(self) -> Array | None:
        """The live weights as a view; None where all are 1."""
        return None if self._weight is None else self._weight[: self.end - self.base]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        optional = [a for a in (*self._nulls, self._weight) if a is not None]
        return sum(a.nbytes for a in (*self._values, *optional, self._ts, self._arrival))

    def _write(self, i: int, start: int, vector: Vector) -> None:
        stop = start + len(vector)
        self._values[i][start:stop] = vector.values
        nulls = self._nulls[i]
        if nulls is None and vector.nulls is not None:
            nulls = self._nulls[i] = np.zeros(len(self._ts), np.bool_)
        if nulls is not None:
            nulls[start:stop] = False if vector.nulls is None else vector.nulls

    def _write_weight(self, start: int, train: Train) -> None:
        weight = train.weight
        if self._weight is None and weight is not None:
            self._weight = np.ones(len(self._ts))
        if self._weight is not None:
            self._weight[start : start + len(train)] = 1.0 if weight is None else weight

    def _make_room(self, count: int) -> None:
        if self.end - self.base + count <= len(self._ts):
            return
        low = min((s.low for s in self.stubs), default=self.end)
        dead, live = low - self.base, self.end - low
        capacity = max(MINIMUM_ROWS, live + count + int(live * SLACK))
        for i, values in enumerate(self._values):
            self._values[i] = _moved(values, dead, live, capacity)
        self._nulls = [None if n is None else _moved(n, dead, live, capacity) for n in self._nulls]
        self._ts = _moved(self._ts, dead, live, capacity)
        self._arrival = _moved(self._arrival, dead, live, capacity)
        self._weight = None if self._weight is None else _moved(self._weight, dead, live, capacity)
        self.base = low


def _moved(values: Array, dead: int, live: int, capacity: int) -> Array:
    moved = np.empty(capacity, values.dtype)
    moved[:live] = values[dead : dead + live]
    return moved
