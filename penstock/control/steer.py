"""From what a user asks for to the loop that does it: which strategies watch a network, and with what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.adapt.filter_orders import OFF, FilterOrders, known
from penstock.control.change_gate import ChangeGate
from penstock.control.excess import Excess, Order
from penstock.control.loop import Loop, Strategy
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.shed.watching import watched
from penstock.stats.forgetting import Forgetting
from penstock.stats.load import with_stated_costs
from penstock.stats.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Wishes:
    """The keywords of `penstock.testing.evaluate` and of a run that ask for plans that change."""

    shed: Mapping[str, Any] | None = None
    filters: str | None = None
    controller: str | None = None
    clock: str | None = None
    seed: int = 0


def steer(network: Network, wishes: Wishes, rehearsal: Callable[[], Snapshot] | None = None) -> Loop | None:
    """The loop over `network`, None where nothing that changes was asked for.

    `rehearsal` gives a snapshot of the network at work on the input, or on its beginning: what a share of the load is
    can be said beforehand then, and the plan holds from the first tuple on.
    """
    asked = {n: v for n in ("controller", "clock") if (v := getattr(wishes, n)) is not None}
    if asked:
        raise PenstockError(*(Diagnostic(f"{name} = {value!r} is not available yet") for name, value in asked.items()))
    plan = _plan(network)
    strategies = [*_filters(plan.network, wishes), *_strategies(network, wishes, rehearsal)]
    loop = Loop(plan, strategies, ChangeGate())
    if wishes.shed is not None:
        loop.mode = Order.of(wishes.shed).mode
    if strategies:
        loop.step(Snapshot(0, 0.0))
    return loop if loop.strategies else None


def _plan(network: Network) -> Plan:
    """The plan that runs at first."""
    rewritten = optimize(network)
    return Plan(rewritten, watched=watched(rewritten))


def _filters(network: Network, wishes: Wishes) -> list[Strategy]:
    """The re-optimizer of filter orders, where one was asked for and there is something to order."""
    if wishes.filters is None or known(wishes.filters) == OFF:
        return []
    orders = FilterOrders.over(wishes.filters, network.nodes(), seed=wishes.seed)
    return [orders] if orders.nodes else []


def _strategies(
    network: Network, wishes: Wishes, rehearsal: Callable[[], Snapshot] | None
) -> list[Strategy]:
    if wishes.shed is None or rehearsal is None:
        return []
    order, seen = Order.of(wishes.shed), Forgetting(optimize(network))
    seen.see(rehearsal())
    return [Excess(order, with_stated_costs(seen.model()), wishes.seed)]
