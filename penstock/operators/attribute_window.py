"""`[Range size On attribute]`: an ordered numeric attribute takes the part of time.

At t the window holds the tuples whose attribute lies in [m - size, m], m being the largest seen up to t. A tuple that
comes too low is never in it. See `axis` for what an attribute may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import cast

import numpy as np

from penstock.operators.axis import Axis, Number, before, sortable
from penstock.operators.base import Context, Row, Snapshot, Stream, Timeline
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.attribute import range_over
from penstock.operators.kernels.emission import CAUSE, ROW, SIGN
from penstock.operators.kernels.pair_heap import heap
from penstock.operators.row_pool import RowPool, moved
from penstock.operators.total_order import in_total_order
from penstock.plan.nodes import Window
from penstock.plan.types import Type
from penstock.plan.windows import Range, SlideRange


class PooledWindow:
    """Base of windows over an attribute: rows in a pool, and heaps of their positions."""

    def __init__(self, node: Window, context: Context) -> None:
        self.schema = node.input.schema
        self.dictionaries = context.dictionaries
        self.on, self.axis = axis_of(node)
        self.pool = RowPool(self.schema)
        self.heaps: list[Array] = []
        self.next = 0

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """The rows and the heaps."""
        return self.pool.nbytes + sum(h.nbytes for h in self.heaps)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The rows."""
        return self.pool.vectors()

    def append(self, train: Train) -> int:
        """Takes in rows; the position of the first."""
        kept = self.pool.make_room(len(train))
        if kept is not None:
            self.move(kept)
        first = self.pool.append(train, np.arange(self.next, self.next + len(train)))
        self.next += len(train)
        return first

    def move(self, kept: Array) -> None:
        """Follows the rows to where they lie now: the heaps' order does not change, because the rows' does not."""
        for pairs in self.heaps:
            pairs[1 : pairs[0, 0] + 1, 1] = moved(pairs[1 : pairs[0, 0] + 1, 1], kept)

    def emitted(self, train: Train, changes: Array) -> Train:
        """The changes as elements, stamped as the arrivals that caused them."""
        rows = changes[:, ROW].copy()
        return self.pool.selected(train.ts[changes[:, CAUSE]], changes[:, SIGN].astype(np.int8), rows)


class AttributeWindow(PooledWindow):
    """`largest` is m; the one heap has the rows of the window by their attribute."""

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        size = cast(Range, node.spec).size
        self.size = None if size is None else self.axis.number(size)
        self.largest: Number | None = None
        self.heaps = [heap()]

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Arrivals enter, and raise what leaves."""
        train = in_total_order(inputs[0], self.schema, self.dictionaries)
        places, present = self.axis.places(train.column(self.on), self.dictionaries)
        floors = self._floors(places, present)
        first = self.append(train)
        changes, self.heaps[0] = range_over(sortable(places), floors, present, first, self.heaps[0], self.pool.alive)
        return self.emitted(train, changes)

    def _floors(self, places: Array, present: Array) -> Array:
        """The lowest key in the window at each arrival."""
        if self.size is None or not present.any():
            return np.full(len(places), -(1 << 63), np.int64)
        least = places[present].min() if self.largest is None else places.dtype.type(self.largest)
        largest = np.maximum(np.maximum.accumulate(np.where(present, places, least)), least)
        self.largest = largest[-1].item()
        return sortable(before(largest, self.size))


def axis_of(node: Window) -> tuple[int, Axis]:
    """The position of the column that the window runs over, and its axis."""
    spec = cast(Range | SlideRange, node.spec)
    numbers = [spec.size, spec.slide, spec.origin] if isinstance(spec, SlideRange) else [spec.size or 0]
    on = node.input.schema.index(cast(str, spec.on))
    return on, Axis.over(node.input.schema.types[on], *numbers)


def reference(node: Window, stream: Stream) -> Timeline:
    """At every instant with arrivals: what lies at most `size` below the largest place so far."""
    size = cast(Range, node.spec).size
    on, axis = axis_of(node)
    seen: list[tuple[Number, Row]] = []
    timeline = []
    for t, events in groupby(stream, key=lambda e: e.ts):
        seen += [(place, e.row) for e in events if (place := axis.place(e.row[on])) is not None]
        largest = max((place for place, _ in seen), default=0)
        rows = [row for place, row in seen if size is None or place >= largest - axis.number(size)]
        timeline.append(Snapshot(t, rows))
    return timeline
