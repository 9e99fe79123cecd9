"""A lane: shared operators and stores, queries that come and go while it runs, sharing switched (Babu 2.3.1)."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError
from penstock.lane.runtime import Lane
from penstock.plan.expressions import TRUE, Column
from penstock.plan.functions import call
from penstock.plan.network import Network, Query, RelationDefinition
from penstock.plan.node import Node
from penstock.plan.nodes import Filter, IStream, Join, Table, Union, Window
from penstock.plan.types import BIGINT
from penstock.plan.windows import BEGIN, END, Rows
from tests.lane.helpers import S, T, above, collected, network, push, train, window

ROWS = [(1, 1, "x"), (3, 2, "y"), (3, 3, "x"), (8, 4, "z")]
LATER = [(9, 5, "x"), (11, 1, "y"), (14, 7, "z")]


def equijoin(*members: Node) -> Node:
    return Join(members, call("=", Column("0.a", BIGINT), Column("1.a", BIGINT)))


def test_equal_nodes_run_once_and_windows_of_any_length_share_a_store() -> None:
    w = window(S, 5)
    lane = Lane(network(q=above(w, 1), r=above(w, 2), u=window(S, 9)), optimized=False)
    push(lane, "s", ROWS, 9)
    snapshot = lane.snapshot()
    assert [o.node.label for o in snapshot.operators].count(w.label) == 1
    assert len(lane.stores()) == 1
    lane = Lane(Network(lane.network.streams, (), network(q=above(w, 1), r=above(w, 2)).queries, sharing=False))
    push(lane, "s", ROWS, 9)
    assert len(lane.stores()) == 2


def test_an_operator_sees_final_instants_only() -> None:
    lane = Lane(network(q=window(S, 1)))
    lane.push("s", train(lane, [(1, 1, "x")]), 3)
    lane.run()
    assert collected(lane, "q", S) == {(1, ((1, 1), (1, "x"))): 1}
    push(lane, "s", [], 4)
    assert collected(lane, "q", S) == {(3, ((1, 1), (1, "x"))): -1}


@pytest.mark.parametrize("scheduler", ["fifo", "greedy", "chain", "round-robin"])
def test_a_silent_input_holds_back_its_own_consumers_alone(scheduler: str) -> None:
    both, alone = equijoin(window(S, 5), window(T, 5)), window(S, 5)
    lane = Lane(network(q=both, r=alone), scheduler=scheduler, train_rows=2)
    push(lane, "s", ROWS, 20)
    assert lane.progress("r") == 20
    assert lane.progress("q") == BEGIN
    assert lane.observer.queued() == 8
    push(lane, "t", [(2, 1, "p"), (4, 3, "q")], 20)
    assert lane.progress("q") == 20
    assert lane.observer.queued() == 0
    assert sum(collected(lane, "q", both).values()) == 0
    assert sum(abs(c) for c in collected(lane, "r", alone).values()) == 8


def test_a_query_that_is_added_sees_what_is_stamped_after() -> None:
    late = IStream(window(S, 2))
    lane = Lane(network(q=window(S, 100)))
    push(lane, "s", ROWS, 9)
    assert lane.add(Query("late", late), at=10) == 10
    push(lane, "s", LATER, END, first=4)
    assert {k[0] for k in collected(lane, "late", late)} == {11, 14}


def test_queries_without_memory_share_with_older_ones_all_the_same() -> None:
    lane = Lane(network(q=above(S, 1)))
    push(lane, "s", ROWS, 9)
    lane.add(Query("late", above(S, 1)))
    assert len(lane.snapshot().operators) == 1
    push(lane, "s", LATER, END, first=4)
    assert {k[0] for k in collected(lane, "late", S)} == {9, 14}
    assert {k[0] for k in collected(lane, "q", S)} == {3, 8, 9, 14}


def test_a_join_of_streams_at_different_times_starts_with_each_at_its_birth() -> None:
    plan = equijoin(window(S, 50), window(Union((T, S)), 50))
    lane = Lane(network(q=window(S, 3), r=window(T, 3)))
    push(lane, "s", ROWS, 9)
    push(lane, "t", [(1, 1, "t")], 2)
    born = lane.add(Query("late", plan))
    assert born == 9
    push(lane, "s", LATER, 20, first=4)
    push(lane, "t", [(8, 5, "t"), (12, 5, "t")], END, first=20)
    push(lane, "s", [], END)
    fresh = Lane(network(late=plan))
    push(fresh, "s", LATER, 20)
    push(fresh, "t", [(12, 5, "t")], END, first=20)
    push(fresh, "s", [], END)
    assert collected(lane, "late", plan) == collected(fresh, "late", plan) != {}


def test_a_query_that_is_added_reads_relations_from_the_beginning() -> None:
    table = Table("r", S.schema)
    plan = equijoin(window(S, 50), Filter(table, TRUE))
    lane = Lane(Network(relations=(RelationDefinition("r", S.schema),)), optimized=False)
    push(lane, "r", [(BEGIN, 5, "r")], END)
    push(lane, "s", ROWS, 9)
    for name in ("one", "two"):
        lane.add(Query(name, plan))
        lane.run()
    push(lane, "s", LATER, END, first=4)
    for name in ("one", "two"):
        assert {k: c for k, c in collected(lane, name, plan).items() if c > 0} == {
            (9, ((1, 5), (1, "x"), (1, 5), (1, "r"))): 1
        }


def test_removing_a_query_frees_what_only_it_needed() -> None:
    lane = Lane(network(q=window(S, 3), r=Window(S, Rows(None))))
    push(lane, "s", ROWS, 9)
    (store,) = lane.stores()
    assert len(store.stubs) == 2
    lane.remove("r")
    assert len(store.stubs) == 1
    assert len(lane.snapshot().operators) == 1
    lane.remove("q")
    assert lane.stores() == []
    with pytest.raises(PenstockError, match="unknown query 'q'"):
        lane.remove("q")


def test_a_name_is_given_once() -> None:
    lane = Lane(network(q=window(S, 3)))
    with pytest.raises(PenstockError, match="'q' is already running"):
        lane.add(Query("q", S))


def test_sharing_can_be_switched_while_queries_run() -> None:
    plans = {"q": window(S, 4), "r": equijoin(window(S, 4), window(S, 20)), "u": above(window(S, 4), 1)}
    never = Lane(network(**plans), optimized=False)
    lane = Lane(network(**plans), optimized=False)
    shared = len(lane.snapshot().operators)
    for i, row in enumerate([*ROWS, *LATER]):
        for each in (lane, never):
            push(each, "s", [row], row[0], first=i)
        lane.share(on=i % 2 == 1)
    assert len(lane.snapshot().operators) > shared
    lane.share(on=True)
    assert len(lane.snapshot().operators) == shared
    assert len(lane.stores()) == 1
    for each in (lane, never):
        push(each, "s", [], END)
    for name, plan in plans.items():
        assert collected(lane, name, plan) == collected(never, name, plan)


def test_operators_of_different_births_stay_apart_when_sharing_is_switched_on() -> None:
    plan = Window(S, Rows(3))
    lane = Lane(Network(queries=network(q=plan).queries, sharing=False))
    push(lane, "s", ROWS, 9)
    lane.add(Query("late", plan))
    push(lane, "s", LATER[:1], 10, first=4)
    lane.share(on=True)
    assert len(lane.snapshot().operators) == 2
    (store,) = lane.stores()
    assert store.end == 5
    push(lane, "s", LATER[1:], END, first=5)
    assert sum(collected(lane, "q", plan).values()) == 3
    assert sum(collected(lane, "late", plan).values()) == 3


def test_the_end_of_time_reaches_every_result() -> None:
    lane = Lane(network(q=window(S, 3), r=S))
    push(lane, "s", ROWS, END)
    assert (lane.progress("q"), lane.progress("r")) == (END, END)
    assert sum(collected(lane, "q", S).values()) == 0
    assert sum(collected(lane, "r", S).values()) == 4
    assert lane.take("r") == []


def test_an_unknown_query_is_refused() -> None:
    with pytest.raises(PenstockError, match="unknown query 'x'"):
        Lane(Network()).take("x")


def test_counters_say_what_went_in_and_out() -> None:
    lane = Lane(network(q=above(S, 2)))
    push(lane, "s", ROWS, 9)
    (operator,) = lane.snapshot().operators
    assert (operator.rows_in, operator.rows_out, operator.runs, operator.selectivity) == (4, 2, 1, 0.5)
    assert operator.cost_s is not None and operator.cost_s > 0
    assert (lane.snapshot().number, lane.snapshot().number) == (2, 3)


def test_a_full_queue_goes_first_whatever_the_scheduler_prefers() -> None:
    node: Node = above(above(S, 0), 0)
    lane = Lane(network(q=node, r=above(S, 1)), scheduler="greedy", train_rows=2, optimized=False)
    push(lane, "s", [(i, i, "x") for i in range(30)], END)
    assert lane.observer.queued() == 0
    assert sum(collected(lane, "q", S).values()) == 29
