"""The law of window drops: whatever they drop, what is delivered is in the exact answer, and no query misses more than
its gap in a row; whatever the cuts and lanes, they drop the same."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from penstock.lane.lanes import Lanes
from penstock.lane.reference import Element
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Session, cuts, run
from penstock.operators.drops import window_kernel as kernel
from penstock.operators.drops.window_decider import Decider
from penstock.plan.drops import Location, Placed
from penstock.plan.nodes import Source, WindowAggregate
from penstock.plan.running import Plan, SetDrops
from tests.shed.window_cases import Case, broken, cases, drops

CASES = 200
MANY = int(os.environ.get("PENSTOCK_LAW_CASES", "10000"))
_LAW = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))


def deciders(engine: Lane | Lanes) -> list[Decider]:
    lanes = [engine] if isinstance(engine, Lane) else engine._all()
    return [d for lane in lanes for d in lane._valves.windows._deciders.values()]


def evenly(decider: Decider) -> bool:
    """True where the coins came up with p: in each block of a group's batches but for one."""
    tossed, came_up = (int(n) for n in decider.counters[[kernel.TOSSED, kernel.HIT]])
    blocks = tossed / kernel.BLOCK + 2 * len(decider._names)
    return abs(came_up - decider.drop.rate * tossed) <= blocks + 1e-6 * tossed


def under(case: Case, schedule: Sequence[tuple[Placed, ...]], size: int | None, lanes: int) -> dict[str, list[Element]]:
    """What is delivered under one plan after another, one a batch. Where the plan stays, the share of the batches that
    are to go is p's, at every drop."""
    network = case.network
    engine = Lane(network, optimized=False) if lanes == 1 else Lanes(network, lanes, optimized=False)
    session = Session(Job(network, network.streams, (), case.given, size), engine)
    plan = Plan(network)
    for number, batch in enumerate(cuts(case.given, size)):
        plan = plan.apply(SetDrops(schedule[number % len(schedule)]))
        engine.adopt(plan)
        session.batch(batch)
    session.end()
    for drop in engine.snapshot().drops:
        assert drop.rows_in == drop.kept + drop.dropped
    if len(schedule) == 1:
        assert all(map(evenly, deciders(engine)))
    return session.outcome.elements


def _whole(at: Location) -> bool:
    """True where no cut into fragments can lie between the place and its aggregates."""
    return isinstance(at.node, Source) or isinstance(at.consumer, WindowAggregate)


def check(case: Case, data: st.DataObject) -> None:
    exact = run(Job(case.network, case.network.streams, (), case.given), Lane(case.network, optimized=False)).elements
    schedule = data.draw(st.lists(drops(case), min_size=1, max_size=3))
    size, lanes = data.draw(st.sampled_from((None, 1, 7, 30))), data.draw(st.sampled_from((1, 1, 2, 3)))
    found = under(case, schedule, size, lanes)
    for query in case.network.queries:
        wrong = broken(case, query, found[query.name], exact[query.name])
        assert not wrong, f"{query.name} under {[[(str(at), d) for at, d in p] for p in schedule]}: {wrong}"
    dropped = sum(map(len, exact.values())) - sum(map(len, found.values()))
    event("dropped" if dropped else "nothing dropped")
    if len(schedule) == 1 and all(_whole(at) for at, _ in schedule[0]):
        again = under(case, schedule, data.draw(st.sampled_from((None, 3, 50))), 1)
        for name in found:
            assert sorted(map(repr, again[name])) == sorted(map(repr, found[name]))


@given(cases(), st.data())
@_LAW
def test_windows_are_delivered_whole_and_no_gap_is_too_long(case: Case, data: st.DataObject) -> None:
    check(case, data)


@given(cases(), st.data())
@settings(_LAW, max_examples=25)
def test_a_restart_changes_nothing(case: Case, data: st.DataObject) -> None:
    """The state with what is owed to each group survives being written down and read again, after any batch."""
    network, placed = case.network, data.draw(drops(case))
    found = []
    for restarts in (False, True):
        lane = Lane(network, optimized=False)
        lane.adopt(Plan(network).apply(SetDrops(placed)))
        session = Session(Job(network, network.streams, (), case.given, 9), lane)
        for batch in cuts(case.given, 9):
            session.batch(batch)
            if restarts:
                session.engine = pickle.loads(pickle.dumps(session.engine))
        session.end()
        found.append({name: sorted(map(repr, elements)) for name, elements in session.outcome.elements.items()})
    assert found[0] == found[1]


@pytest.mark.slow
@given(cases(), st.data())
@settings(_LAW, max_examples=MANY, phases=[Phase.explicit, Phase.generate, Phase.shrink], derandomize=False)
def test_windows_are_delivered_whole_and_no_gap_is_too_long_at_length(case: Case, data: st.DataObject) -> None:
    check(case, data)
