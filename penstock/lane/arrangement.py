"""The orders of a plan on a running graph: operators with several filters are told in which order, and what to measure
of them, between two trains; operators that share filters are given one chain for all."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from penstock.lane.graph import Graph
from penstock.lane.slot import Slot
from penstock.operators.filter_chain import Profiled
from penstock.operators.shared_chain import SharedChain
from penstock.operators.vector_eval import Condition
from penstock.plan.filters import Order, Profiling, protectors
from penstock.plan.node import Node
from penstock.plan.nodes.shared import SharedFilters
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
        self._shared: dict[SharedFilters, tuple[tuple[Slot, ...], SharedChain]] = {}

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
        wanted = {node for node in (*orders, *profiled) if isinstance(node, SharedFilters)}
        self._unite({node: slots for node in wanted if (slots := self._members(node))})
        for node, (_, chain) in self._shared.items():
            chain.arrange(orders.get(node), profiled.get(node))

    def _members(self, shared: SharedFilters) -> tuple[Slot, ...]:
        """The operators whose filters these are; none where not all of them run, or each query has its own."""
        running = {s.key.node: s for s in self._graph.order if s.key.owner is None and s.unborn is None}
        found = tuple(running[m] for m in shared.members if m in running)
        return found if len(found) == len(shared.members) and len({id(s.producers[0]) for s in found}) == 1 else ()

    def _unite(self, wanted: dict[SharedFilters, tuple[Slot, ...]]) -> None:
        """Gives the operators of each group one chain, and those of other groups their own back."""
        for node in [n for n, (slots, _) in self._shared.items() if wanted.get(n) != slots]:
            for slot in self._shared.pop(node)[0]:
                slot.process = None if slot.operator is None else slot.operator.process
        for node, slots in wanted.items():
            if node not in self._shared:
                context = slots[0].context
                tests = [Condition(c, node.schema, context) for c in node.conditions]
                chain = SharedChain(tests, node.words, protectors(node), context)
                self._shared[node] = slots, chain
                for query, slot in enumerate(slots):
                    slot.process = chain.member(query, slot.operator.process)  # type: ignore[union-attr]

    def profiled(self) -> tuple[FilterProfile, ...]:
        """What was measured since this was asked the last time."""
        asked: list[Node] = [] if self._plan is None else [node for node, _ in self._plan.profiled]
        running: list[tuple[Node, object]] = [(s.key.node, s.operator) for s in self._graph.order]
        running += [(node, chain) for node, (_, chain) in self._shared.items()]
        found = [(node, e.profiled()) for node, e in running if node in asked and isinstance(e, Arranged)]
        return tuple(FilterProfile(node, *what) for node, what in found if what is not None)
