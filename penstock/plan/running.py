"""A plan: the network that runs, and everything about it that may change while it does.

A plan is a value. A `Change` makes another plan of it, which is checked; engines `adopt` plans between two trains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from penstock.plan.drops import Location, Placed, SemanticDrop, WindowDrop
from penstock.plan.filters import Order, Profiling, allowed
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.nodes.checks import check_expression
from penstock.plan.types import BOOLEAN
from penstock.plan.watched import Watched
from penstock.plan.window_reach import reach


@dataclass(frozen=True, slots=True)
class Plan:
    """`network` is after the rewrites. `number` counts the changes.

    drops      what is given up, and where
    orders     operators whose filters are evaluated in another order than they are written
    shut_down  queries that deliver nothing, because their promise cannot be kept
    watched    columns whose values are counted
    profiled   operators whose filters are profiled, and how
    """

    network: Network
    number: int = 0
    drops: tuple[Placed, ...] = ()
    orders: tuple[tuple[Node, Order], ...] = ()
    shut_down: tuple[str, ...] = field(default=())
    watched: tuple[Watched, ...] = ()
    profiled: tuple[tuple[Node, Profiling], ...] = ()

    def apply(self, *changes: Change) -> Plan:
        """The plan after `changes`, checked; without any, the plan itself."""
        plan = self
        for change in changes:
            plan = replace(change.applied(plan), number=plan.number + 1)
            for check in CHECKS:
                check(plan)
        return plan


class Change(Protocol):
    """One difference between two plans."""

    def applied(self, plan: Plan) -> Plan:
        """`plan` with the difference made."""


@dataclass(frozen=True, slots=True)
class SetDrops:
    """These drops and no others."""

    drops: tuple[Placed, ...]

    def applied(self, plan: Plan) -> Plan:
        """See `Change`."""
        return replace(plan, drops=self.drops)


@dataclass(frozen=True, slots=True)
class Reorder:
    """The filters of the operator `filter` in this order."""

    filter: Node
    order: Order

    def applied(self, plan: Plan) -> Plan:
        """See `Change`."""
        others = tuple((f, o) for f, o in plan.orders if f != self.filter)
        return replace(plan, orders=(*others, (self.filter, self.order)))


@dataclass(frozen=True, slots=True)
class Profile:
    """The filters of the operator `filter` are measured in this way; None: no more."""

    filter: Node
    profiling: Profiling | None

    def applied(self, plan: Plan) -> Plan:
        """See `Change`."""
        others = tuple((f, p) for f, p in plan.profiled if f != self.filter)
        mine = () if self.profiling is None else ((self.filter, self.profiling),)
        return replace(plan, profiled=(*others, *mine))


@dataclass(frozen=True, slots=True)
class ShutDown:
    """These queries, and no others, deliver nothing."""

    queries: tuple[str, ...]

    def applied(self, plan: Plan) -> Plan:
        """See `Change`."""
        return replace(plan, shut_down=self.queries)


def _check_drops(plan: Plan) -> None:
    nodes = frozenset(plan.network.nodes())
    names = {q.name: q.root for q in plan.network.queries}
    for location, drop in plan.drops:
        _check_location(location, nodes, names)
        if isinstance(drop, SemanticDrop):
            check_expression(drop.keep, location.node.schema, BOOLEAN)
            check_expression(drop.partly, location.node.schema, BOOLEAN)
        if isinstance(drop, WindowDrop):
            _check_window_drop(plan.network, location, drop)
        if not 0 <= drop.rate <= 1:
            raise AssertionError(f"a drop at {location} has the rate {drop.rate}")


def _check_window_drop(network: Network, location: Location, drop: WindowDrop) -> None:
    found = reach(network, location)
    if found.why is not None or found.keys != tuple(sorted(drop.keys)) or found.rows != drop.rows:
        why = found.why or f"the queries below group by {found.keys}"
        raise AssertionError(f"windows cannot be dropped at {location} by {drop.keys}: {why}")
    if drop.size < drop.slide or drop.slide < 1 or min([drop.batch, *(b for _, b in drop.batches)]) < 1:
        raise AssertionError(f"the window drop at {location} has no windows, or no batches")


def _check_location(location: Location, nodes: frozenset[Node], queries: dict[str, Node]) -> None:
    consumer = location.consumer
    if location.node not in nodes:
        raise AssertionError(f"the drop location {location} is not in the network")
    if consumer is not None and (consumer not in nodes or consumer.inputs[location.input] != location.node):
        raise AssertionError(f"no arc of the network is {location}")
    if location.query is not None and queries.get(location.query) != location.node:
        raise AssertionError(f"{location.node.label} is not the result of a query {location.query}")


def _check_orders(plan: Plan) -> None:
    for node, order in plan.orders:
        if not allowed(node, order):
            raise AssertionError(f"{order} is no order in which the filters of {node.label} may be evaluated")


def _check_shut_down(plan: Plan) -> None:
    known = {q.name for q in plan.network.queries}
    strange = [name for name in plan.shut_down if name not in known]
    if strange:
        raise AssertionError(f"there is no query {strange[0]} to shut down")


CHECKS: Final[tuple[Callable[[Plan], None], ...]] = (_check_drops, _check_orders, _check_shut_down)
"""What every plan fulfils, checked after each change."""
