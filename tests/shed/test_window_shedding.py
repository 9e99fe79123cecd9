"""The policy of window drops: how much goes, what each query loses, and who is shut down."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from penstock.cql import compile_script
from penstock.plan.drops import Location, WindowDrop
from penstock.plan.network import Network, Query
from penstock.plan.node import walk
from penstock.plan.nodes import Delay, Source, WindowAggregate
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.plan.schema import Schema
from penstock.plan.window_reach import reach
from penstock.plan.windows import SlideRange
from penstock.shed.window_cost import early, savings
from penstock.shed.window_rules import Grid, common
from penstock.shed.window_shedding import WindowShedding
from penstock.stats.load import LoadModel, Work
from penstock.testing import Element, Result, evaluate, net

SCRIPT = """
CREATE STREAM s (k INT, x DOUBLE);
CREATE QUERY a WITH (max_gap = 5) AS SELECT k, count(*) AS n, sum(x) AS t
    FROM s [Range 10 Milliseconds Slide 10 Milliseconds] GROUP BY k;
CREATE QUERY b WITH (max_gap = 8) AS SELECT k, max(x) AS n
    FROM s [Range 20 Milliseconds Slide 10 Milliseconds] WHERE x > 20 GROUP BY k HAVING max(x) > 50;
CREATE QUERY c WITH (max_gap = 4) AS SELECT k, sum(n) AS n
    FROM (SELECT k, count(*) AS n FROM s [Range 10 Milliseconds Slide 10 Milliseconds] GROUP BY k)
         [Range 50 Milliseconds Slide 50 Milliseconds] GROUP BY k;
"""
GAPS = {"a": 5, "b": 8, "c": 4}
_DRAWN = random.Random(0)
GIVEN = [("s", i * 400, {"k": _DRAWN.randrange(3), "x": _DRAWN.uniform(0, 100)}) for i in range(8000)]
EXACT = evaluate(SCRIPT, GIVEN)


def longest_gap(found: list[Element], exact: list[Element]) -> int:
    """The most results of a group in a row that are missing."""
    there = {(e.timestamp, e.values["k"]) for e in found}
    missing: defaultdict[object, int] = defaultdict(int)
    longest = 0
    for e in sorted(exact, key=lambda e: e.timestamp):
        group = e.values["k"]
        missing[group] = 0 if (e.timestamp, group) in there else missing[group] + 1
        longest = max(longest, missing[group])
    return longest


def worked(result: Result) -> int:
    """Elements that operators took in: at equal costs, the load."""
    return sum(o.rows_in for o in result.stats.operators)


@pytest.mark.parametrize("excess", [0.1, 0.4, 0.65])
def test_the_excess_goes_and_promises_are_kept(excess: float) -> None:
    result = evaluate(SCRIPT, GIVEN, shed={"policy": "window", "excess": excess}, batches=300, seed=3)
    for query in result.queries:
        assert all(count <= net(EXACT[query]).get(key, 0) for key, count in net(result[query]).items())
        if query not in result.stats.shut_down:
            assert longest_gap(result[query], EXACT[query]) <= GAPS[query]
        else:
            assert result[query] == []
    assert worked(result) == pytest.approx((1 - excess + result.stats.shortfall) * worked(EXACT), rel=0.06)
    for drop in result.stats.drops:
        assert drop.rows_in == drop.kept + drop.dropped
    again = evaluate(SCRIPT, GIVEN, shed={"policy": "window", "excess": excess}, batches=[900, 7], lanes=2, seed=3)
    assert {q: net(again[q]) for q in again.queries} == {q: net(result[q]) for q in result.queries}
    assert again.stats.shut_down == result.stats.shut_down


def test_queries_whose_bounds_cannot_be_met_are_shut_down_the_most_costly_first() -> None:
    result = evaluate(SCRIPT, GIVEN, shed={"policy": "window", "excess": 0.95}, batches=300, seed=3)
    network = optimize(compile_script(SCRIPT))
    seen = {o.node: o.rows_in for o in EXACT.stats.operators}
    own = {q: sum(seen.get(n, 0) for n in walk(network.query(q).root)) for q in GAPS}
    gone = result.stats.shut_down
    assert gone
    assert min(own[q] for q in gone) >= max((own[q] for q in GAPS if q not in gone), default=0)


S = Source("s", Schema.parse("k int, x double"))


def load_of(window: SlideRange, *roots: float, rate: float = 1000.0) -> tuple[LoadModel, WindowAggregate]:
    """A stream, an aggregate, and delays before and behind that cost so much a tuple."""
    before, behind = roots
    first = Delay(S, before)
    aggregate = WindowAggregate(first, window, (), ())
    last = Delay(aggregate, behind)
    work = {aggregate: Work(1e-9, 1 / int(window.slide)), first: Work(before, 1.0), last: Work(behind, 1.0)}
    query = Query("q", last, (("max_gap", 10),))
    return LoadModel(Network(queries=(query,)), work, {"s": rate}), aggregate


def test_example_4_9_2_what_a_batch_leaves_out() -> None:
    batch, size, slide = 10, 30, 10
    length, alone = (batch - 1) * slide + size, (batch + 1) * slide - size
    assert (length, alone) == (120, 80)
    assert length - 2 * (size - slide) == alone
    assert early(Grid(0, slide, size, (1,)), batch) == alone / (batch * slide)
    assert early(Grid(0, 1, 100, (1,)), batch) == 0.0


@pytest.mark.parametrize(("slide", "predicted"), [(100, 0.20), (1, 0.40)])
def test_example_4_11_3_drop_at_a_quarter_over_capacity(slide: int, predicted: float) -> None:
    """Delays of 5 ms before and after; a tumbling window sheds tuples early, one that slides by 1 only results."""
    load, _ = load_of(SlideRange(100, slide), 0.005, 0.005)
    shed = WindowShedding().shed(Plan(load.network), load, 0.2 * load.load())
    drops = [d for _, d in shed.drops if isinstance(d, WindowDrop)]
    assert [round(d.rate, 2) for d in drops] == [pytest.approx(predicted, abs=0.011)]


def test_the_place_is_the_earliest_where_it_saves_most() -> None:
    for slide, at in ((100, S), (1, None)):
        load, aggregate = load_of(SlideRange(100, slide), 0.005, 0.005)
        shed = WindowShedding().shed(Plan(load.network), load, 0.1 * load.load())
        assert len(shed.drops) == 1
        found = reach(load.network, Location(S))
        grid = common(found.needs)
        gain = savings(load, [Location(S)], found, grid, 10)
        late = savings(load, [Location(aggregate.input, aggregate, 0)], found, grid, 10)
        assert gain > late if at is S else gain == late
        assert isinstance(aggregate.window, SlideRange)


def test_no_drop_where_the_scaled_batch_is_zero() -> None:
    slow, fast = WindowAggregate(S, SlideRange(70, 70), (), ()), WindowAggregate(S, SlideRange(1, 1), (), ())
    network = Network(queries=(Query("slow", slow, (("max_gap", 9),)), Query("fast", fast, (("max_gap", 9),))))
    load = LoadModel(network, {slow: Work(1.0, 0.1), fast: Work(1.0, 1.0)}, {"s": 1.0})
    shed = WindowShedding().shed(Plan(network), load, 1.0)
    assert all(location.consumer is not None for location, _ in shed.drops)
    assert len(shed.drops) == 2 or shed.saved >= 1.0
