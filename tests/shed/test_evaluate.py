"""`evaluate(..., shed=...)`: a share of the load goes, promises outrank it, and everything is said."""

from __future__ import annotations

import random

import pytest

from penstock.control.loop import Decision
from penstock.errors import PenstockError
from penstock.shed import POLICIES
from penstock.testing import Element, Result, evaluate, net

SCRIPT = """
CREATE STREAM s (k INT, x DOUBLE);
CREATE STREAM t (k INT, x DOUBLE);
CREATE QUERY few WITH (loss = '100: 1, 50: 0.9, 0: 0') AS SELECT k, x FROM s WHERE x > 30;
CREATE QUERY more AS SELECT k, x + 1 AS z FROM s WHERE x > 50;
CREATE QUERY other AS SELECT k FROM t WHERE x < 80;
"""
AGGREGATE = SCRIPT + "CREATE QUERY n AS SELECT count(*) AS n FROM t [Range 10 Milliseconds Slide 5 Milliseconds];"


def events(count: int = 1500) -> list[tuple[str, int, dict[str, float]]]:
    drawn = random.Random(0)
    return [("st"[i % 2], i * 1000, {"k": drawn.randrange(5), "x": drawn.uniform(0, 100)}) for i in range(count)]


GIVEN = events()
EXACT = evaluate(SCRIPT, GIVEN)


def inside(found: list[Element], exact: list[Element]) -> bool:
    return all(count <= net(exact)[key] for key, count in net(found).items())


def worked(result: Result) -> int:
    """Elements that operators took in: at equal costs, the load."""
    return sum(o.rows_in for o in result.stats.operators)


@pytest.mark.parametrize("policy", [name for name, _ in POLICIES])
@pytest.mark.parametrize("lanes", [1, 2])
def test_the_share_of_the_load_that_must_go_goes(policy: str, lanes: int) -> None:
    result = evaluate(SCRIPT, GIVEN, shed={"policy": policy, "excess": 0.4}, batches=100, lanes=lanes, seed=5)
    assert worked(result) == pytest.approx((0.6 + result.stats.shortfall) * worked(EXACT), rel=0.05)
    assert all(inside(result[q], EXACT[q]) for q in result.queries)
    for drop in result.stats.drops:
        assert drop.rows_in == drop.kept + drop.dropped
    again = evaluate(SCRIPT, GIVEN, shed={"policy": policy, "excess": 0.4}, batches=[7, 500], lanes=3 - lanes, seed=5)
    if policy.startswith(("random", "input")):
        assert {q: net(again[q]) for q in again.queries} == {q: net(result[q]) for q in result.queries}


def test_no_excess_no_drop() -> None:
    for policy, _ in POLICIES:
        result = evaluate(SCRIPT, GIVEN, shed={"policy": policy, "excess": 0}, batches=100)
        assert {q: net(result[q]) for q in result.queries} == {q: net(EXACT[q]) for q in EXACT.queries}
        assert not result.stats.drops


def test_promises_outrank_the_excess_and_the_shortfall_is_said() -> None:
    guarded = SCRIPT.replace("QUERY few WITH (", "QUERY few WITH (max_gap = 5, ")
    result = evaluate(guarded, GIVEN, shed={"policy": "random", "excess": 0.9}, batches=100)
    assert result["few"] == EXACT["few"]
    assert result["more"] == []
    assert result.stats.shortfall == pytest.approx(0.9 - 1 + worked(result) / worked(EXACT), abs=0.02)
    assert result.stats.shortfall > 0.1
    exact = evaluate(AGGREGATE, GIVEN)
    result = evaluate(AGGREGATE, GIVEN, shed={"policy": "random", "excess": 0.5}, batches=100)
    assert inside(result["n"], exact["n"])


def test_watching_drops_nothing_and_says_what_it_would_do() -> None:
    watched = evaluate(SCRIPT, GIVEN, shed={"policy": "random", "excess": 0.5, "mode": "monitor"}, batches=500)
    assert {q: watched[q] for q in watched.queries} == {q: EXACT[q] for q in EXACT.queries}
    decisions = [d for d in watched.log if isinstance(d, Decision)]
    assert {d.refused for d in decisions} == {"shedding is watched only"}
    off = evaluate(SCRIPT, GIVEN, shed={"policy": "random", "excess": 0.5, "mode": "off"}, batches=500)
    assert not [d for d in off.log if isinstance(d, Decision)]
    assert off["few"] == EXACT["few"]


def test_the_reference_takes_the_keyword_and_gives_the_exact_answer() -> None:
    result = evaluate(SCRIPT, GIVEN, engine="reference", shed={"policy": "random", "excess": 0.5})
    assert net(result["few"]) == net(EXACT["few"])
    assert result.stats.shortfall == 0.5


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"policy": "rendom", "excess": 0.1}, "did you mean 'random'?"),
        ({"policy": "random", "excess": 1.5}, "is no share of the load"),
        ({"policy": "random", "exces": 0.5}, "unknown key of shed 'exces'"),
        ({"policy": "random", "excess": 0.5, "mode": "of"}, "unknown mode of shedding 'of'"),
    ],
)
def test_mistakes_are_said(wish: dict[str, object], said: str) -> None:
    with pytest.raises(PenstockError, match=said[:20]) as refused:
        evaluate(SCRIPT, GIVEN[:10], shed=wish)
    assert said in str(refused.value)
