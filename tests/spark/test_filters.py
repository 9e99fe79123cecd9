"""Filters at the gate: in the plan's order on the plan that Spark runs, profiled on samples, with the same results."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.adapt.filter_orders import FilterOrders
from penstock.control.loop import Decision, Loop
from penstock.cql import compile_script
from penstock.plan.filters import Profiling
from penstock.plan.running import Plan, Profile, Reorder
from penstock.spark.calibration import sampled, unit_costs
from penstock.spark.filters import Ordered, at_gate
from penstock.spark.gate import gate
from penstock.spark.kit import _session
from penstock.spark.ordering import Ordering
from penstock.spark.stages import Staged, staged
from penstock.testing import evaluate, net

SCRIPT = """
CREATE STREAM s (a INT, b INT, c INT, d STRING);
CREATE QUERY q AS SELECT a, b FROM s WHERE a > 11 AND b > 22 AND c > 33 AND d RLIKE 'x[0-9]*y.z'
"""
ORDERS = ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1))
MARKS = ("> 11", "> 22", "> 33", "RLIKE|rlike")


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return _session()


@pytest.fixture(scope="module")
def cut() -> Staged:
    return staged(compile_script(SCRIPT), 2)


def arriving(spark: SparkSession, cut: Staged, count: int = 4000) -> DataFrame:
    columns = ["id as _ts", "id as _arrival", "id as _seq", "cast(id % 100 as int) as a", "cast(id % 37 as int) as b",
               "cast(id % 91 as int) as c", "concat('x', id, repeat('0', 300), 'yaz') as d"]  # fmt: skip
    return gate(cut, {"s": spark.range(count).selectExpr(*columns)}, {0})


def conditions(frame: DataFrame) -> str:
    """The filters of the plan that Spark runs, in their order."""
    plan = frame._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    return " && ".join(re.findall(r"Filter (.*)", plan))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rate", [None, 0.01])
def test_the_order_of_the_plan_survives_catalyst(
    spark: SparkSession, cut: Staged, order: tuple[int, ...], rate: float | None
) -> None:
    (mine,) = at_gate(cut)
    plan = Plan(cut.network).apply(Reorder(mine.node, order))
    if rate is not None:
        plan = plan.apply(Profile(mine.node, Profiling(rate)))
    shown = conditions(Ordered([mine], plan)(arriving(spark, cut)))
    places = [re.search(mark, shown) for mark in MARKS]
    assert all(places), shown
    found = sorted(range(4), key=lambda i: places[i].start())  # type: ignore[union-attr]
    assert tuple(found) == order, shown


def test_a_sampled_row_carries_the_verdict_of_every_filter(spark: SparkSession, cut: Staged) -> None:
    (mine,) = at_gate(cut)
    plan = Plan(cut.network).apply(Profile(mine.node, Profiling(0.05)))
    rows = Ordered([mine], plan)(arriving(spark, cut, 20_000)).collect()
    sampled = [r for r in rows if r["_verdicts"] is not None]
    assert 700 < len(sampled) < 1300
    for row in sampled:
        i = row["_ts"]
        drops = [i % 100 <= 11, i % 37 <= 22, i % 91 <= 33, False]
        assert row["_verdicts"] & 15 == sum(1 << f for f, d in enumerate(drops) if d)
        assert row["_entry"] == (-2 if any(drops) else 0)
    assert all(r["_entry"] == 0 for r in rows if r["_verdicts"] is None)


def test_costs_are_measured_on_a_sample(spark: SparkSession, cut: Staged) -> None:
    (mine,) = at_gate(cut)
    table = sampled(arriving(spark, cut), mine)
    assert table is not None and sampled(arriving(spark, cut, 100), mine) is None
    measuring, jobs = unit_costs(spark, table, mine), 0
    try:
        while True:
            next(measuring)
            jobs += 1
    except StopIteration as ended:
        costs = ended.value
    assert jobs <= 16 and costs[3] > max(costs[:3]), "a regular expression costs more than comparisons do"


def test_measuring_costs_takes_a_bite_of_each_batch(spark: SparkSession, cut: Staged) -> None:
    loop = Loop(Plan(cut.network), [FilterOrders.over("a-greedy", cut.network.nodes())])
    ordering, rows = Ordering(cut, loop), arriving(spark, cut)
    batches = 0
    while not ordering.calibrated:
        ordering.calibrate(rows)
        batches += 1
    (costs,) = ordering.costs.values()
    assert len(costs) == 4 and batches > 3


def events(count: int) -> list[Any]:
    rng = random.Random(4)
    found = []
    for i in range(count):
        a = rng.randrange(100)
        c = rng.randrange(100) if rng.random() < 0.3 else a
        found.append(("s", i + 1, {"a": a, "b": rng.randrange(100), "c": c, "d": f"x{i}y\rz" if i % 50 else "x1yaz"}))
    return found


@pytest.mark.parametrize("name", ["a-greedy", "sweep"])
def test_results_are_those_of_lanes_and_orders_change(name: str) -> None:
    given = events(6000)
    wanted = net(evaluate(SCRIPT, given)["q"])
    found = evaluate(SCRIPT, given, engine="spark", lanes=2, batches=1500, filters=name)
    assert net(found["q"]) == wanted
    profiled = [s for s in found.log if getattr(s, "profiles", ())]
    assert profiled, "sampled rows came to the lanes"
    if name == "a-greedy":
        changes = [d for d in found.log if isinstance(d, Decision) and isinstance(d.proposal.change, Reorder)]
        assert changes


def test_drops_beside_profiled_filters_drop_the_same_rows() -> None:
    """Sampled rows that a filter drops are rows of no entry, to drops too."""
    given, shed = events(2000), {"policy": "random", "excess": 0.3}
    alone = evaluate(SCRIPT, given, engine="spark", batches=1000, shed=shed)
    beside = evaluate(SCRIPT, given, engine="spark", batches=1000, shed=shed, filters="a-greedy")
    assert net(beside["q"]) == net(alone["q"])
    counts = [[(d.rows_in, d.dropped) for d in r.stats.drops] for r in (alone, beside)]
    assert counts[0] == counts[1] != []


PARTLY = """
CREATE STREAM s (a INT, b INT, c INT, d STRING);
CREATE QUERY q AS SELECT a, b FROM s WHERE a + 1 > 12 AND b > 22 AND c > 33 AND a % 3 <> 0 AND d RLIKE 'x[0-9]*y.z'
"""


def test_the_gate_orders_what_catalyst_can_say_and_the_lanes_ask_the_rest() -> None:
    given = events(6000)
    (mine,) = at_gate(staged(compile_script(PARTLY), 2))
    assert mine.places == (1, 2, 4) and not mine.whole
    found = evaluate(PARTLY, given, engine="spark", lanes=2, batches=1500, filters="a-greedy")
    assert net(found["q"]) == net(evaluate(PARTLY, given)["q"])
    words = [w for s in found.log for p in getattr(s, "profiles", ()) for w in p.bits.tolist()]
    assert any(w & 0b10110 for w in words), "of what the gate asks there are verdicts"
    assert any(w & 0b01001 for w in words), "and of what the lanes ask"
