"""Promises that stand in each other's way: of several targets the nearest binds, a delay outranks a bounded gap, and a
query is shut down only where nothing else is left."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

import penstock as ps
from penstock.control.keeping import PATIENCE, Keeper, Room
from penstock.control.loop import Decision
from penstock.control.promise import Promise
from penstock.plan.network import Network
from penstock.plan.node import walk
from penstock.plan.nodes import Filter
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, ShutDown
from penstock.shed.policy import Shedding
from penstock.shed.random_shedding import RandomShedding
from penstock.shed.shutting_down import costliest, cuts
from penstock.stats.load import LoadModel, Work, with_stated_costs
from penstock.testing import Result, evaluate
from tests.control.test_delay import arriving, chain, periods

ROOM = Room(capacity=1.0, seconds=0.5, target_s=2.0)


def told(result: Result) -> list[Decision]:
    """The decisions that shut a query down."""
    return [d for d in result.log if isinstance(d, Decision) and isinstance(d.proposal.change, ShutDown)]


def counts(app: ps.App, stream: str, query: str, gap: int) -> None:
    """Counts over tenths of a second, 4 ms a tuple, of which no more than `gap` in a row may be missing."""
    box = app.stream(stream, "x int").delay(2000).filter("x >= 0").delay(2000)
    box.aggregate(n="count(*)", size="100 milliseconds").output(query, delay="2 seconds", max_gap=gap)


class Half:
    """A policy that can take half of the load and no more."""

    name = "half"

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        saved = min(excess, load.load() / 2)
        return Shedding((), (), saved, excess - saved)


def loaded(load: float, queued_s: float = 0.0) -> tuple[Plan, LoadModel]:
    """A query that needs so much a second, with so much in its queue."""
    app = ps.App()
    app.stream("s", "x int").filter("x > 1").output("q", delay="2 seconds")
    network = optimize(app.network)
    node = next(n for n in network.nodes() if isinstance(n, Filter))
    return Plan(network), LoadModel(network, {node: Work(0.001, 1.0, round(queued_s * 1000))}, {"s": load * 1000})


def asked(keeper: Keeper, load: float, excess: float, times: int, queued_s: float = 0.0) -> int:
    """After how many decisions a query was shut down, 0 where none was."""
    plan, model = loaded(load, queued_s)
    for i in range(1, times + 1):
        if keeper.place(plan, model, excess, ROOM).shut_down:
            return i
    return 0


def test_an_excess_that_only_a_queue_asks_for_shuts_nothing_down() -> None:
    assert asked(Keeper(Half()), load=1.3, excess=1.3, times=100) == 0
    assert asked(Keeper(Half()), load=1.9, excess=1.9, times=100, queued_s=1.5) == 0


@pytest.mark.parametrize(("load", "at_least", "at_most"), [(2.1, 15, 30), (3.0, 3, 4), (9.0, PATIENCE, PATIENCE)])
def test_a_bound_that_cannot_hold_is_given_up_the_sooner_the_more_is_missing(load, at_least, at_most) -> None:
    assert at_least <= asked(Keeper(Half()), load, excess=load, times=100) <= at_most


def test_a_burst_that_passes_shuts_nothing_down() -> None:
    keeper = Keeper(Half())
    for _ in range(20):
        assert asked(keeper, load=2.5, excess=2.5, times=2) == 0
        assert asked(keeper, load=1.0, excess=0.4, times=2) == 0


def test_where_all_goes_that_may_and_results_are_late_for_long_the_target_wins() -> None:
    assert 12 <= asked(Keeper(Half()), load=1.9, excess=1.9, times=100, queued_s=2.5) <= 14


@pytest.mark.parametrize(("floor_s", "shut"), [(0.0, ()), (0.5, ("q",))])
def test_what_a_micro_batch_takes_besides_its_work_is_no_capacity(floor_s: float, shut: tuple[str, ...]) -> None:
    plan, model = loaded(1.6)
    promise = Promise(plan.network, Half())
    for _ in range(40):
        made = promise.placed(plan, model, 1.6, 0.9, capacity=1.0, floor_s=floor_s)
    assert made.shut_down == shut


@pytest.mark.parametrize("controller", ["ctrl", "seamless"])
@pytest.mark.parametrize(("rate", "gap", "shut"), [(320, 5, ()), (800, 5, ()), (1200, 3, ("q",))])
def test_a_bounded_gap_that_holds_at_the_load_that_lasts_is_kept(controller, rate, gap, shut) -> None:
    """1.28 and 3.2 times what there is, of which a sixth must be delivered, and 4.8 times, a quarter."""
    app = ps.App()
    counts(app, "s", "q", gap)
    events = arriving([(3, 150), (15, rate)])
    result = evaluate(app, events, clock="virtual", controller=controller, shed={"policy": "window"})
    assert result.stats.shut_down == shut
    assert len(told(result)) == len(shut)
    if not shut:
        ends = [e.timestamp for e in result["q"]]
        assert max(b - a for a, b in pairwise(ends)) <= (gap + 1) * 100_000


def test_a_delay_outranks_a_gap_and_the_costliest_query_is_shut_down_and_reported() -> None:
    app = ps.App()
    chain(app, "s", 4000).output("heavy", delay="1 second", max_gap=3)
    chain(app, "t", 500).output("light", delay="1 second", max_gap=3)
    events = sorted(arriving([(20, 500)]) + arriving([(20, 200)], "t"), key=lambda e: e[1])
    result = evaluate(app, events, clock="virtual", shed={"policy": "random"})
    assert result.stats.shut_down == ("heavy",)
    (decision,) = told(result)
    assert "1 s cannot be kept beside what heavy may not lose" in decision.proposal.why and decision.refused is None
    assert len(result["light"]) == 20 * 200
    assert max(d.p99_s for now, d in periods(result) if now > 8) < 1.0
    (account,) = [a for a in result.stats.accounts if a.query == "heavy"]
    assert account.shut_down and account.share == 0


def test_of_three_targets_the_nearest_binds_and_who_can_afford_it_loses_for_it() -> None:
    """The load is 1.8 times what there is: what goes must come from the two that lose little by it."""
    app = ps.App()
    strict, loose = "100: 1.0, 90: 0.05, 0: 0", "100: 1.0, 5: 0.95, 0: 0"
    for stream, query, delay, loss in (("s", "near", "1 second", strict), ("t", "middle", "4 seconds", loose),
                                       ("u", "far", "20 seconds", loose)):  # fmt: skip
        chain(app, stream, 4000).output(query, delay=delay, loss=loss)
    events = sorted((e for s in "stu" for e in arriving([(36, 150)], s)), key=lambda e: e[1])
    result = evaluate(app, events, clock="virtual", scheduler="round_robin", shed={"policy": "random"})
    late = [d.p99_s for now, d in periods(result) if 20 < now <= 36]
    assert max(late) < 1.25
    share = {q: len(result[q]) / (36 * 150) for q in result.queries}
    assert share["near"] > 0.97 and share["middle"] < 0.65 and share["far"] < 0.65


def test_when_the_query_with_the_nearest_target_is_shut_down_the_next_one_binds() -> None:
    app = ps.App()
    chain(app, "s", 4000).output("near", delay="1 second", max_gap=2)
    chain(app, "t", 5000).output("far", delay="4 seconds")
    events = sorted(arriving([(30, 300)]) + arriving([(30, 300)], "t"), key=lambda e: e[1])
    result = evaluate(app, events, clock="virtual", scheduler="round_robin", shed={"policy": "random"})
    assert result.stats.shut_down == ("near",)
    late = [d.mean_s for now, d in periods(result) if 18 < now <= 30 and d.query == "far"]
    assert 2.5 < min(late) < max(late) < 4.4


def test_what_only_shut_down_queries_need_is_cut_where_it_begins() -> None:
    app = ps.App()
    shared = app.stream("s", "x int").delay(1000)
    shared.filter("x > 1").delay(3000).output("a")
    shared.filter("x > 2").output("b")
    network = optimize(app.network)
    load = with_stated_costs(LoadModel(network, {}, {"s": 100.0}))
    assert costliest(load, ()) == "a"
    keeper = Keeper(RandomShedding(), ("a",))
    made = keeper.place(Plan(network), load, 0.0, ROOM)
    ((at, drop),) = made.drops
    assert drop.rate == 1
    assert at.consumer in walk(network.query("a").root)
    assert at.consumer not in walk(network.query("b").root)
    assert cuts(network, network) == ()


def test_when_all_are_shut_down_nothing_more_is_asked_of_anybody() -> None:
    keeper = Keeper(Half(), ("q",))
    plan, model = loaded(9.0)
    assert keeper.place(plan, model, 9.0, ROOM).shut_down == ("q",)
    assert replace(plan.network, queries=()) == Network(streams=plan.network.streams)
