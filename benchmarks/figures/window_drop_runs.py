"""Runs of the thesis's window-drop networks in the lane engine, in a time that only their delay boxes spend.

Every run is checked before it counts: what it delivers is in the exact answer, and no gap is longer than the batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.lane.clock import VirtualClock
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.drops import Location, Placed, WindowDrop
from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import AggregateCall, Source, WindowAggregate
from penstock.plan.running import Plan
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT
from penstock.plan.window_reach import reach
from penstock.plan.windows import END, SlideRange
from penstock.shed.window_rules import common

SENSOR = Source("sensor", Schema.parse("value int"))
"""Readings of a temperature sensor, one an instant."""
BATCH = 10
"""The thesis's batch size."""


def count(below: Node, size: int, slide: int) -> WindowAggregate:
    """The thesis's aggregate: a count over a window."""
    return WindowAggregate(below, SlideRange(size, slide), (), (AggregateCall("n", "count", None, BIGINT),))


@dataclass(frozen=True, slots=True)
class Run:
    """What a run cost and delivered: `spent_s` on the virtual clock, `missing` the share of the results that is not
    there."""

    spent_s: float
    missing: float


@dataclass(slots=True)
class Bench:
    """A network over `tuples` readings; queries bear gaps of `gaps` results (None: any)."""

    roots: Mapping[str, Node]
    tuples: int
    gap: int | None = BATCH
    exact: dict[str, list[int]] = field(default_factory=dict)

    @property
    def network(self) -> Network:
        """All queries."""
        return Network(queries=tuple(Query(name, root) for name, root in self.roots.items()))

    def run(self, *drops: Placed) -> Run:
        """One run under these drops."""
        clock = VirtualClock()
        lane = Lane(self.network, clock=clock, optimized=False)
        lane.adopt(Plan(self.network, drops=tuple(drops)))
        ts = np.arange(self.tuples)
        lane.push(SENSOR.name, Train([Vector(ts % 100)], ts), END)
        lane.run()
        found = {name: [int(t) for train in lane.take(name) for t in train.ts] for name in self.roots}
        if not self.exact:
            self.exact = found
        missing = [1 - len(found[n]) / len(self.exact[n]) for n in self.roots]
        for name in self.roots:
            self._check(found[name], self.exact[name], bounded=all(isinstance(d, WindowDrop) for _, d in drops))
        return Run(clock.now(), sum(missing) / len(missing))

    def _check(self, found: Sequence[int], exact: Sequence[int], bounded: bool) -> None:
        if Counter(found) - Counter(exact):
            raise AssertionError("something was delivered that is not in the exact answer")
        there, run, longest = set(found), 0, 0
        for t in exact:
            run = 0 if t in there else run + 1
            longest = max(longest, run)
        if bounded and self.gap is not None and longest > self.gap:
            raise AssertionError(f"{longest} results in a row are missing")

    def window_drop(self, location: Location, rate: float, seed: int) -> Placed:
        """A window drop by the thesis's rules."""
        found = reach(self.network, location)
        grid = common(found.needs)
        batch = grid.batch([self.gap or BATCH] * len(found.needs))
        return location, WindowDrop(grid.size, grid.slide, rate, batch, (), grid.origin, seed)

    def most(self, location: Location) -> float:
        """The largest share of windows that may go there."""
        needs = reach(self.network, location).needs
        batch = common(needs).batch([self.gap or BATCH] * len(needs))
        return batch / (batch + 1)
