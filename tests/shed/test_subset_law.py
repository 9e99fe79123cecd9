"""The law of shedding: whatever is dropped where the rules allow it, what is delivered is a subset of the exact answer,
while plans change from batch to batch; input is kept and dropped at every drop."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from penstock.lane.lanes import Lanes
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Session, cuts, run
from penstock.plan.drops import Location, Placed, RandomDrop, SemanticDrop
from penstock.plan.expressions import Column
from penstock.plan.functions import call
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.nodes import Table
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, SetDrops
from penstock.shed.allowed import Allowed
from penstock.stats.load import takers
from tests.law.cases import Case, cases
from tests.shed.subset import beyond, entries, with_entries

CASES = 150
MANY = int(os.environ.get("PENSTOCK_LAW_CASES", "5000"))
_LAW = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))


def allowed_places(network: Network) -> list[Location]:
    """Every place in the network at which a drop may stand."""
    allowed, arcs = Allowed.of(network), takers(network.nodes())
    found = [Location(n) for n in network.nodes() if not isinstance(n, Table)]
    found += [Location(n, c, i) for n, taken in arcs.items() for c, i in taken]
    found += [Location(q.root, query=q.name) for q in network.queries]
    return [at for at in found if allowed.why_not(at) is None]


@st.composite
def plans(draw: st.DrawFn, network: Network) -> tuple[Placed, ...]:
    """A few drops on allowed places: random, or by a value."""
    places = allowed_places(network)
    chosen = draw(st.lists(st.sampled_from(places), max_size=4, unique=True)) if places else []
    return tuple((at, _drop(draw, at.node)) for at in chosen)


def _drop(draw: st.DrawFn, node: Node) -> RandomDrop | SemanticDrop:
    numeric = [f for f in node.schema if f.type.numeric]
    if numeric and draw(st.booleans()):
        f = draw(st.sampled_from(numeric))
        bound = draw(st.sampled_from([g for g in numeric if g.type == f.type]))
        compared = draw(st.sampled_from(("<", ">=")))
        return SemanticDrop(call(compared, Column(f.name, f.type), Column(bound.name, f.type)), 0.5)
    return RandomDrop(draw(st.sampled_from((0.2, 0.5, 0.8, 1.0))), draw(st.integers(0, 3)))


def shed(case: Case, network: Network, schedule: Sequence[tuple[Placed, ...]], size: int, lanes: int) -> None:
    """Runs a case under one plan after another, and asserts the law for every query."""
    exact_network = optimize(with_entries(network))
    job = Job(exact_network, case.streams, case.relations, case.given)
    exact = run(job, Lane(exact_network, optimized=False)).elements
    engine = Lane(network, optimized=False) if lanes == 1 else Lanes(network, lanes, optimized=False)
    session = Session(Job(network, case.streams, case.relations, case.given, size), engine)
    plan = Plan(network)
    for number, batch in enumerate(cuts(case.given, size)):
        plan = plan.apply(SetDrops(schedule[number % len(schedule)]))
        engine.adopt(plan)
        session.batch(batch)
    session.end()
    for drop in engine.snapshot().drops:
        assert drop.rows_in == drop.kept + drop.dropped
        event("dropped" if drop.dropped else "nothing dropped")
    for query in network.queries:
        found = session.outcome.elements[query.name]
        more = beyond(query, found, exact[query.name], exact.get(entries(query.name), ()))
        assert not more, f"{query.name} under {[[(str(at), d) for at, d in p] for p in schedule]}: {more}"


@given(cases(), st.data())
@_LAW
def test_what_is_delivered_is_a_subset(case: Case, data: st.DataObject) -> None:
    network = optimize(case.network)
    schedule = data.draw(st.lists(plans(network), min_size=1, max_size=3))
    shed(case, network, schedule, data.draw(st.integers(1, 12)), data.draw(st.sampled_from((1, 1, 2))))


@pytest.mark.slow
@given(cases(), st.data())
@settings(_LAW, max_examples=MANY, phases=[Phase.explicit, Phase.generate, Phase.shrink], derandomize=False)
def test_what_is_delivered_is_a_subset_at_length(case: Case, data: st.DataObject) -> None:
    network = optimize(case.network)
    schedule = data.draw(st.lists(plans(network), min_size=1, max_size=3))
    shed(case, network, schedule, data.draw(st.integers(1, 12)), data.draw(st.sampled_from((1, 1, 2))))
