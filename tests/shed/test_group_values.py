"""Whole groups go before an aggregate, those that are worth least first: what is delivered of the others is exact."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cql import compile_script
from penstock.lane.events import Arrival
from penstock.lane.lanes import Lanes
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Session, cuts, run
from penstock.plan.drops import Placed, WindowDrop
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, SetDrops
from penstock.shed.group_values import Groups, group_valuing
from penstock.shed.window_shedding import VALUED, WindowShedding
from penstock.stats.load import LoadModel, Work
from penstock.testing import Result, evaluate, net

SCRIPT = """
CREATE STREAM s (k STRING, n INT, x DOUBLE);
CREATE QUERY q WITH (value = "k: 'a' = 1.0, 'b' = 0.5, else = 0.1") AS
    SELECT k, count(*) AS c, max(x) AS m FROM s [Range 10 Milliseconds Slide 10 Milliseconds] WHERE x > 5 GROUP BY k;
CREATE QUERY r WITH (value = 'n: 0..5 = 0.1, 5..10 = 1.0') AS
    SELECT n, k, count(*) AS c FROM s [Range 20 Milliseconds Slide 10 Milliseconds] WHERE x > 6 GROUP BY n, k;
"""
DRAWN = random.Random(5)
GIVEN = [
    ("s", i * 150, {"k": DRAWN.choice(("a", "b", "c", "d", None)), "n": DRAWN.randrange(10), "x": DRAWN.uniform(0, 99)})
    for i in range(8000)
]
EXACT = evaluate(SCRIPT, GIVEN)


def delivered(result: Result, query: str, column: str) -> dict[object, float]:
    """Of each group's results the share that was delivered."""
    got, whole = (Counter(e.values[column] for e in r[query]) for r in (result, EXACT))
    return {value: got[value] / count for value, count in whole.items()}


@pytest.mark.parametrize("policy", ["semantic", "auto"])
@pytest.mark.parametrize("lanes", [1, 2])
def test_groups_that_are_worth_least_go_and_the_others_are_exact(policy: str, lanes: int) -> None:
    result = evaluate(SCRIPT, GIVEN, shed={"policy": policy, "excess": 0.4}, batches=[700, 90], lanes=lanes, seed=2)
    for query in result.queries:
        whole = net(EXACT[query])
        assert all(count <= whole.get(key, 0) for key, count in net(result[query]).items())
    letters, numbers = delivered(result, "q", "k"), delivered(result, "r", "n")
    assert letters["a"] > 0.95
    assert max(letters["c"], letters["d"], letters[None]) < 0.6
    assert min(numbers[n] for n in range(5, 10)) > max(numbers[n] for n in range(5))
    worked = [sum(o.rows_in for o in r.stats.operators) for r in (result, EXACT)]
    assert worked[0] < 0.68 * worked[1]
    alone = evaluate(SCRIPT, GIVEN, shed={"policy": policy, "excess": 0.4}, seed=2)
    assert {q: net(alone[q]) for q in alone.queries} == {q: net(result[q]) for q in result.queries}


def test_more_of_the_value_is_kept_than_where_windows_go_whatever_they_are_worth() -> None:
    worth = {"a": 1.0, "b": 0.5}
    blind = SCRIPT.replace("""WITH (value = "k: 'a' = 1.0, 'b' = 0.5, else = 0.1")""", "WITH (max_gap = 10)")
    kept = []
    for script in (SCRIPT, blind):
        result = evaluate(script, GIVEN, shed={"policy": "window", "excess": 0.4}, seed=2)
        kept.append(sum(worth.get(str(e.values["k"]), 0.1) for e in result["q"]))
    assert kept[0] > 1.2 * kept[1]


NETWORK = optimize(compile_script(SCRIPT.replace("x DOUBLE)", "x DOUBLE) WITHIN 0 SECONDS")))


