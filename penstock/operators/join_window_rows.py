"""Rows of a join side that live in the store of a window, which others share (Babu 2.3.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.operators.columns.store import Store
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.join_rows import MINIMUM_POSITIONS, Move, roomy
from penstock.operators.kernels.join import first_alive
from penstock.plan.expressions import Column
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Filter, Map, Window
from penstock.plan.types import Type
from penstock.plan.windows import Range, Rows, SlideRange, WindowSpec


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


def longest_wait(spec: WindowSpec) -> int:
    """How long after its timestamp a row may enter the window."""
    return int(spec.size + spec.slide) if isinstance(spec, SlideRange) else 0


class WindowRows:
    """Rows of a window: nothing but a stub on the store. A position is a row number less `origin`.

    A row enters the window `wait` microseconds after its timestamp at the latest.
    """

    borrowed = True
    sparse = False

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
        if self._low == self._high:
            self._low = self._high = max(self._low, self._store.base)

    def room(self, train: Train) -> Move | None:
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
