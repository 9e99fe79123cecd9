"""Filters that queries share: each query gets what its own chain would give it, in any order and with any train."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.control.loop import Decision
from penstock.cql import compile_script
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.filters import Profiling, allowed, filters_of, protectors
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, Profile, Reorder
from penstock.plan.shared_filters import shared_filters
from penstock.testing import evaluate, net

STREAM = "CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT, d STRING);\n"
CONDITIONS = ("a > 20", "a < 90", "b > 30", "b <> 50", "c > 10", "c < 40", "d RLIKE 'x[0-4]+y'", "d <> 'x7y'")
CALLED: list[int] = []


@ps.function(returns="boolean", name="shared_inverse")
def inverse(x: Any) -> Any:
    CALLED.extend(x.tolist())
    if (x == 0).any():
        raise ZeroDivisionError
    return 100 // x > 3


GUARDED = """CREATE STREAM s (a BIGINT, b BIGINT);
CREATE QUERY p AS SELECT a, b FROM s WHERE shared_inverse(a) AND b > 5;
CREATE QUERY q AS SELECT a, b FROM s WHERE a <> 0 AND shared_inverse(a);
CREATE QUERY r AS SELECT a, b FROM s WHERE b > 5 AND a <> 0;"""


def script(queries: int, seed: int) -> str:
    draw = random.Random(seed)
    chosen = [draw.sample(CONDITIONS, draw.randint(1, 4)) for _ in range(queries)]
    return STREAM + "\n".join(
        f"CREATE QUERY q{i} AS SELECT a, b, c FROM s WHERE {' AND '.join(c)};" for i, c in enumerate(chosen)
    )


def events(count: int, seed: int) -> list[Any]:
    draw = random.Random(seed)
    return [("s", i + 1, {"a": draw.randrange(100), "b": draw.randrange(100), "c": draw.choice((None, 5, 20, 60)),
                          "d": f"x{draw.randrange(10)}y"}) for i in range(count)]  # fmt: skip


@pytest.mark.parametrize("queries", [3, 9, 70])
@pytest.mark.parametrize("batches", [70, 1000])
def test_every_query_gets_what_it_gets_alone(queries: int, batches: int) -> None:
    text, given = script(queries, queries), events(3000, batches)
    alone = evaluate(text, given, batches=batches)
    shared = evaluate(text, given, batches=batches, filters="a-greedy")
    for i in range(queries):
        assert net(shared[f"q{i}"]) == net(alone[f"q{i}"])
    made = [d.proposal.change for d in shared.log if isinstance(d, Decision) and d.refused is None]
    assert any(isinstance(change, Reorder) for change in made), "there was something to order"


def lane_of(text: str) -> tuple[Lane, Plan]:
    network = optimize(compile_script(text))
    (group,) = shared_filters(network.nodes())
    plan = Plan(network).apply(Profile(group, Profiling(1.0)))
    lane = Lane(network, optimized=False)
    lane.adopt(plan)
    return lane, plan


def train(count: int, start: int, least: int) -> Train:
    rng = np.random.default_rng(start)
    columns = [Vector(rng.integers(least, 100, count)), Vector(rng.integers(0, 100, count))]
    return Train(columns, np.arange(start, start + count))


def test_a_filter_is_evaluated_once_for_all_queries() -> None:
    lane, plan = lane_of(GUARDED)
    (group,) = shared_filters(plan.network.nodes())
    wild = next(i for i, f in enumerate(filters_of(group)) if "inverse" in str(f))
    assert protectors(group)[wild] and not allowed(group, (wild, *(i for i in range(3) if i != wild)))
    CALLED.clear()
    lane.push("s", train(2000, 1, 1), 2001)
    lane.run()
    assert len(CALLED) <= 2 * 2000, "once for the queries, once to be profiled"
    (measured,) = lane.profiled()
    assert measured.node == group and measured.sampled == 2000


def test_rows_on_which_a_shared_filter_raises_are_set_aside_as_they_are_alone() -> None:
    """In query p nothing keeps a = 0 from the function, in query q something does."""
    given = [("s", i + 1, {"a": i % 7, "b": i % 11}) for i in range(500)]
    alone, shared = (evaluate(GUARDED, given, batches=100, filters=f) for f in (None, "a-greedy"))
    for query in "pqr":
        assert net(shared[query]) == net(alone[query])
    assert shared.stats.set_aside == alone.stats.set_aside != ()


def test_who_comes_with_another_train_asks_its_own_chain() -> None:
    lane, plan = lane_of(script(3, 5).replace("d RLIKE 'x[0-4]+y'", "a > 2").replace("d <> 'x7y'", "b > 3"))
    whole, _ = lane_of(script(3, 5).replace("d RLIKE 'x[0-4]+y'", "a > 2").replace("d <> 'x7y'", "b > 3"))
    whole.adopt(Plan(plan.network))
    rng = np.random.default_rng(3)
    for start in range(1, 4000, 1000):
        columns = [Vector(rng.integers(0, 100, 1000)) for _ in range(4)]
        for each in (lane, whole):
            each.push("s", Train(columns, np.arange(start, start + 1000)), start + 500)
            each.run()
    for name in ("q0", "q1", "q2"):
        left, right = (rows_of(each.take(name)) for each in (lane, whole))
        assert left == right != []


def rows_of(trains: list[Train]) -> list[Any]:
    return [
        row for t in trains for row in zip(t.ts.tolist(), *(c.values.tolist() for c in t.columns), strict=True)
    ]
