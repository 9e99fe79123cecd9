"""Estimates and subset queries that share operators are sampled together, where the rules let the subset query be."""

from __future__ import annotations

import random
from math import sqrt

import numpy as np
import pytest

from penstock.cql import compile_script
from penstock.plan.rewrites import optimize
from penstock.shed.joint import companions
from penstock.testing import Result, evaluate, net

WINDOW = """
CREATE STREAM s (k INT, x DOUBLE);
CREATE QUERY e WITH (answer = 'estimate') AS SELECT k, sum(x) AS total FROM s [Range 20 Milliseconds] GROUP BY k;
CREATE QUERY q AS SELECT k FROM s [Range 20 Milliseconds];
"""
FILTER = """
CREATE STREAM s (k INT, x DOUBLE);
CREATE VIEW v AS SELECT k, x FROM s WHERE x > 10 AND x < 90;
CREATE QUERY e WITH (answer = 'estimate') AS SELECT count(*) AS n FROM v [Range 50 Milliseconds Slide 50 Milliseconds];
CREATE QUERY q AS SELECT k FROM v WHERE k > 0;
"""
DRAWN = random.Random(4)
GIVEN = [("s", i * 250, {"k": DRAWN.randrange(4), "x": DRAWN.uniform(0, 100)}) for i in range(4000)]


def sampled_at(result: Result) -> set[str]:
    return {str(d.location) for d in result.stats.drops if d.reason == "sampling" and d.dropped}


@pytest.mark.parametrize("script", [WINDOW, FILTER])
@pytest.mark.parametrize("policy", ["sampling", "auto"])
def test_what_both_share_is_sampled_for_both(script: str, policy: str) -> None:
    exact = evaluate(script, GIVEN)
    result = evaluate(script, GIVEN, shed={"policy": policy, "excess": 0.4}, batches=[500, 70], seed=1)
    assert sampled_at(result) == {"stream s"}
    assert sum(d.dropped for d in result.stats.drops) == pytest.approx(0.4 * len(GIVEN), rel=0.1)
    worked = [sum(o.rows_in for o in r.stats.operators) for r in (result, exact)]
    assert worked[0] == pytest.approx(0.6 * worked[1], rel=0.06)
    entered = [sum(n for n in net(r["q"]).values() if n > 0) for r in (result, exact)]
    assert entered[0] == pytest.approx(0.6 * entered[1], rel=0.12)
    if script is FILTER:
        whole = net(exact["q"])
        assert all(count <= whole.get(key, 0) for key, count in net(result["q"]).items())


def test_estimates_stay_unbiased_beside_a_query_that_goes_along() -> None:
    exact = [e.values["n"] for e in evaluate(FILTER, GIVEN)["e"]]
    runs = [evaluate(FILTER, GIVEN, shed={"policy": "sampling", "excess": 0.5}, seed=i)["e"] for i in range(12)]
    means = [float(np.mean([e.values["n"] for e in run])) for run in runs]
    assert abs(np.mean(means) - np.mean(exact)) < 4 * np.std(means) / sqrt(len(runs))


@pytest.mark.parametrize(
    ("query", "goes"),
    [
        ("SELECT k, x FROM v", True),
        ("SELECT DISTINCT k FROM v [Range 20 Milliseconds]", False),
        ("SELECT k, count(*) AS n FROM v [Range 5 Milliseconds Slide 5 Milliseconds] GROUP BY k", False),
        ("SELECT k FROM v [Rows 5]", False),
        ("SELECT k FROM s", False),
    ],
)
def test_who_goes_along(query: str, goes: bool) -> None:
    """Table 3.1 decides; a stream alone is no work that is shared."""
    script = FILTER.replace("SELECT k FROM v WHERE k > 0", query)
    assert bool(companions(optimize(compile_script(script)))) is goes
    valued = script.replace("CREATE QUERY q AS", "CREATE QUERY q WITH (value = 'k: 0..2 = 1') AS")
    assert not companions(optimize(compile_script(valued)))


def test_one_before_which_nothing_may_be_dropped_sees_every_tuple() -> None:
    script = FILTER.replace("SELECT k FROM v WHERE k > 0", "SELECT DISTINCT k FROM v [Range 20 Milliseconds]")
    result = evaluate(script, GIVEN, shed={"policy": "sampling", "excess": 0.2}, seed=1)
    assert "stream s" not in sampled_at(result)
    assert sampled_at(result)
