"""Drops on the arcs of a running lane: they come and go, disturb nothing, and every tuple is accounted for."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from penstock.lane.lanes import Lanes
from penstock.lane.rows import train_of
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import concat_trains
from penstock.plan.drops import Drop, Location, RandomDrop, SemanticDrop
from penstock.plan.expressions import Column, Literal
from penstock.plan.functions import call
from penstock.plan.network import Network, Query
from penstock.plan.nodes import Delay, Distinct
from penstock.plan.running import Plan, SetDrops, ShutDown
from penstock.plan.types import BIGINT
from tests.lane.helpers import S, above, collected, network, push, window

LOW, HIGH = above(S, 10), above(S, 50)
NETWORK = network(low=LOW, high=HIGH)
ROWS = [(i, i % 100, f"v{i % 7}") for i in range(1000)]
ALL = sum(a > 10 for _, a, _ in ROWS), sum(a > 50 for _, a, _ in ROWS)


def kept(location: Location, drop: Drop, *, pieces: int = 1, on: Network = NETWORK) -> tuple[int, int]:
    """How many rows each query delivers under one drop; what came in is what was kept and dropped."""
    lane = Lane(on, optimized=False)
    lane.adopt(Plan(on).apply(SetDrops(((location, drop),))))
    size = len(ROWS) // pieces
    for first in range(0, len(ROWS), size):
        push(lane, "s", ROWS[first : first + size], ROWS[first + size - 1][0] + 1, first)
    for counted in lane.snapshot().drops:
        assert counted.rows_in == counted.kept + counted.dropped
    low, high = (sum(collected(lane, q, S).values()) for q in ("low", "high"))
    return low, high


def test_a_drop_before_the_fan_out_takes_from_both_queries_and_one_on_a_branch_from_one() -> None:
    low, high = kept(Location(S), RandomDrop(0.5, seed=3))
    assert 0.4 * ALL[0] < low < 0.6 * ALL[0]
    assert 0.4 * ALL[1] < high < 0.6 * ALL[1]
    low, high = kept(Location(S, HIGH), RandomDrop(0.5, seed=3))
    assert low == ALL[0]
    assert 0.4 * ALL[1] < high < 0.6 * ALL[1]
    assert kept(Location(LOW, query="low"), RandomDrop(1.0)) == (0, ALL[1])


def test_a_random_drop_takes_the_same_tuples_however_time_is_cut() -> None:
    drop = RandomDrop(0.3, seed=9)
    assert kept(Location(S), drop) == kept(Location(S), drop, pieces=10)
    assert kept(Location(LOW), drop) == kept(Location(LOW), drop, pieces=100)


def test_a_semantic_drop_keeps_what_its_condition_names() -> None:
    keep = call(">", Column("a", BIGINT), Literal(80, BIGINT))
    assert kept(Location(S), SemanticDrop(keep, 0.8)) == (190, 190)


def test_the_arc_on_which_a_delay_box_lies_takes_drops_under_any_of_its_names() -> None:
    slow = above(Delay(S, 0.0), 50)
    on = network(low=LOW, high=slow)
    for location in (Location(S, slow.input), Location(slow.input), Location(slow.input, slow)):
        low, high = kept(location, RandomDrop(1.0), on=on)
        assert (low, high) == (ALL[0], 0)


def test_tuples_that_stay_in_a_sample_weigh_more() -> None:
    lane = Lane(NETWORK, optimized=False)
    lane.adopt(Plan(NETWORK).apply(SetDrops(((Location(S), RandomDrop(0.75, weighted=True)),))))
    push(lane, "s", ROWS, 1000)
    weight = concat_trains(lane.take("low")).weight
    assert weight is not None
    assert set(weight.tolist()) == {4.0}
    assert abs(weight.sum() - ALL[0]) < 0.3 * ALL[0]


def test_a_relation_loses_a_rows_end_with_its_beginning() -> None:
    w = window(S, 20)
    on = network(q=Distinct(w))
    lane = Lane(on, optimized=False)
    lane.adopt(Plan(on).apply(SetDrops(((Location(w), RandomDrop(0.5)),))))
    push(lane, "s", ROWS, 2000)
    counts: dict[object, int] = {}
    for (_, row), count in collected(lane, "q", S).items():
        counts[row] = counts.get(row, 0) + count
    assert set(counts.values()) == {0}


def test_counts_outlive_a_change_of_drops_and_a_copy_of_the_lane() -> None:
    lane = Lane(NETWORK, optimized=False)
    plan = Plan(NETWORK).apply(SetDrops(((Location(S), RandomDrop(0.5)),)))
    lane.adopt(plan)
    push(lane, "s", ROWS[:400], 400)
    lane = pickle.loads(pickle.dumps(lane))
    lane.adopt(plan)
    push(lane, "s", ROWS[400:700], 700, 400)
    lane.adopt(plan.apply(SetDrops(())))
    push(lane, "s", ROWS[700:], 1000, 700)
    (counted,) = lane.snapshot().drops
    assert (counted.rows_in, counted.reason) == (700, "random")
    assert sum(collected(lane, "low", S).values()) > ALL[0] - counted.dropped


def test_a_query_that_is_shut_down_delivers_nothing() -> None:
    lane = Lane(NETWORK, optimized=False)
    lane.adopt(Plan(NETWORK).apply(ShutDown(("low",))))
    push(lane, "s", ROWS, 1000)
    assert lane.snapshot().shut_down == ("low",)
    assert not lane.take("low")
    assert lane.take("high")


def test_drops_find_their_places_on_several_lanes() -> None:
    distinct = Distinct(window(LOW, 5))
    on = Network(queries=(Query("q", distinct), Query("low", LOW)))
    lanes = Lanes(on, 2, optimized=False)
    lanes.adopt(Plan(on).apply(SetDrops(((Location(LOW, distinct.input), RandomDrop(1.0)),))))
    rows = train_of(S.schema, [r[1:] for r in ROWS], [r[0] for r in ROWS], range(len(ROWS)), lanes.dictionaries)
    lanes.push("s", rows, 1000)
    lanes.run()
    assert not lanes.take("q")
    assert len(concat_trains(lanes.take("low"))) == ALL[0]


@pytest.mark.parametrize(
    "location", [Location(above(S, 1)), Location(S, above(S, 1)), Location(LOW, query="high"), Location(LOW, HIGH)]
)
def test_a_drop_that_has_no_place_in_the_network_is_refused(location: Location) -> None:
    with pytest.raises(AssertionError):
        Plan(NETWORK).apply(SetDrops(((location, RandomDrop(0.1)),)))


def test_a_plan_is_a_value() -> None:
    plan = Plan(NETWORK)
    changed = plan.apply(SetDrops(((Location(S), RandomDrop(0.5)),)), ShutDown(("low",)))
    assert (plan.number, plan.drops, changed.number) == (0, (), 2)
    assert replace(changed, number=0, drops=(), shut_down=()) == plan


def test_a_row_that_a_drop_took_does_not_leave_and_one_that_it_left_does_whatever_drops_come_and_go() -> None:
    w = window(S, 40)
    on = network(all=w, some=above(w, -1))
    lane = Lane(on, optimized=False)
    plan = Plan(on)
    content: dict[object, int] = {}
    exact: dict[object, int] = {}
    for step, rate in enumerate((0.0, 0.5, 0.9, 0.2, None, 0.7, None, None)):
        drops = () if rate is None else ((Location(w, on.query("some").root), RandomDrop(rate, seed=1)),)
        plan = plan.apply(SetDrops(drops))
        lane.adopt(plan)
        first = step * 50
        push(lane, "s", [(first + i, (first + i) % 3, "x") for i in range(50)], first + 50, first)
        for query, held in (("some", content), ("all", exact)):
            for (_, row), count in collected(lane, query, w).items():
                held[row] = held.get(row, 0) + count
        assert all(0 <= count <= exact[row] for row, count in content.items())
        for counted in lane.snapshot().drops:
            assert counted.rows_in == counted.kept + counted.dropped
    assert content == exact
