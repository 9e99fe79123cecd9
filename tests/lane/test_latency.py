"""Latency QoS orders the work in a lane (Tatbul 2.1.4), in virtual time, and changes no result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import penstock as ps
from penstock.lane.clock import VirtualClock
from penstock.lane.runtime import Lane
from penstock.lane.schedulers import SCHEDULERS
from penstock.plan.latency import Latency, latency_of
from penstock.plan.network import Query
from penstock.plan.nodes import Source
from penstock.plan.schema import Schema
from penstock.shed.describe import allowed_drops
from penstock.stats.snapshot import Snapshot
from penstock.testing import Result, evaluate, net

Events = list[tuple[str, int, dict[str, Any]]]
STEEP, GENTLE = "0 seconds: 1.0, 1 second: 0", "0 seconds: 1.0, 60 seconds: 0"


def two_queries(first: dict[str, Any], second: dict[str, Any]) -> ps.App:
    """Two chains of two operators, 4 ms a tuple each."""
    app = ps.App()
    for stream, query, options in (("s", "first", first), ("t", "second", second)):
        app.stream(stream, "x int").delay(2000).filter("x >= 0").delay(2000).filter("x > 0").output(query, **options)
    return app


def coming(streams: Sequence[str], rate: float, until_s: float) -> Events:
    """As many tuples a second on each stream."""
    return [(s, round(i / rate * 1e6), {"x": i}) for i in range(1, round(rate * until_s) + 1) for s in streams]


def mean_s(result: Result, query: str) -> float:
    """The average response time of all results of a query."""
    seen = [d for e in result.log if isinstance(e, Snapshot) and e.batch for d in e.batch.delays if d.query == query]
    return sum(d.mean_s * d.results for d in seen) / sum(d.results for d in seen)


@pytest.mark.parametrize("steep_first", [True, False])
def test_the_query_whose_utility_falls_faster_answers_earlier_under_load(steep_first: bool) -> None:
    steep, gentle = ("first", "second") if steep_first else ("second", "first")
    app = two_queries(*({"latency": STEEP if q == steep else GENTLE} for q in ("first", "second")))
    events = coming("st", 200, 5)
    chosen, fifo = (evaluate(app, events, clock="virtual", scheduler=s) for s in (None, "fifo"))
    assert mean_s(chosen, steep) < 0.15 * mean_s(chosen, gentle)
    assert mean_s(chosen, steep) < 0.15 * mean_s(fifo, steep)
    for query in ("first", "second"):
        assert net(chosen[query]) == net(fifo[query])


def test_below_capacity_everybody_is_answered_at_once() -> None:
    result = evaluate(two_queries({"latency": STEEP}, {"latency": GENTLE}), coming("st", 80, 3), clock="virtual")
    assert max(mean_s(result, q) for q in ("first", "second")) < 0.05


def test_of_two_that_lose_nothing_yet_the_one_with_less_time_left_goes_first() -> None:
    app = two_queries({"latency": "30 seconds: 1, 31 seconds: 0"}, {"latency": "20 seconds: 1, 31 seconds: 0"})
    result = evaluate(app, coming("st", 200, 4), clock="virtual")
    assert mean_s(result, "second") < 0.2 * mean_s(result, "first")


def test_a_declared_delay_is_a_latency_and_a_query_without_either_comes_last() -> None:
    events = coming("st", 200, 4)
    for last in ({"latency": GENTLE}, {}):
        result = evaluate(two_queries({"delay": "100 ms"}, last), events, clock="virtual", controller="off",
                          scheduler="latency")  # fmt: skip
        assert mean_s(result, "first") < 0.2 * mean_s(result, "second")


def test_a_shared_operator_works_for_the_most_urgent_of_its_queries() -> None:
    app = ps.App()
    shared = app.stream("s", "x int").delay(1000).filter("x >= 0")
    shared.delay(1000).filter("x > 0").output("steep", latency=STEEP)
    shared.delay(4000).filter("x > 1").output("gentle", latency=GENTLE)
    app.stream("t", "x int").delay(3000).filter("x > 0").output("free")
    result = evaluate(app, coming("st", 200, 5), clock="virtual")
    assert mean_s(result, "steep") < 0.1 < mean_s(result, "gentle") < mean_s(result, "free")


SCRIPT = """CREATE STREAM s (k INT, x INT); CREATE STREAM t (k INT, y INT);
    CREATE QUERY pairs WITH (latency = '0 seconds: 1, 1 second: 0') AS
        ISTREAM(SELECT a.x, b.y FROM s [Range 200 Milliseconds] AS a, t [Rows 20] AS b WHERE a.k = b.k);
    CREATE QUERY counts WITH (latency = '1 second: 1, 9 seconds: 0') AS
        SELECT k, count(*) AS n FROM s [Range 1 Second Slide 500 Milliseconds] GROUP BY k;
    CREATE QUERY latest AS SELECT k, max(y) AS y FROM t [Range 300 Milliseconds] GROUP BY k;
    CREATE QUERY missing WITH (delay = '1 second') AS
        SELECT k FROM s [Range 1 Second] EXCEPT SELECT k FROM t [Rows 9]"""


def test_no_scheduler_changes_a_result() -> None:
    events = [(name, i * 7_000 + (name == "t"), {"k": i * 7 % 5, ("x" if name == "s" else "y"): i * i % 97})
              for i in range(1, 300) for name in ("s", "t")]  # fmt: skip
    plain = evaluate(SCRIPT, events)
    for name in SCHEDULERS:
        found = [evaluate(SCRIPT, events, scheduler=name, batches=batches) for batches in (None, 37)]
        for result in (*found, evaluate(SCRIPT, events, scheduler=name, clock="virtual", controller="off")):
            assert all(net(result[q]) == net(plain[q]) for q in plain.queries), name


def test_the_fall_of_utility() -> None:
    source = Source("s", Schema.parse("x int"))
    assert latency_of(Query("q", source)) is None
    steps = Latency(((1.0, 1.0), (2.0, 0.2), (10.0, 0.0)))
    assert [steps.slope(s) for s in (0.0, 1.0, 5.0, 99.0)] == pytest.approx([0, 0.8, 0.8, 0.8])
    assert [steps.slack_s(s) for s in (0.0, 1.5, 99.0)] == [1.0, 0.5, float("inf")]
    assert Latency(((1.0, 1.0), (1.0, 0.0))).slope(2.0) == float("inf")
    assert Latency(((1.0, 0.5),)).slope(2.0) == 0.0


def test_queries_that_come_and_go_take_their_urgency_along() -> None:
    app = two_queries({"latency": STEEP}, {"latency": GENTLE})
    first, second = app.network.queries
    lane = Lane(app.network, scheduler="latency", clock=VirtualClock())
    told = lambda: {q for slot in lane._graph.order for q in slot.latencies}  # noqa: E731
    assert told() == {latency_of(first), latency_of(second)}
    lane.remove("first")
    assert told() == {latency_of(second)}


def test_check_says_what_a_latency_does_and_where() -> None:
    declared, plain = two_queries({"latency": STEEP}, {}).network.queries
    said = [[line for line in allowed_drops(q) if "latency" in line] for q in (declared, plain)]
    assert [len(lines) for lines in said] == [1, 0]
