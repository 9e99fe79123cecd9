"""Windows over rows (Tatbul 4.10.2): the same law, with drops right before their aggregates, and where they may not
stand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.lane.reference import Element
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, run
from penstock.plan.drops import Location, Placed, WindowDrop
from penstock.plan.expressions import Column, Literal
from penstock.plan.functions import call
from penstock.plan.network import Network, Query, StreamDefinition
from penstock.plan.node import Node
from penstock.plan.nodes import AggregateCall, Delay, Filter, Map, Source, Union, WindowAggregate
from penstock.plan.rewrites import optimize
from penstock.plan.types import BIGINT, INT
from penstock.plan.window_reach import reach
from penstock.plan.windows import SlideRange, SlideRows
from penstock.shed.window_rules import common
from penstock.testing import evaluate
from tests.shed.test_window_law import under
from tests.shed.window_cases import SCHEMA, Case, arrivals, places

S = Source("s0", SCHEMA)
OTHER = Map(S, tuple((n, Column(n, SCHEMA.type_of(n))) for n in ("j", "k", "x")))


def rows(below: Node, count: int, slide: int, origin: int = 0, by: tuple[str, ...] = ()) -> WindowAggregate:
    calls = (AggregateCall("n", "count", None, BIGINT), AggregateCall("m", "sum", "x", BIGINT))
    return WindowAggregate(below, SlideRows(count, slide, origin, by), by, calls)


def case(random: Random) -> Case:
    """One or two queries that count rows; no two tuples have the same x."""
    by = random.choice(((), ("k",), ("k", "j"), ("j", "k")))
    queries = []
    for i in range(random.choice((1, 1, 2))):
        slide = random.randint(1, 4)
        below = random.choice((S, Delay(S, 0.0), OTHER))
        queries.append(
            Query(f"q{i}", rows(below, slide + random.choice((0, 0, 1, 3)), slide, random.randint(-3, 3), by))
        )
    network = optimize(Network((StreamDefinition("s0", SCHEMA, within_us=0),), (), tuple(queries)))
    given_ = [a._replace(row=(*a.row[:2], 3 * i * i + i)) for i, a in enumerate(arrivals(random, ["s0"]))]
    return Case(network, {q.name: random.choice((1, 2, 5, 8)) for q in queries}, tuple(given_))


def drops(case: Case, random: Random) -> tuple[Placed, ...]:
    chosen: list[Placed] = []
    covered: set[str] = set()
    there = places(case.network)
    for at in random.sample(there, len(there)):
        found = reach(case.network, at)
        grid, names = common(found.needs), {n.query for n in found.needs}
        most = grid.batch([case.gaps[n.query] for n in found.needs])
        if most and not names & covered:
            covered |= names
            rate, batch = random.choice((0.0, 0.3, 0.9)), random.choice((most, 1))
            chosen.append((at, WindowDrop(grid.size, grid.slide, rate, batch, found.keys, grid.origin,
                                          random.randint(0, 4), rows=True)))  # fmt: skip
    return tuple(chosen)


def longest(query: Query, found: Sequence[Element], exact: Sequence[Element]) -> int:
    """The most results of a group in a row that are missing; what is not in the exact answer is an error."""
    there = Counter((e.ts, e.row) for e in found)
    assert not there - Counter((e.ts, e.row) for e in exact)
    root = query.root
    assert isinstance(root, WindowAggregate)
    at = [root.schema.index(key) for key in root.keys]
    missing: defaultdict[tuple[object, ...], int] = defaultdict(int)
    most = 0
    for e in exact:
        group = tuple(e.row[i] for i in at)
        missing[group] = 0 if there[e.ts, e.row] else missing[group] + 1
        most = max(most, missing[group])
    return most


@given(st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_the_law_for_windows_over_rows(seed: int) -> None:
    random = Random(seed)
    made = case(random)
    exact = run(Job(made.network, made.network.streams, (), made.given), Lane(made.network, optimized=False)).elements
    schedule = [drops(made, random), *(random.choice((drops(made, random), ())) for _ in range(random.choice((0, 2))))]
    found = under(made, schedule, random.choice((None, 1, 7, 30)), random.choice((1, 1, 2, 3)))
    for query in made.network.queries:
        assert longest(query, found[query.name], exact[query.name]) <= made.gaps[query.name]
    if len(schedule) == 1:
        again = under(made, schedule, random.choice((None, 3, 50)), 1)
        assert {q: Counter(map(repr, r)) for q, r in again.items()} == {
            q: Counter(map(repr, r)) for q, r in found.items()
        }


def test_what_nobody_counts_may_not_stand_between() -> None:
    counted = rows(Filter(S, call(">", Column("x", INT), Literal(1, INT))), 4, 4)
    merged = rows(Union((S, OTHER_STREAM)), 4, 4)
    for root, below in ((counted, counted.input), (merged, merged.input)):
        network = Network(queries=(Query("q", root),))
        assert reach(network, Location(S)).why is not None
        assert reach(network, Location(below, root, 0)).why is None
    nested = WindowAggregate(rows(S, 4, 2), SlideRange(10, 10), (), (AggregateCall("n", "count", None, BIGINT),))
    assert reach(Network(queries=(Query("q", nested),)), Location(S)).why is not None


OTHER_STREAM = Source("s1", SCHEMA)


@pytest.mark.parametrize("excess", [0.3, 0.6])
def test_the_policy_drops_windows_over_rows(excess: float) -> None:
    script = """
        CREATE STREAM s (k INT, x INT);
        CREATE QUERY q WITH (max_gap = 4) AS
            SELECT k, sum(x) AS t FROM s [Partition By k Rows 5 Slide 5] GROUP BY k;
    """
    events = [("s", i, {"k": i % 3, "x": i * i}) for i in range(6000)]
    exact = evaluate(script, events)
    result = evaluate(script, events, batches=777, shed={"policy": "window", "excess": excess}, seed=1)
    assert {str(e) for e in result["q"]} < {str(e) for e in exact["q"]}
    worked = [sum(o.rows_in for o in r.stats.operators) for r in (result, exact)]
    assert worked[0] == pytest.approx((1 - excess + result.stats.shortfall) * worked[1], rel=0.05)
    assert not result.stats.shut_down
