"""Delay targets kept in queues: a lane on a virtual clock, where only what delay boxes state takes time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.control.loop import Decision
from penstock.control.targets import judged, targets
from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.lane.clock import VirtualClock
from penstock.plan.running import SetDrops
from penstock.stats.batches import DelayStatistics
from penstock.stats.snapshot import Snapshot
from penstock.testing import Result, evaluate

Events = list[tuple[str, int, dict[str, Any]]]


def chain(app: ps.App, stream: str, cost_us: float, boxes: int = 4) -> Any:
    """A flat query: `boxes` operators that cost `cost_us` a tuple together."""
    box = app.stream(stream, "x int")
    for _ in range(boxes):
        box = box.delay(cost_us / boxes)
    return box


def arriving(rates: list[tuple[float, float]], stream: str = "s") -> Events:
    """(until, tuples a second), one stretch after another."""
    now, events = 0.0, []
    for until_s, rate in rates:
        while now < until_s:
            now += 1 / rate
            events.append((stream, round(now * 1e6), {"x": len(events)}))
    return events


def periods(result: Result) -> Iterator[tuple[float, DelayStatistics]]:
    """When each control period ended, and the response times of the results in it."""
    for event in result.log:
        if isinstance(event, Snapshot) and event.batch is not None:
            yield from ((event.now_s, d) for d in event.batch.delays)


def test_a_declared_delay_is_kept_at_nearly_twice_the_capacity_and_little_more_is_lost_than_must_be() -> None:
    app = ps.App()
    chain(app, "s", 5000).output("q", delay="2 seconds")
    events = arriving([(5, 150), (45, 380)])
    result = evaluate(app, events, clock="virtual", scheduler="round_robin")
    seen = [d for now, d in periods(result) if now > 15]
    assert max(d.p99_s for d in seen) < 2.4
    assert float(np.mean([d.mean_s for d in seen])) == pytest.approx(1.93, abs=0.12)
    worked = len(result["q"]) * 0.005
    assert worked > 0.97 * (45 - 5) + 150 * 5 * 0.005
    before = [d for now, d in periods(result) if now <= 5]
    assert max(d.largest_s for d in before) < 0.05


def test_nothing_is_shed_below_capacity() -> None:
    app = ps.App()
    chain(app, "s", 5000).output("q", delay="2 seconds")
    events = arriving([(20, 160)])
    result = evaluate(app, events, clock="virtual")
    assert len(result["q"]) == len(events)
    assert not result.stats.drops


def test_shedding_ends_with_the_burst_and_results_are_complete_again() -> None:
    app = ps.App()
    chain(app, "s", 5000).output("q", delay="2 seconds")
    events = arriving([(5, 100), (20, 800), (40, 100)])
    delivered = {e.values["x"] for e in evaluate(app, events, clock="virtual")["q"]}
    after = [e[2]["x"] for e in events if e[1] > 25e6]
    assert delivered.issuperset(after)


def test_the_nearest_target_binds_and_the_query_that_can_afford_it_loses() -> None:
    app = ps.App()
    cheap = chain(app, "s", 4000)
    cheap.output("strict", delay="1 second", loss="100: 1.0, 90: 0.1, 0: 0")
    chain(app, "t", 4000).output("patient", delay="10 seconds", loss="100: 1.0, 10: 0.95, 0: 0")
    events = sorted(arriving([(30, 150)]) + arriving([(30, 150)], "t"), key=lambda e: e[1])
    result = evaluate(app, events, clock="virtual", scheduler="round_robin", shed={"policy": "random"})
    late = [d.p99_s for now, d in periods(result) if 18 < now <= 30 and d.query == "strict"]
    assert max(late) < 1.25
    assert len(result["strict"]) > 0.97 * 30 * 150
    assert len(result["patient"]) < 0.8 * 30 * 150


def test_off_and_monitor_drop_nothing_and_monitor_says_what_would_go() -> None:
    app = ps.App()
    chain(app, "s", 5000).output("q", delay="1 second")
    events = arriving([(8, 400)])
    off = evaluate(app, events, clock="virtual", controller="off")
    watched = evaluate(app, events, clock="virtual", shed={"mode": "monitor", "policy": "random"})
    assert len(off["q"]) == len(watched["q"]) == len(events)
    decisions = [d for d in watched.log if isinstance(d, Decision)]
    assert {d.refused for d in decisions} == {"shedding is watched only"}


def test_the_drop_rate_is_calm_while_the_input_is() -> None:
    app = ps.App()
    chain(app, "s", 5000).output("q", delay="2 seconds")
    result = evaluate(app, arriving([(60, 350)]), clock="virtual")
    settled = [e.proposal.change for e in result.log if isinstance(e, Decision) and 40 < e.snapshot <= 120]
    rates = [sum(drop.rate for _, drop in c.drops) for c in settled if isinstance(c, SetDrops)]
    changes = [b - a for a, b in pairwise(rates)]
    assert max(map(abs, changes)) < 0.12
    assert sum(a * b < 0 for a, b in pairwise(changes)) <= 40


@pytest.mark.parametrize(("keywords", "said"), [
    ({"controller": "pid"}, "unknown controller 'pid'"),
    ({"clock": "sundial"}, "unknown clock 'sundial'"),
    ({"clock": "virtual", "shed": {"excess": 0.3, "policy": "random"}}, "excess cannot say it too"),
])  # fmt: skip
def test_mistakes_are_said(keywords: dict[str, Any], said: str) -> None:
    app = ps.App()
    chain(app, "s", 10).output("q", delay="1 second")
    with pytest.raises(PenstockError, match=said):
        evaluate(app, arriving([(1, 10)]), **keywords)


def test_a_controller_without_a_target_is_a_mistake_and_a_clock_is_none() -> None:
    app = ps.App()
    chain(app, "s", 10).output("q")
    events = arriving([(1, 10)])
    with pytest.raises(PenstockError, match="no query declares a delay"):
        evaluate(app, events, controller="seamless")
    assert len(evaluate(app, events, clock=VirtualClock())["q"]) == len(events)


def test_the_clock_changes_no_result_where_nothing_is_shed() -> None:
    script = """CREATE STREAM s (x INT, g INT);
        CREATE QUERY q AS SELECT g, count(*) AS n FROM s [Range 2 Seconds Slide 1 Second] GROUP BY g"""
    events = [("s", i * 10_000, {"x": i, "g": i % 3}) for i in range(1, 700)]
    plain, paced = evaluate(script, events), evaluate(script, events, clock="virtual")
    assert paced["q"] == plain["q"]


def test_targets_are_read_and_judged_in_the_measure_of_the_nearest() -> None:
    network = compile_script("""CREATE STREAM s (a INT); CREATE QUERY q WITH (delay = '500 ms') AS SELECT a FROM s;
        CREATE QUERY r WITH (delay = '1 minute') AS SELECT a FROM s; CREATE QUERY free AS SELECT a FROM s""")
    assert targets(network) == {"q": 0.5, "r": 60.0}
    slow = [DelayStatistics("r", 1, 30.0, 30.0, 90.0, 90.0), DelayStatistics("free", 1, 99.0, 99.0, 99.0, 99.0)]
    found = judged(slow, targets(network))
    assert found is not None and (found.mean_s, found.p99_s) == (0.25, 0.75)
