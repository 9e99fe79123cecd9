"""Rows of a join side that nobody else keeps: derived relations, tables, windows that pass rows over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, physical
from penstock.operators.join_rows import MINIMUM_POSITIONS, Move, roomy
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.operators.kernels.join import VACANT
from penstock.operators.kernels.join_queues import queue_in, queue_out
from penstock.plan.schema import Schema
from penstock.plan.types import Type

SPARSE: Final = 8
"""Positions a row, from which on they are too many."""


class OwnRows:
    """Rows of any other relation, in places that are used again; a `-` takes the oldest row that is equal to it."""

    borrowed = False
    shift = 0

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._columns = [Vector(np.empty(0, physical(t)), np.empty(0, np.bool_)) for t in schema.types]
        self._has_nulls = [False] * len(schema.fields)
        self._arrival: Array = np.empty(0, np.int64)
        self._weight: Array | None = None
        self._free: Array = np.empty(0, np.int32)
        self._values = KeyIndex(len(schema.fields))
        self._first: Array = np.empty(0, np.int32)
        self._last: Array = np.empty(0, np.int32)
        self._following: Array = np.empty(0, np.int32)

    def open(self) -> None:
        pass

    def room(self, train: Train) -> Move | None:
        need = int(np.count_nonzero(train.sign > 0))
        capacity = len(self._arrival)
        if need <= len(self._free):
            return None
        live = capacity - len(self._free)
        grown_to = roomy(live + need)
        self._columns = [Vector(grown(v, grown_to), grown(n, grown_to)) for v, n in self._pairs()]
        self._arrival, self._following = grown(self._arrival, grown_to), grown(self._following, grown_to)
        self._weight = None if self._weight is None else grown(self._weight, grown_to)
        self._free = np.concatenate([np.arange(grown_to - 1, capacity - 1, -1, dtype=np.int32), self._free])
        return Move(0, capacity, grown_to)

    def admit(self, train: Train) -> Array:
        sign = train.sign
        plus = np.flatnonzero(sign > 0)
        positions = np.full(len(train), VACANT, np.int32)
        cut = len(self._free) - len(plus)
        self._free, places = self._free[:cut], self._free[cut:][::-1]
        positions[plus] = places
        self._write(train.take(plus), places)
        keys = self._values.lookup_or_insert(*stacked(train.columns, len(train)))
        self._enqueue(keys, sign, positions)
        return positions

    def release(self, positions: Array, sign: Array, touch: Array, until: int) -> None:
        if len(positions):
            self._free = np.concatenate([self._free, positions[sign < 0]])

    @property
    def sparse(self) -> bool:
        capacity = len(self._arrival)
        return capacity > SPARSE * max(MINIMUM_POSITIONS, capacity - len(self._free))

    def column(self, index: int) -> Vector:
        vector = self._columns[index]
        return vector if self._has_nulls[index] else Vector(vector.values)

    @property
    def arrival(self) -> Array:
        return self._arrival

    @property
    def weight(self) -> Array | None:
        return self._weight

    def nbytes(self) -> int:
        optional = () if self._weight is None else (self._weight,)
        held = (self._arrival, self._following, self._free, self._first, self._last, *optional)
        columns = [a for pair in self._pairs() for a in pair]
        return int(sum(a.nbytes for a in (*held, *columns)) + self._values.nbytes)

    def vectors(self, touch: Array) -> Iterator[tuple[Type, Vector]]:
        live = np.flatnonzero(touch >= 0)
        for t, v in zip(self._schema.types, self._columns, strict=True):
            yield t, v.take(live)
        yield from self._values.vectors(self._schema.types)

    def _pairs(self) -> list[tuple[Array, Array]]:
        return [(v.values, v.nulls) for v in self._columns if v.nulls is not None]

    def _write(self, rows: Train, places: Array) -> None:
        for i, (values, nulls) in enumerate(self._pairs()):
            vector = rows.column(i)
            values[places] = vector.values
            self._has_nulls[i] |= vector.nulls is not None
            nulls[places] = False if vector.nulls is None else vector.nulls
        self._arrival[places] = rows.arrival
        if self._weight is None and rows.weight is not None:
            self._weight = np.ones(len(self._arrival))
        if self._weight is not None:
            self._weight[places] = 1.0 if rows.weight is None else rows.weight

    def _enqueue(self, keys: Array, sign: Array, positions: Array) -> None:
        """Puts each + at the end of the queue of its value, then lets each - take the first of its queue."""
        if self._values.capacity > len(self._first):
            known = len(self._first)
            self._first = grown(self._first, self._values.capacity)
            self._last = grown(self._last, self._values.capacity)
            self._first[known:] = VACANT
        queue_in(keys, sign, positions, self._first, self._last, self._following)
        emptied = np.empty(len(keys), np.int64)
        count = queue_out(keys, sign, positions, self._first, self._following, emptied)
        self._values.free(emptied[:count])
