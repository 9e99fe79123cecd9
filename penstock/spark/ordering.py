"""The order of filters in a run: which the gate orders, what they cost, what was measured of them in a batch."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame

from penstock.adapt.filter_orders import FilterOrders
from penstock.control.loop import Loop
from penstock.plan.node import Node
from penstock.spark.calibration import unit_costs
from penstock.spark.filters import at_gate, counted, in_lanes, profiles
from penstock.spark.plans import Plans
from penstock.spark.stages import Staged
from penstock.spark.state.records import Attempt
from penstock.stats.snapshot import FilterProfile

RECALIBRATE_S: Final = 300.0
"""How long measured costs hold: measuring takes about as long as a batch, a few times over."""
TRIES: Final = 20
"""Batches with too few rows to measure anything on, after which this is left alone for as long."""


class Ordering:
    """`filters` are those that the gate evaluates in the plan's order; none where nothing orders filters."""

    def __init__(self, staged: Staged, loop: Loop) -> None:
        ordering = bool(loop.plan.orders) or any(isinstance(s, FilterOrders) for s in loop.strategies)
        self._measures = bool(loop.strategies)
        self.filters = at_gate(staged) if ordering else ()
        self.costs: dict[Node, list[float]] = {}
        self._due = float("-inf")
        self._tries = 0

    @property
    def entries(self) -> frozenset[int]:
        """The entries whose rows are filtered batch by batch."""
        return frozenset(g.entry.number for g in self.filters)

    def calibrate(self, rows: DataFrame) -> None:
        """Measures costs on a batch's rows as they leave the gate, where they are not known or have grown old."""
        if not (self.filters and self._measures) or time.monotonic() < self._due:
            return
        found = {g.node: unit_costs(rows, g) for g in self.filters}
        self.costs |= {node: costs for node, costs in found.items() if costs is not None}
        self._tries += 1
        if all(costs is not None for costs in found.values()) or self._tries >= TRIES:
            self._due, self._tries = time.monotonic() + RECALIBRATE_S, 0

    def measured(self, attempts: Iterable[Attempt], plans: Plans) -> tuple[FilterProfile, ...]:
        """What was measured of filters in a batch, at the gate and in the lanes."""
        listed = list(attempts)
        return (*profiles(self.filters, counted(listed), self.costs), *in_lanes(listed, plans))
