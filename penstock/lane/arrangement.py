"""The orders of a plan on a running graph: operators with several filters are told in which order, and what to measure
of them, between two trains."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from penstock.lane.graph import Graph
from penstock.operators.filter_chain import Profiled
from penstock.plan.filters import Order, Profiling
from penstock.plan.running import Plan
from penstock.stats.snapshot import FilterProfile


@runtime_checkable
class Arranged(Protocol):
    """An operator whose filters can be put in another order."""

    def arrange(self, order: Order | None, profiling: Profiling | None) -> None:
        """This order (None: as written) and these measurements from the next train on."""

    def profiled(self) -> Profiled | None:
        """What was measured since this was asked the last time."""


class Arrangement:
    """What the plan in force says of a graph's filters."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._plan: Plan | None = None

    def set(self, plan: Plan) -> None:
        """Makes the orders and measurements of `plan` hold."""
        before, self._plan = self._plan, plan
        if before is None or (before.orders, before.profiled) != (plan.orders, plan.profiled):
            self.renew()

    def renew(self) -> None:
        """Tells all operators anew: some may have come."""
        if self._plan is None:
            return
        orders, profiled = dict(self._plan.orders), dict(self._plan.profiled)
        for slot in self._graph.order:
            if isinstance(slot.operator, Arranged):
                slot.operator.arrange(orders.get(slot.key.node), profiled.get(slot.key.node))

    def profiled(self) -> tuple[FilterProfile, ...]:
        """What was measured since this was asked the last time."""
        asked = () if self._plan is None else [node for node, _ in self._plan.profiled]
        found: list[FilterProfile] = []
        for slot in self._graph.order:
            if slot.key.node in asked and isinstance(slot.operator, Arranged):
                measured = slot.operator.profiled()
                if measured is not None:
                    found.append(FilterProfile(slot.key.node, *measured))
        return tuple(found)
