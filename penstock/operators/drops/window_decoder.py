"""What an aggregate does when windows are dropped above it: it delivers those that are whole (table 4.3).

A dropped batch (tau, U) leaves a window [s, e) whole unless s < U and e > tau: it needs nothing that was dropped, and
was not given up with the batch. In the thesis the same is worked out tuple by tuple, from window
specifications and a `keep_until`, and fake tuples carry what tuples that were dropped or filtered out would have said.
Here aggregates are told of batches directly, before a window that they concern can end, so nothing has to travel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.drops import window_kernel as kernel
from penstock.operators.drops.window_groups import groups_of
from penstock.plan.node import Node

_MANY: Final = 4096
Heard = Callable[[Array, Array, Array], None]
"""What hears of delivered windows: group, start and stamp of each."""


class Skips:
    """The dropped batches of one drop before one aggregate, for groups by the columns `names`."""

    def __init__(self, node: Node, names: Sequence[str], shifts: Sequence[tuple[int, int]], context: Context) -> None:
        self._columns = [node.schema.index(name) for name in names]
        self._types = [node.schema.types[i] for i in self._columns]
        self._shifts = tuple(shifts)
        self._context = context
        self._batches: Array = np.zeros((0, 3), np.int64)
        self.latest = kernel.NEVER

    def __len__(self) -> int:
        return len(self._batches)

    def tell(self, names: Array, taus: Array, untils: Array) -> None:
        """These batches were dropped."""
        moved = [np.stack([names, taus + a, untils + b], axis=1) for a, b in self._shifts]
        whole = np.concatenate([self._batches, *moved])
        self._batches = whole[np.argsort(whole[:, 0], kind="stable")]
        self.latest = max(self.latest, int(untils.max(initial=kernel.NEVER)) + max(b for _, b in self._shifts))

    def forget(self, before: int) -> None:
        """No window that starts before this instant can come any more."""
        stays = self._batches[:, 2] > before
        if not stays.all():
            self._batches = self._batches[stays]

    def keep_last(self, count: int) -> None:
        """Forgets all but the last batches of each group, in time."""
        if len(self._batches) > _MANY:
            names = self._batches[:, 0]
            last = np.searchsorted(names, names, side="right")
            self._batches = self._batches[last - np.arange(len(names)) <= count]

    def groups(self, train: Train) -> Array:
        """The group of each window."""
        return groups_of(train, self._columns, self._types, self._context)

    def skipped(self, train: Train, starts: Array, ends: Array) -> Array:
        """Which windows are not whole, or were given up."""
        names, taus, untils = (np.ascontiguousarray(c) for c in self._batches.T)
        found: Array = kernel.skipped(self.groups(train), starts, ends, names, taus, untils)
        return found


class Decoder:
    """Stands behind a running aggregate. `size` is that of its windows; for windows over rows, whose trains bear the
    windows' numbers, `rows` has their origin and slide."""

    def __init__(self, size: int, rows: tuple[int, int] | None = None) -> None:
        self.size = size
        self.rows = rows
        self.skips: list[Skips] = []
        self.heard: list[tuple[Callable[[Train], Array] | None, Skips, Heard]] = []
        self.rows_in = self.dropped = 0

    def with_skips_of(self, other: Decoder | None) -> Decoder:
        """A decoder that knows the dropped batches of both, for an aggregate that takes the place of theirs."""
        both = [*self.skips, *(s for s in (other.skips if other is not None else ()) if s not in self.skips)]
        taken = Decoder(self.size, self.rows)
        taken.skips = [copy(s) for s in both]
        return taken

    def __call__(self, train: Train, until: int) -> Train:
        """The windows of `train` that are delivered; all that end before `until` have come."""
        if not self.heard and not any(map(len, self.skips)):
            self.rows_in += len(train)
            return train if self.rows is None else train.unplaced()
        starts, ends = self._bounds(train)
        train = train if self.rows is None else train.unplaced()
        self.rows_in += len(train)
        kept = np.ones(len(train), np.bool_)
        for skips in self.skips:
            if len(skips):
                kept &= ~skips.skipped(train, starts, ends)
                if self.rows is None:
                    skips.forget(until - self.size - 1)
                else:
                    skips.keep_last(1 + self.size // self.rows[1])
        if not kept.all():
            self.dropped += len(train) - int(kept.sum())
            train = train.where(kept)
        if len(train):
            self._report(train)
        return train

    def _bounds(self, train: Train) -> tuple[Array, Array]:
        """Where each window starts and ends, in time or in rows."""
        if self.rows is None or train.ids is None:
            return train.column(train.width - 2).values, train.column(train.width - 1).values
        starts = self.rows[0] + train.ids * self.rows[1]
        return starts, starts + self.size

    def _report(self, train: Train) -> None:
        for chain, skips, heard in self.heard:
            delivered = train if chain is None else train.take(chain(train))
            if len(delivered):
                starts = delivered.column(delivered.width - 2).values
                heard(skips.groups(delivered), starts, delivered.ts)
