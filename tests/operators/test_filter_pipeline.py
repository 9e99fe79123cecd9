"""Pipelined filters: conditions and probes into changing relations, against the naive reference, cut anywhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cql import compile_script
from penstock.lane.events import Inputs, arrivals
from penstock.lane.reference import Element
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, run
from penstock.operators.base import Event
from penstock.plan.expressions import Column, Literal, conjunction
from penstock.plan.functions import call
from penstock.plan.node import Kind, walk
from penstock.plan.nodes import DStream, Filter, FilterPipeline, IStream, SemiJoin, Window
from penstock.plan.rewrites import optimize_node
from penstock.plan.types import BIGINT
from penstock.plan.windows import Range, Rows
from penstock.testing import evaluate, net
from tests.operators.harness import check, source, table

S, T, U = source("S", "a bigint, b bigint"), source("T", "c bigint"), source("U", "d bigint, e bigint")
R = table("R", "f bigint")
A, B = Column("0.a", BIGINT), Column("0.b", BIGINT)
NODE = FilterPipeline(
    S,
    (Window(T, Rows(3)), Window(U, Range(2)), R),
    (
        call(">", A, Literal(0, BIGINT)),
        call("=", A, Column("1.c", BIGINT)),
        conjunction((call("=", A, Column("2.d", BIGINT)), call("=", Column("2.e", BIGINT), B))),
        call("=", B, Column("3.f", BIGINT)),
    ),
)
values = st.one_of(st.none(), st.integers(0, 3))


def history(width: int) -> st.SearchStrategy[list[Event]]:
    rows = st.lists(st.tuples(st.integers(0, 12), st.tuples(*([values] * width))), max_size=14)
    return rows.map(lambda found: [Event(t, i, row) for i, (t, row) in enumerate(sorted(found, key=lambda p: p[0]))])


@given(history(2), history(1), history(2), history(1), st.lists(st.integers(0, 14), max_size=4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_it_is_what_the_reference_says(s: list[Event], t: list[Event], u: list[Event], r: list[Event],
                                       cuts: list[int], stream: bool) -> None:  # fmt: skip
    fed = {"S": s, "T": t, "U": u, "R": r}
    check(IStream(NODE) if stream else NODE, fed, cuts=sorted(set(cuts)))
    check(DStream(NODE), fed, cuts=sorted(set(cuts)))


def test_semijoins_over_now_become_filters_of_one_pipeline_and_others_stay_above() -> None:
    now = Window(Filter(S, call(">", Column("a", BIGINT), Literal(1, BIGINT))), Range(0))
    equal, unequal = call("=", A, Column("1.c", BIGINT)), call("<", A, Column("1.c", BIGINT))
    t = Window(T, Rows(3))
    root = IStream(SemiJoin(SemiJoin(SemiJoin(now, t, equal), t, equal, True, True), Window(T, Range(9)), equal))
    found = optimize_node(root)
    (pipeline,) = [n for n in walk(found) if isinstance(n, FilterPipeline)]
    (above,) = [n for n in walk(found) if isinstance(n, SemiJoin)]
    assert pipeline.kind is Kind.RELATION and len(pipeline.filters) == 3 and pipeline.left == S
    assert above.negated and above.left == pipeline
    left = [n for n in walk(optimize_node(SemiJoin(now, t, unequal))) if isinstance(n, FilterPipeline)]
    assert not left
    assert optimize_node(found) == found


SCRIPT = """
CREATE STREAM s (a INT, b INT); CREATE STREAM t (c INT); CREATE STREAM u (d INT); CREATE RELATION r (f INT);
CREATE QUERY q AS SELECT a, b FROM s
    WHERE b > 2 AND a IN (SELECT c FROM t [Rows 20]) AND b IN (SELECT d FROM u [Rows 20])
    AND a IN (SELECT f FROM r)
"""


def given_events(count: int) -> list[tuple[str, int, dict[str, int]]]:
    events = [("r", 0, {"f": v}) for v in range(0, 10, 2)]
    for i in range(1, count):
        events.append(("s", i, {"a": i * 7 % 10, "b": i * 3 % 11}))
        if i % 5 == 0:
            events += [("t", i, {"c": i % 9}), ("u", i, {"d": i // 40 % 11})]
    return events


def test_probes_and_conditions_in_any_order_give_what_semijoins_give() -> None:
    events = given_events(2500)
    network = compile_script(SCRIPT)
    inputs = Inputs(network)
    streams = [replace(s, within_us=0) for s in inputs.streams.values()]
    job = Job(network, streams, list(inputs.relations.values()), arrivals(inputs, events))
    wanted = lane_net(run(job, Lane(network, optimized=False)).elements["q"])
    assert wanted
    for name in ("a-greedy", "sweep", "independent", "local-swaps", "optimal"):
        for lanes, batches in ((1, 100), (2, 70), (3, None)):
            found = net(evaluate(SCRIPT, events, filters=name, lanes=lanes, batches=batches)["q"])
            assert {(ts, row): n for (ts, row), n in found.items()} == wanted


def lane_net(elements: list[Element]) -> dict[tuple[int, tuple[object, ...]], int]:
    return dict(Counter((e.ts, tuple(e.row)) for e in elements))


def test_they_give_the_reference() -> None:
    events = given_events(200)
    wanted = net(evaluate(SCRIPT, events, engine="reference")["q"])
    assert wanted
    assert net(evaluate(SCRIPT, events, filters="a-greedy", batches=9, lanes=2)["q"]) == wanted
