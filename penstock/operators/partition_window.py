"""`[Partition By a, b Rows count]`: the last tuples of each value of some columns, NULL being one value (Babu 2.1.2).

Each key's rows form a queue through a `RowPool`: an arrival goes to its tail and, where the key already has `count`
rows, the head goes out. A relation that a stream keeps current (CREATE RELATION ... FROM stream KEY, Aurora's Update)
is this window with one row a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, cast

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.operators.kernels.partition import HEAD, TAIL, push_out
from penstock.operators.row_pool import RowPool, moved
from penstock.operators.total_order import in_total_order
from penstock.plan.nodes import Window
from penstock.plan.types import Type
from penstock.plan.windows import Rows, SlideRows


class KeyedWindow:
    """Base of windows by key. `following[p]` is the position of the next row of p's key; `queue[key]` has what a kernel
    keeps of a key, and starts as `EMPTY_QUEUE`; its fields `POSITIONS` are positions of rows."""

    EMPTY_QUEUE: ClassVar[tuple[int, ...]]
    POSITIONS: ClassVar[list[int]]

    def __init__(self, node: Window, context: Context) -> None:
        self.schema = node.input.schema
        self.dictionaries = context.dictionaries
        by = cast(Rows | SlideRows, node.spec).by
        self.by = [self.schema.index(c) for c in by]
        self.keys = KeyIndex(len(self.by))
        self.pool = RowPool(self.schema)
        self.following: Array = np.empty(0, np.int64)
        self.queue: Array = np.zeros((0, len(self.EMPTY_QUEUE)), np.int64)
        self.next = 0

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """The rows, their links and the keys."""
        return self.pool.nbytes + self.following.nbytes + self.queue.nbytes + self.keys.nbytes

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The rows and the keys."""
        yield from self.pool.vectors()
        yield from self.keys.vectors([self.schema.types[i] for i in self.by])

    def ordered(self, train: Train) -> tuple[Train, Array, Array]:
        """The train in the total order, the key of each row, and its place in the stream."""
        train = in_total_order(train, self.schema, self.dictionaries)
        keys = self.keys.lookup_or_insert(*stacked([train.column(i) for i in self.by], len(train)))
        known = len(self.queue)
        if known < self.keys.capacity:
            self.queue = grown(self.queue, self.keys.capacity)
            self.queue[known:] = self.EMPTY_QUEUE
        places = np.arange(self.next, self.next + len(train))
        self.next += len(train)
        return train, keys, places

    def append(self, train: Train, places: Array) -> int:
        """Takes in rows; the position of the first."""
        kept = self.pool.make_room(len(train))
        if kept is not None:
            self.move(kept)
        return self.pool.append(train, places)

    def move(self, kept: Array) -> None:
        """Follows the rows to where they lie now."""
        self.following = grown(moved(self.following[kept], kept), self.pool.capacity)
        self.queue[:, self.POSITIONS] = moved(self.queue[:, self.POSITIONS], kept)


class PartitionWindow(KeyedWindow):
    """`queue[key]` is (first row, last row, number of rows)."""

    EMPTY_QUEUE = (-1, -1, 0)
    POSITIONS: ClassVar = [HEAD, TAIL]

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        count = cast(Rows, node.spec).count
        self.count = (1 << 62) if count is None else count

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Arrivals enter, and push out."""
        train, keys, places = self.ordered(inputs[0])
        first = self.append(train, places)
        rows, sign, cause = push_out(keys, first, self.count, self.queue, self.following, self.pool.alive)
        return self.pool.selected(train.ts[cause], sign, rows)
