"""`[Partition By a Rows count Slide slide]`: sliding windows over the tuples of each key, numbered for each key from 0.

Also runs `[Rows count Slide slide]` with a slide longer than the count, as one key: the tuples between two windows
are never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.emission import CAUSE, ROW, SIGN, TAG
from penstock.operators.kernels.index import grown
from penstock.operators.kernels.partition import FIRST, FRESH, LAST, numbered, slide
from penstock.operators.partition_window import KeyedWindow
from penstock.plan.nodes import Window
from penstock.plan.windows import SlideRows


class SlidePartitionWindow(KeyedWindow):
    """`queue[key]` is as `kernels.partition` says; `row_number` a row's number within its key, `row_ts` its ts."""

    EMPTY_QUEUE = (-1, -1, -1, 0, 0, 0)
    POSITIONS: ClassVar = [FIRST, FRESH, LAST]

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        spec = cast(SlideRows, node.spec)
        self.shape = np.array([spec.origin, spec.slide, spec.count])
        self.bounds = node.bounds
        self.row_number: Array = np.empty(0, np.int64)
        self.row_ts: Array = np.empty(0, np.int64)

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The windows that end take the place of those before, key by key."""
        train, keys, places = self.ordered(inputs[0])
        numbers = numbered(keys, self.queue)
        origin, every, count = self.shape.tolist()
        if every > count:
            covered = np.flatnonzero((numbers - origin) % every < count)
            train, keys = train.take(covered), keys[covered]
            places, numbers = places[covered], numbers[covered]
        first = self.append(train, places)
        self.row_number[first : first + len(train)] = numbers
        self.row_ts[first : first + len(train)] = train.ts
        found = slide(keys, numbers, train.ts, first, self.shape, self.bounds, self.queue, self.following,
                      self.row_number, self.row_ts, self.pool.alive)  # fmt: skip
        return self._emitted(train.ts, *found)

    def move(self, kept: Array) -> None:
        """Follows the rows to where they lie now."""
        super().move(kept)
        self.row_number = grown(self.row_number[kept], self.pool.capacity)
        self.row_ts = grown(self.row_ts[kept], self.pool.capacity)

    def nbytes(self) -> int:
        """The rows, their links, numbers and timestamps, and the keys."""
        return super().nbytes() + self.row_number.nbytes + self.row_ts.nbytes

    def _emitted(self, ts: Array, changes: Array, starts: Array, ends: Array) -> Train:
        rows, tags = changes[:, ROW].copy(), changes[:, TAG]
        train = self.pool.selected(ts[changes[:, CAUSE]], changes[:, SIGN].astype(np.int8), rows)
        if not self.bounds:
            return train
        return train.with_columns([*train.columns, Vector(starts[tags]), Vector(ends[tags])])
