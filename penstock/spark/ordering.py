"""The order of filters in a run: which the gate orders, what they cost, what was measured of them in a batch."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame

from penstock.adapt.filter_orders import FilterOrders
from penstock.control.loop import Loop
from penstock.plan.node import Node
from penstock.spark.cadence import Cadence
from penstock.spark.calibration import Costs, sampled, unit_costs
from penstock.spark.filters import at_gate, counted, in_lanes, profiles
from penstock.spark.plans import Plans
from penstock.spark.stages import Staged
from penstock.spark.state.records import Attempt
from penstock.stats.snapshot import FilterProfile

RECALIBRATE_S: Final = 600.0
"""How long measured costs hold: measuring takes a second or two in all."""
BITE_S: Final = 0.05
"""What measuring costs may take of one batch, but for the job that it is in."""
TRIES: Final = 20
"""Batches with too few rows to measure anything on, after which this is left alone for as long."""


class Ordering:
    """`filters` are those that the gate evaluates in the plan's order; none where nothing orders filters."""

    def __init__(self, staged: Staged, loop: Loop) -> None:
        ordering = bool(loop.plan.orders) or any(isinstance(s, FilterOrders) for s in loop.strategies)
        self._measures = bool(loop.strategies)
        self.filters = at_gate(staged) if ordering else ()
        self.costs: dict[Node, list[float]] = {}
        self.cadence = Cadence()
        self.calibrating_s = 0.0
        self._due = float("-inf")
        self._tries = 0
        self._under_way: dict[Node, Costs] = {}

    @property
    def entries(self) -> frozenset[int]:
        """The entries whose rows are filtered batch by batch."""
        return frozenset(g.entry.number for g in self.filters)

    @property
    def calibrated(self) -> bool:
        """True where nothing is left to measure for the time being."""
        return not (self.filters and self._measures) or (time.monotonic() < self._due and not self._under_way)

    def calibrate(self, rows: DataFrame) -> None:
        """Goes on measuring costs, where they are not known or have grown old: a bite a batch, on a sample of the first
        batch's rows as they leave the gate. Until it has ended what was known holds, or what filters of a kind do."""
        if self.calibrated:
            return
        started = time.perf_counter()
        if not self._under_way:
            self._begin(rows)
        while self._under_way and time.perf_counter() - started < BITE_S:
            self._go_on(next(iter(self._under_way)))
        self.calibrating_s += time.perf_counter() - started

    def _begin(self, rows: DataFrame) -> None:
        spark = rows.sparkSession
        found = [(g, sampled(rows, g)) for g in self.filters]
        self._under_way = {g.node: unit_costs(spark, table, g) for g, table in found if table is not None}
        self._tries += 1
        if len(self._under_way) == len(found) or self._tries >= TRIES:
            self._due, self._tries = time.monotonic() + RECALIBRATE_S, 0

    def _go_on(self, node: Node) -> None:
        try:
            next(self._under_way[node])
        except StopIteration as ended:
            self.costs[node] = ended.value
            del self._under_way[node]

    def measured(self, attempts: Iterable[Attempt], plans: Plans, gate_s: float | None) -> tuple[FilterProfile, ...]:
        """What was measured of filters in a batch, at the gate, which took `gate_s` (None where no rows came), and in
        the lanes."""
        listed = list(attempts)
        found = profiles(self.filters, counted(listed), self.costs)
        if gate_s is not None:
            self.cadence.ran(gate_s, min((len(p.bits) for p in found), default=0))
        return (*found, *in_lanes(listed, plans, self.filters))
