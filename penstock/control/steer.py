"""From what a user asks for to the loop that does it: which strategies watch a network, and with what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.adapt.filter_orders import OFF, FilterOrders, known
from penstock.control.ahead import Ahead
from penstock.control.change_gate import ChangeGate
from penstock.control.controllers import Controller, Safe, controller
from penstock.control.delay import Delay
from penstock.control.excess import Excess, Order
from penstock.control.loop import Loop, Strategy
from penstock.control.promise import Promise
from penstock.control.targets import targets
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network
from penstock.plan.nodes.shared import SharedFilters
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.plan.shared_filters import shared_filters
from penstock.settings import Settings
from penstock.shed.watching import watched
from penstock.stats.forgetting import Forgetting
from penstock.stats.load import with_stated_costs
from penstock.stats.snapshot import Snapshot

QUEUES_BAND: Final = 0.02
QUEUES_TURNS: Final = 60
"""How restful the drop rate is before queues. A queue adds up what random drops and arrivals were too much or too
little; with fewer turns than every other period it drifts: 1.4 to 2.4 s were measured for a target of 2 s, where with
this many it was 1.85 to 2.1."""

BATCHES_HALF_LIFE_S: Final = 4.0
"""How long what rows cost is remembered where a batch has thousands of them: some batches are enough."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """The keywords of `penstock.testing.evaluate` and of a run that ask for plans that change."""

    shed: Mapping[str, Any] | None = None
    filters: str | None = None
    controller: str | Controller | None = None
    clock: object | None = None
    seed: int = 0

    @property
    def timed(self) -> bool:
        """True where results are wanted in time, and not only at all."""
        return self.controller is not None or self.clock is not None


def steer(network: Network, wishes: Wishes, rehearsal: Callable[[], Snapshot] | None = None) -> Loop | None:
    """The loop over `network`, None where nothing that changes was asked for.

    `rehearsal` gives a snapshot of the network at work on the input, or on its beginning: what a share of the load is
    can be said beforehand then, and the plan holds from the first tuple on.
    """
    plan = _plan(network)
    shared = shared_filters(plan.network.nodes()) if plan.network.sharing else ()
    strategies = [*_filters(plan.network, wishes, shared=shared), *_strategies(network, wishes, rehearsal)]
    loop = Loop(plan, strategies, ChangeGate())
    if wishes.shed is not None:
        loop.mode = str(wishes.shed.get("mode", "on"))
    for strategy in strategies:
        if isinstance(strategy, Excess):
            loop.accounts.know(strategy.load)
    if strategies:
        loop.step(Snapshot(0, 0.0))
    return loop if loop.strategies else None


def _plan(network: Network) -> Plan:
    """The plan that runs at first."""
    rewritten = optimize(network)
    return Plan(rewritten, watched=watched(rewritten))


def _filters(
    network: Network, wishes: Wishes, settings: Settings | None = None, shared: Sequence[SharedFilters] = ()
) -> list[Strategy]:
    """The re-optimizer of filter orders, where one was asked for and there is something to order."""
    if wishes.filters is None or known(wishes.filters) == OFF:
        return []
    orders = FilterOrders.over(wishes.filters, network.nodes(), settings, wishes.seed, shared)
    return [orders] if orders.nodes else []


def _strategies(
    network: Network, wishes: Wishes, rehearsal: Callable[[], Snapshot] | None
) -> list[Strategy]:
    if wishes.timed:
        return _in_time(network, wishes)
    if wishes.shed is None or rehearsal is None:
        return []
    order, seen = Order.of(wishes.shed), Forgetting(optimize(network))
    seen.see(rehearsal())
    return [Excess(order, with_stated_costs(seen.model()), wishes.seed)]


def _in_time(network: Network, wishes: Wishes) -> list[Strategy]:
    """What keeps the delay targets of the queries; nothing where none declares one."""
    if wishes.shed is not None and wishes.shed.get("excess", 0):
        help_ = "leave out one of the two"
        raise PenstockError(Diagnostic("a controller finds out how much must go: excess cannot say it too", help=help_))
    if not targets(network):
        if wishes.controller is None:
            return []
        help_ = "declare one: CREATE QUERY ... WITH (delay = '2 seconds')"
        raise PenstockError(Diagnostic("no query declares a delay that a controller could keep", help=help_))
    return [Delay(promised(network, wishes), _controller(wishes, batches=False))]


def steer_run(
    network: Network, wishes: Wishes, lanes: int, settings: Settings, waited_for: bool = True
) -> Loop | None:
    """The loop of a run whose control period is a micro-batch on `lanes` lanes; None where nothing changes in it. Delay
    targets are kept where somebody waits for the answers."""
    plan = _plan(network)
    strategies = _filters(plan.network, wishes, settings)
    if waited_for and targets(network):
        promise = replace(promised(network, wishes, lanes, settings), half_life_s=BATCHES_HALF_LIFE_S)
        strategies.append(Ahead(promise, _controller(wishes, batches=True), newest=settings.backlog == "newest"))
    if not strategies:
        return None
    loop = Loop(plan, strategies, ChangeGate(settings))
    loop.step(Snapshot(0, 0.0))
    return loop


def promised(network: Network, wishes: Wishes, lanes: int = 1, settings: Settings | None = None) -> Promise:
    """The targets of `network` and the policy that `wishes` name."""
    policy = Order.of(wishes.shed or {}).maker(wishes.seed)
    return Promise(optimize(network), policy, lanes, (settings or Settings()).headroom)


def _controller(wishes: Wishes, batches: bool) -> Safe:
    wanted = wishes.controller or "seamless"
    made = controller(wanted, batches) if isinstance(wanted, str) else Safe(wanted)
    return made if batches else replace(made, band=QUEUES_BAND, most_turns=QUEUES_TURNS)
