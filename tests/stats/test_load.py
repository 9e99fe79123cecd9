"""Load coefficients and the load of a network (Tatbul 3.3.1), and how they are learnt from snapshots."""

from __future__ import annotations

import pytest

from penstock.lane.runtime import Lane
from penstock.plan.drops import Location, RandomDrop
from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Source, Union
from penstock.plan.schema import Schema
from penstock.stats.forgetting import Forgetting
from penstock.stats.load import LoadModel, Work
from penstock.stats.snapshot import OperatorStatistics, Snapshot, StreamStatistics
from tests.lane.helpers import S, above, network, push

I1, I2 = (Source(f"i{n}", Schema.parse("a int")) for n in (1, 2))


def operator(below: Node, number: int) -> Delay:
    """A box that differs from others over the same input."""
    return Delay(below, number / 1000)


def test_equation_3_1_a_flat_query() -> None:
    """L = c1 + s1 c2 + s1 s2 c3."""
    first = operator(I1, 1)
    second = operator(first, 2)
    third = operator(second, 3)
    work = {first: Work(2.0, 0.5), second: Work(3.0, 0.4), third: Work(10.0, 1.0)}
    model = LoadModel(Network(queries=(Query("q", third),)), work, {"i1": 7.0})
    assert model.coefficient(Location(I1)) == pytest.approx(2 + 0.5 * 3 + 0.5 * 0.4 * 10)
    assert model.coefficient(Location(first, second)) == pytest.approx(3 + 0.4 * 10)
    assert model.load() == pytest.approx(7 * model.coefficient(Location(I1)))
    assert model.rate(Location(second)) == pytest.approx(7 * 0.5 * 0.4)


def figure_3_2() -> LoadModel:
    """Two queries, three paths from I1 and one from I2, with a fan-out and a union: the coefficients of the inputs are
    the figure's; the costs inside are ours, since the drawing is lost."""
    shared = operator(I1, 1)
    alone = operator(shared, 2)
    both = Union((shared, operator(I2, 3)))
    last = operator(both, 4)
    top = operator(shared, 5)
    queries = (Query("q1", Union((alone, top))), Query("q2", last))
    work = {
        shared: Work(10.0, 0.5), alone: Work(8.0, 1.0), top: Work(10.0, 1.0), both: Work(5.0, 0.8),
        last: Work(12.5, 1.0), operator(I2, 3): Work(3.75, 1.0),
    }  # fmt: skip
    return LoadModel(Network(queries=queries), work, {"i1": 10.0, "i2": 20.0})


def test_figure_3_2_two_inputs_with_coefficients_26_5_and_18_75_are_640_cycles_a_time_unit() -> None:
    model = figure_3_2()
    assert model.coefficient(Location(I1)) == pytest.approx(26.5)
    assert model.coefficient(Location(I2)) == pytest.approx(18.75)
    assert model.load() == pytest.approx(26.5 * 10 + 18.75 * 20) == pytest.approx(640)


def test_a_drop_saves_the_coefficient_of_its_arc_for_each_tuple_that_it_takes() -> None:
    model = figure_3_2()
    for location in (Location(I1), Location(I2), Location(operator(I1, 1), operator(operator(I1, 1), 2))):
        saved = model.load() - model.load_under(((location, RandomDrop(0.3)),))
        assert saved == pytest.approx(0.3 * model.rate(location) * model.coefficient(location))


def snapshot(number: int, rows: int, out: int, busy_s: float, ts: int, node: Node, queued: int = 0) -> Snapshot:
    stream = StreamStatistics("i1", rows, 0, 0, 0, 0, ts, None)
    return Snapshot(number, float(number), (OperatorStatistics(node, rows, out, 1, busy_s, queued, 0),), (stream,))


def test_what_was_measured_long_ago_is_forgotten() -> None:
    node = operator(I1, 0)
    seen = Forgetting(Network(queries=(Query("q", node),)), half_life_s=1.0)
    for i in range(11):
        seen.see(snapshot(i, 100 * i, 50 * i, 1.0 * i, 1_000_000 * i, node))
    assert seen.model().of(node) == Work(pytest.approx(0.01), pytest.approx(0.5), 0)
    assert seen.model().rates["i1"] == pytest.approx(100)
    for i in range(1, 11):
        seen.see(snapshot(10 + i, 1000 + 10 * i, 500 + 10 * i, 10 + i, 1_000_000 * (10 + i), node, queued=3))
    after = seen.model()
    assert after.of(node) == Work(pytest.approx(0.1, rel=0.02), pytest.approx(1.0, rel=0.02), 3)
    assert after.rates["i1"] == pytest.approx(10, rel=0.02)
    assert after.queued_load() == pytest.approx(3 * after.of(node).cost_s)


def test_what_a_lane_measures_is_its_operators_selectivity_and_the_streams_share() -> None:
    low, high = above(S, 10), above(S, 50)
    on = network(low=low, high=high)
    lane = Lane(on, optimized=False)
    seen = Forgetting(on)
    for batch in range(3):
        push(lane, "s", [(1000 * batch + i, i % 100, "x") for i in range(1000)], 1000 * (batch + 1), 1000 * batch)
        seen.see(lane.snapshot())
    model = seen.model()
    assert model.of(low).selectivity == pytest.approx(0.89)
    assert model.of(high).selectivity == pytest.approx(0.49)
    assert model.of(low).cost_s > 0
