"""Window drops on Spark: whole windows go, before rows reach a lane where it is known that a batch goes."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.operators.drops.window_groups import group_of
from penstock.plan.schema import Schema
from penstock.spark import early
from penstock.spark.counting import Totals
from penstock.spark.drops import Counted
from penstock.testing import Result, evaluate, net
from tests.shed.test_window_shedding import GAPS, SCRIPT, longest_gap

_DRAWN = random.Random(7)
EVENTS = [("s", i * 800, {"k": _DRAWN.choice((0, 1, None)), "x": _DRAWN.uniform(0, 100)}) for i in range(1200)]
UNGROUPED = """
CREATE STREAM s (k INT, x DOUBLE);
CREATE QUERY q WITH (max_gap = 6) AS SELECT count(*) AS n, max(x) AS m
    FROM s [Range 20 Milliseconds Slide 20 Milliseconds];
"""


@pytest.mark.parametrize(("lanes", "excess"), [(1, 0.4), (2, 0.6)])
def test_windows_are_dropped_whole_and_gaps_kept(lanes: int, excess: float) -> None:
    exact = evaluate(SCRIPT, EVENTS)
    wish = {"policy": "window", "excess": excess}
    result = evaluate(SCRIPT, EVENTS, engine="spark", batches=300, lanes=lanes, shed=wish, seed=2)
    lane = evaluate(SCRIPT, EVENTS, batches=77, shed=wish, seed=2)
    assert result.stats.shut_down == lane.stats.shut_down
    for query in result.queries:
        assert net(result[query]) == net(lane[query])
        assert all(count <= net(exact[query]).get(key, 0) for key, count in net(result[query]).items())
        if query not in result.stats.shut_down:
            assert longest_gap(result[query], exact[query]) <= GAPS[query]
    assert sum(len(result[q]) for q in result.queries) < sum(len(exact[q]) for q in exact.queries)


def counting_at_gate(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the gate drops, batch by batch, from now on."""
    at_gate: list[int] = []
    count = Totals.dropped_at_gate

    def spy(totals: Totals, attempts: Any, drops: Any, counted: Counted) -> None:
        at_gate.append(sum(counted.dropped))
        count(totals, attempts, drops, counted)

    monkeypatch.setattr(Totals, "dropped_at_gate", spy)
    return at_gate


def dropped_before_operators(result: Result) -> dict[str, tuple[int, int]]:
    """By reason, what came to drops of streams and what they took."""
    counts: defaultdict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for d in result.stats.drops:
        if not d.location.node.inputs:
            came, went = counts[d.reason]
            counts[d.reason] = came + d.rows_in, went + d.dropped
    return dict(counts)


def test_what_a_running_batch_drops_goes_at_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    at_gate = counting_at_gate(monkeypatch)
    wish = {"policy": "window", "excess": 0.6}
    result = evaluate(UNGROUPED, EVENTS, engine="spark", batches=20, lanes=1, shed=wish, seed=2)
    lane = evaluate(UNGROUPED, EVENTS, batches=20, shed=wish, seed=2)
    assert net(result["q"]) == net(lane["q"])
    dropped = dropped_before_operators(result)
    assert dropped == dropped_before_operators(lane)
    assert sum(at_gate) > 0.5 * dropped["window"][1]


GROUPED = """
CREATE STREAM s (k STRING, x DOUBLE);
CREATE QUERY q WITH (max_gap = 6) AS SELECT k, count(*) AS n, max(x) AS m
    FROM s [Range 20 Milliseconds Slide 20 Milliseconds] GROUP BY k HAVING max(x) > 20;
"""


@pytest.mark.parametrize("lanes", [1, 3])
def test_what_running_batches_drop_of_groups_goes_at_the_gate(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    at_gate = counting_at_gate(monkeypatch)
    drawn = random.Random(1)
    events = [("s", i * 300, {"k": drawn.choice(("a", "b", None)), "x": drawn.uniform(0, 100)}) for i in range(3000)]
    wish = {"policy": "window", "excess": 0.6}
    result = evaluate(GROUPED, events, engine="spark", batches=40, lanes=lanes, shed=wish, seed=2)
    lane = evaluate(GROUPED, events, batches=40, shed=wish, seed=2)
    assert net(result["q"]) == net(lane["q"])
    assert dropped_before_operators(result) == dropped_before_operators(lane)
    assert sum(at_gate) > 0.5 * dropped_before_operators(result)["window"][1]


KINDS = {
    "i": ("int", [0, -1, 7, None, 1 << 31 - 1]),
    "b": ("bigint", [0, 1 << 62, -5, None, 1]),
    "d": ("double", [0.0, -0.0, float("nan"), None, 2.5]),
    "s": ("string", ["", "ab", "größer", None, "abcde"]),
    "t": ("boolean", [True, False, True, None, False]),
}


@pytest.mark.parametrize("keys", [*((k,) for k in KINDS), ("i", "s"), ("s", "d", "b")])
def test_the_gate_tells_groups_as_lanes_do(spark: SparkSession, keys: tuple[str, ...]) -> None:
    schema = ", ".join(f"{name} {kind}" for name, (kind, _) in KINDS.items())
    rows = list(zip(*(values for _, values in KINDS.values()), strict=True))
    types = dict(zip(KINDS, Schema.parse(schema).types, strict=True))
    frame = spark.createDataFrame(rows, schema).select(early.group_column([(k, types[k]) for k in keys]).alias("g"))
    chosen = [tuple(row[list(KINDS).index(k)] for k in keys) for row in rows]
    assert [r.g for r in frame.collect()] == [group_of(values, [types[k] for k in keys]) for values in chosen]
