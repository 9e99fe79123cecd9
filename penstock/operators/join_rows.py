"""Where the rows of a join side live: in the store of a window that others share, or in columns of the side's own.

A row has a position, by which the side's flat arrays know it, and a place, at which its values lie; a place is a
position plus `shift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.store import Store
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, physical
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.operators.kernels.join import VACANT, first_alive
from penstock.operators.kernels.join_queues import queue_in, queue_out
from penstock.plan.expressions import Column
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Filter, Map, Window
from penstock.plan.schema import Schema
from penstock.plan.types import Type
from penstock.plan.windows import Range, Rows, SlideRange

MINIMUM_POSITIONS: Final = 1024
SMALL: Final = 1 << 16
"""Up to here arrays have room for as much again as they hold, so that they seldom move; larger ones for a sixth."""


class Move:
    """The arrays by position must begin `dead` positions later and have `capacity`; `live` entries go along."""

    __slots__ = ("capacity", "dead", "live")

    def __init__(self, dead: int, live: int, capacity: int) -> None:
        self.dead = dead
        self.live = live
        self.capacity = capacity


class SideRows(Protocol):
    """The rows of one side."""

    @property
    def shift(self) -> int:
        """A row's place less its position."""

    @property
    def borrowed(self) -> bool:
        """True where the arrays behind `column` are never written again."""

    def open(self) -> None:
        """Begins an interval."""

    def room(self, train: Train, touch: Array) -> Move | None:
        """How the arrays by position must change before `admit`."""

    def admit(self, train: Train) -> Array:
        """The position of each element's row; where a - has none, VACANT."""

    def release(self, positions: Array, sign: Array, touch: Array, until: int) -> None:
        """Ends the interval before `until`, whose elements had these positions and signs."""

    def column(self, index: int) -> Vector:
        """A column, by place."""

    @property
    def arrival(self) -> Array:
        """Arrival times, by place."""

    @property
    def weight(self) -> Array | None:
        """Weights, by place; None where all are 1."""

    def nbytes(self) -> int:
        """Bytes of its own."""

    def vectors(self, touch: Array) -> Iterator[tuple[Type, Vector]]:
        """The values it holds itself."""


def stored_columns(node: Node) -> tuple[Window, tuple[int, ...]] | None:
    """The window in whose store the rows of `node` live, and which columns they show; None for other relations.

    Windows that pass rows over, or show one row with changing bounds, are not read from the store.
    """
    if isinstance(node, Window) and _shared(node):
        return node, tuple(range(len(node.input.schema.fields)))
    if isinstance(node, Filter | Delay):
        return stored_columns(node.input)
    if isinstance(node, Map) and all(isinstance(e, Column) for _, e in node.outputs):
        below = stored_columns(node.input)
        if below is not None:
            names = [e.name for _, e in node.outputs if isinstance(e, Column)]
            return below[0], tuple(below[1][node.input.schema.index(n)] for n in names)
    return None


def _shared(window: Window) -> bool:
    spec = window.spec
    if isinstance(spec, Rows):
        return not spec.by
    if isinstance(spec, Range):
        return spec.on is None
    return isinstance(spec, SlideRange) and spec.on is None and spec.slide <= spec.size and not window.bounds


def side_rows(node: Node, context: Context) -> SideRows:
    """The rows of the relation `node`."""
    stored = stored_columns(node)
    if stored is None:
        return OwnRows(node.schema)
    window, columns = stored
    wait = int(window.spec.size + window.spec.slide) if isinstance(window.spec, SlideRange) else 0
    return WindowRows(context.store(window.input), columns, wait)


class WindowRows:
    """Rows of a window: nothing but a stub on the store. A position is a row number less `origin`.

    A row enters the window `wait` microseconds after its timestamp at the latest.
    """

    borrowed = True

    def __init__(self, store: Store, columns: tuple[int, ...], wait: int) -> None:
        self._store = store
        self._columns = columns
        self._stub = store.stub()
        self._origin = self._low = self._high = store.end
        self._capacity = 0
        self._wait = wait
        self._held: list[Vector] = []

    @property
    def shift(self) -> int:
        return self._origin - self._store.base

    def open(self) -> None:
        self._held = self._store.vectors()

    def room(self, train: Train, touch: Array) -> Move | None:
        ids = train.ids
        assert ids is not None, "a window's elements carry their row numbers"
        self._high = max(self._high, int(ids[-1]) + 1, int(ids.max()) + 1)
        span = self._high - self._low
        if self._high - self._origin <= self._capacity and self._capacity <= 8 * max(span, MINIMUM_POSITIONS):
            return None
        dead, self._origin = self._low - self._origin, self._low
        live = max(0, min(span, self._capacity - dead))
        self._capacity = roomy(span)
        return Move(dead, live, self._capacity)

    def admit(self, train: Train) -> Array:
        ids = train.ids
        assert ids is not None
        return (ids - self._origin).astype(np.int32)

    def release(self, positions: Array, sign: Array, touch: Array, until: int) -> None:
        self._held = []
        self._low = self._origin + int(first_alive(touch, self._low - self._origin, self._high - self._origin))
        if self._low == self._high:
            passed = self._store.base + int(np.searchsorted(self._store.ts, until - self._wait))
            self._low = self._high = max(self._high, passed)
        self._stub.release(self._low)

    def column(self, index: int) -> Vector:
        return self._held[self._columns[index]]

    @property
    def arrival(self) -> Array:
        return self._store.arrival

    @property
    def weight(self) -> Array | None:
        return self._store.weight

    def nbytes(self) -> int:
        return 0

    def vectors(self, touch: Array) -> Iterator[tuple[Type, Vector]]:
        return iter(())


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

    def room(self, train: Train, touch: Array) -> Move | None:
        need = int(np.count_nonzero(train.sign > 0))
        capacity = len(self._arrival)
        if need <= len(self._free):
            return None
        live = capacity - len(self._free)
        grown_to = roomy(live + need)
        self._columns = [Vector(grown(v, grown_to), grown(n, grown_to)) for v, n in self._pairs()]
        self._arrival, self._following = grown(self._arrival, grown_to), grown(self._following, grown_to)
        self._weight = None if self._weight is None else grown(self._weight, grown_to)
        self._free = np.concatenate([np.arange(grown_to - 1, capacity - 1, -1, np.int32), self._free])
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
        return sum(a.nbytes for a in held) + sum(v.nbytes + n.nbytes for v, n in self._pairs()) + self._values.nbytes

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
            self._first, self._last = grown(self._first, self._values.capacity), grown(self._last, self._values.capacity)
            self._first[known:] = VACANT
        queue_in(keys, sign, positions, self._first, self._last, self._following)
        emptied = np.empty(len(keys), np.int64)
        count = queue_out(keys, sign, positions, self._first, self._following, emptied)
        self._values.free(emptied[:count])


def roomy(live: int) -> int:
    """How many positions arrays for `live` rows get."""
    return max(MINIMUM_POSITIONS, 2 * live if live < SMALL else live + live // 6)


def moved(array: Array, move: Move, fill: int) -> Array:
    """`array`, by position, after `move`; new entries are `fill`."""
    fresh = np.full(move.capacity, fill, array.dtype)
    start = max(0, -move.dead)
    kept: Sequence[int] = array[move.dead + start : move.dead + move.live]
    fresh[start : start + len(kept)] = kept
    return fresh
