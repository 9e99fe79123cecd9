"""The invariance law: with no drops, the net count of every (timestamp, tuple) in a query's result is the same whatever
the batch cuts, the scheduler, the number of lanes, sharing, the rewrites, the moments at which queries come and go, and
whether the naive reference or the lane computed it."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from penstock.lane import reference
from penstock.lane.lanes import Lanes
from penstock.lane.reference import Element
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Session, cuts, run
from penstock.plan.network import Network
from penstock.plan.windows import BEGIN, END
from tests.law.cases import Case, Way, cases, sizes, ways
from tests.law.compare import difference

CASES = 200
MANY = int(os.environ.get("PENSTOCK_LAW_CASES", "5000"))
_LAW = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))


def obeys(case: Case, way: Way, expected: dict[str, list[Element]], until: int = END) -> None:
    """Asserts that running `case` in this way gives what the reference gives."""
    network = replace(case.network, sharing=way.sharing)
    how = {"scheduler": way.scheduler, "train_rows": way.train_rows, "optimized": way.optimized}
    engine = Lane(network, **how) if way.lanes == 1 else Lanes(network, way.lanes, **how)
    job = Job(network, case.streams, case.relations, case.given, way.sizes, until, way.heartbeats, way.sweeps)
    found = run(job, engine).elements
    for query in case.network.queries:
        wanted = [e for e in expected[query.name] if e.ts < until]
        apart = difference(found[query.name], wanted, case.given)
        assert not apart, f"{query.name} under {way}, lane less reference: {apart}"


def law(case: Case, way: Way) -> None:
    """The law for one case: run whole, and in some other way."""
    for node in case.network.nodes():
        event(type(node).__name__)
    expected = reference.evaluate(case.network, case.streams, case.given)
    obeys(case, Way(), expected)
    obeys(case, way, expected)
    last = max((a.ts for a in case.given), default=BEGIN)
    obeys(case, replace(way, lanes=1), expected, last + 1)


@given(cases(), ways())
@_LAW
def test_the_law(case: Case, way: Way) -> None:
    law(case, way)


@pytest.mark.slow
@given(cases(), ways())
@settings(_LAW, max_examples=MANY, phases=[Phase.explicit, Phase.generate, Phase.shrink], derandomize=False)
def test_the_law_at_length(case: Case, way: Way) -> None:
    law(case, way)


def changing(case: Case, cut: int | tuple[int, ...], moments: list[int], how: dict[str, object]) -> None:
    """Runs a case whose queries are added at these batches, one after another, with sharing switched at every batch;
    each sees what is stamped after its birth. The first is taken away before the end."""
    network = replace(case.network, queries=())
    lane = Lane(network, **how)  # type: ignore[arg-type]
    session = Session(Job(case.network, case.streams, case.relations, case.given, cut), lane)
    session.queries.clear()
    births: dict[str, int] = {}
    waiting = list(zip(sorted(moments), case.network.queries, strict=False))
    for number, batch in enumerate(cuts(case.given, cut)):
        while waiting and waiting[0][0] <= number:
            query = waiting.pop(0)[1]
            births[query.name] = lane.add(query)
            session.queries[query.name] = query.root.schema
        lane.share(on=number % 2 == 0)
        session.batch(batch)
    ended = dict.fromkeys(births, END)
    if len(births) > 1:
        first = next(iter(births))
        ended[first] = lane.progress(first)
        del session.queries[first]
        lane.remove(first)
    session.end()
    for query in case.network.queries:
        if query.name in births:
            alone = Network(queries=(query,))
            end, birth = ended[query.name], births[query.name]
            expected = reference.evaluate(alone, case.streams, case.given, end, birth)[query.name]
            apart = difference(session.outcome.elements[query.name], expected, case.given)
            assert not apart, f"{query.name} born at {birth}, ended at {end}: {apart}"


CHANGES = {
    "cut": sizes,
    "moments": st.lists(st.integers(0, 4), min_size=1, max_size=4),
    "how": st.sampled_from(({}, {"scheduler": "chain", "train_rows": 2}, {"scheduler": "greedy", "train_rows": 1})),
}


@given(case=cases(), **CHANGES)
@_LAW
def test_queries_that_come_and_go(
    case: Case, cut: int | tuple[int, ...], moments: list[int], how: dict[str, object]
) -> None:
    changing(case, cut, moments, how)