def test_who_values_groups() -> None:
    script = """CREATE STREAM s (k INT, x INT);
        CREATE QUERY a WITH (value = 'k: 0..5 = 1') AS SELECT k, count(*) AS n FROM s [Range 2 Slide 2] GROUP BY k;
        CREATE QUERY b WITH (value = 'n: 0..5 = 1') AS SELECT k, count(*) AS n FROM s [Range 3 Slide 3] GROUP BY k;
        CREATE QUERY c WITH (value = 'k: 0..5 = 1') AS SELECT k, x FROM s;
        CREATE QUERY d WITH (value = 'k: 0..5 = 1', max_gap = 5) AS
            SELECT k, count(*) AS n FROM s [Range 5 Slide 5] GROUP BY k;"""
    assert group_valuing(optimize(compile_script(script))) == {"a"}


def test_the_least_worth_goes_first() -> None:
    nodes = [n for n in NETWORK.nodes() if n.inputs]
    load = LoadModel(NETWORK, {n: Work(1e-3, 0.5) for n in nodes}, {"s": 1000.0})
    drops = WindowShedding(0, VALUED).shed(Plan(NETWORK), load, 0.3 * load.load()).drops
    for _, drop in drops:
        assert isinstance(drop, WindowDrop)
        rates = [rate for _, rate in drop.classes]
        assert rates == sorted(rates, reverse=True)


def test_the_loss_function_and_the_rates_agree() -> None:
    groups = Groups((), (0.5, 0.3, 0.2), (0.1, 0.3, 0.6))
    assert groups.loss(1.0)(0.5) == pytest.approx(0.9)
    assert groups.loss(1.0)(0.2) == pytest.approx(0.6)
    assert groups.loss(0.5)(0.75) == pytest.approx(0.95)


@given(st.lists(st.lists(st.sampled_from((0.0, 0.5, 1.0)), min_size=2, max_size=2), min_size=1, max_size=4),
       st.sampled_from((1, 13, 60, None)), st.sampled_from((1, 2, 3)), st.integers(0, 99))  # fmt: skip
@settings(max_examples=20, deadline=None)
def test_whatever_classes_go_while_plans_change_results_are_exact(
    schedule: list[list[float]], size: int | None, lanes: int, seed: int
) -> None:
    """A group that comes back, comes back with a whole window."""
    load = LoadModel(NETWORK, {n: Work(1e-3, 0.5) for n in NETWORK.nodes() if n.inputs}, {"s": 1000.0})
    placed = WindowShedding(0, VALUED).shed(Plan(NETWORK), load, 0.3 * load.load()).drops
    drawn = random.Random(seed)
    rows = [(drawn.choice(("a", "b", "c", None)), drawn.randrange(10), drawn.uniform(0, 20)) for _ in range(200)]
    given_ = tuple(Arrival("s", i * 1000, i, row) for i, row in enumerate(rows))
    exact = run(Job(NETWORK, NETWORK.streams, (), given_), Lane(NETWORK, optimized=False)).elements
    engine = Lane(NETWORK, optimized=False) if lanes == 1 else Lanes(NETWORK, lanes, optimized=False)
    session = Session(Job(NETWORK, NETWORK.streams, (), given_, size), engine)
    for number, batch in enumerate(cuts(given_, size)):
        engine.adopt(Plan(NETWORK).apply(SetDrops(with_rates(placed, schedule[number % len(schedule)]))))
        session.batch(batch)
    session.end()
    for query, found in session.outcome.elements.items():
        more = Counter((e.ts, e.row) for e in found) - Counter((e.ts, e.row) for e in exact[query])
        assert not more, f"{query}: {more}"


def with_rates(placed: Sequence[Placed], rates: Sequence[float]) -> tuple[Placed, ...]:
    found: list[Placed] = []
    for at, drop in placed:
        assert isinstance(drop, WindowDrop)
        classes = tuple((c, rate) for (c, _), rate in zip(drop.classes, [*rates, 0.0], strict=False))
        found.append((at, replace(drop, classes=classes)))
    return tuple(found)
