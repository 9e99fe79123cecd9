"""WindowDrop: whole windows go, in batches, and the tuples that belong to no other window (Tatbul 4.4 to 4.7).

Where the thesis marks tuples with window specifications, a dropped batch is one pair (tau, U) here: tuples in [tau, U)
are gone, everything before tau was kept for the windows before the batch, and from U on windows are whole again. The
aggregates below are told the pair, moved as `penstock.plan.window_reach` says, and deliver no window that starts before
U and ends after tau: `penstock.operators.drops.window_decoder`. What a kept window needs is never dropped, so what is
delivered is exact; the thesis's table 4.3 opens the same windows (`reference`).

`window_decider.Decider` decides for the groups of one drop; `RunningWindowDrop` is its place on an arc. Until it is
connected to what is below it, it drops nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.drops.window_decider import Decider, Watched
from penstock.operators.drops.window_groups import groups_of
from penstock.operators.total_order import in_total_order
from penstock.operators.vector_eval import projection
from penstock.plan.drops import WindowDrop
from penstock.plan.node import Node


class RunningWindowDrop:
    """Lets a decider look at each train, and keeps what it leaves."""

    def __init__(self, drop: WindowDrop, node: Node, context: Context) -> None:
        self.drop = drop
        self.node = node
        self.context = context
        self.decider: Decider | None = None
        self.survivors: Callable[[Train], Array] | None = None
        self.watched: Watched | None = None
        self._keys = [node.schema.index(key) for key in drop.keys]
        self._types = [node.schema.types[i] for i in self._keys]
        self._classes = projection([c for c, _ in drop.classes], node.schema, context) if drop.classes else None

    def connect(self, decider: Decider, survivors: Callable[[Train], Array] | None) -> None:
        """From now on drops what `decider` says; `survivors` tells which elements reach the first aggregate on each
        way, None: all do."""
        self.decider, self.survivors = decider, survivors

    def __call__(self, train: Train) -> Train:
        """The tuples that stay."""
        if self.decider is None or not len(train) or (self.drop.idle and not self.drop.rows):
            return train
        if self.drop.rows:
            return self._counted(train, self.decider)
        first = train if self._keys else train.slice(0, 1)
        names = groups_of(first, self._keys, self._types, self.context)
        passed = None if self.survivors is None else partial(self.survivors, train)
        kinds = None if self._classes is None else partial(self._kinds, train)
        gone = self.decider.decide(names, train.ts, passed, self.watched, kinds)
        return train.where(~gone) if gone.any() else train

    def _kinds(self, train: Train) -> Array:
        """The number of the first class of each element's group."""
        assert self._classes is not None
        _, met = self._classes(train)
        true = [m.values if m.nulls is None else m.values & ~m.nulls for m in met]
        first: Array = np.argmax(np.array([*true, np.ones(len(train), np.bool_)]), axis=0)
        return first

    def _counted(self, train: Train, decider: Decider) -> Train:
        """The same for windows over rows: tuples are numbered in the total order, and bear their numbers."""
        train = in_total_order(train, self.node.schema, self.context.dictionaries)
        names = groups_of(train, self._keys, self._types, self.context)
        numbers = decider.numbered(names)
        gone = decider.decide(names, numbers, None)
        return train.identified(numbers).where(~gone)


def build(drop: WindowDrop, node: Node, context: Context) -> RunningWindowDrop:
    """The drop, ready to be connected."""
    return RunningWindowDrop(drop, node, context)


def whole(windows: Sequence[tuple[int, int]], batches: Sequence[tuple[int, int]]) -> list[bool]:
    """Which windows [start, end) are delivered after batches (tau, U) were dropped.

    >>> whole([(0, 3), (3, 6), (6, 9)], [(3, 6)])
    [True, False, True]
    """
    return [not any(s < until and e > tau for tau, until in batches) for s, e in windows]
