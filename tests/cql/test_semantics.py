"""What CQL means, sentence by sentence of the section "Semantics" of docs/cql.md: on the reference and on the lane."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.lane.events import Inputs, arrivals
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Session
from penstock.plan.network import Network
from penstock.testing import evaluate

Events = list[tuple[str, int, dict[str, Any]]]
DECLARED = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (a INT, b INT); CREATE RELATION r (a INT, b INT);"


def fed(*rows: tuple[Any, ...]) -> Events:
    """(stream, timestamp, a) or (stream, timestamp, a, b)."""
    return [(r[0], r[1], dict(zip("ab", r[2:], strict=False))) for r in rows]


@pytest.fixture(params=["reference", "lane"])
def shown(request: pytest.FixtureRequest) -> Any:
    """Runs a query; its elements as (timestamp, sign, values ...), in order."""

    def run(query: str, events: Events, declared: str = DECLARED, **how: Any) -> list[tuple[Any, ...]]:
        result = evaluate(declared + query, events, engine=request.param, **how)
        found = [(e.timestamp, e.sign, *e.values.values()) for e in result[result.queries[-1]]]
        return sorted(found, key=lambda e: (e[0], e[1], str(e)))

    return run


def test_a_range_window_includes_both_ends_and_a_tuple_leaves_one_microsecond_after_them(shown: Any) -> None:
    assert shown("SELECT a FROM s [Range 10]", fed(("s", 5, 1))) == [(5, 1, 1), (16, -1, 1)]


def test_now_is_a_range_of_0(shown: Any) -> None:
    for window in ("Now", "Range 0"):
        assert shown(f"SELECT a FROM s [{window}]", fed(("s", 5, 1))) == [(5, 1, 1), (6, -1, 1)]


def test_ties_in_rows_fall_to_the_total_order(shown: Any) -> None:
    """Of equal timestamps what stands later in the list of events is the later."""
    found = shown("SELECT a FROM s [Rows 2]", fed(("s", 5, 3), ("s", 5, 1), ("s", 5, 2)))
    assert found == [(5, 1, 1), (5, 1, 2)]


def test_out_of_order_tuples_are_put_in_the_order_of_time(shown: Any) -> None:
    found = shown("SELECT a FROM s [Rows 1]", fed(("s", 7, 1), ("s", 5, 2)))
    assert found == [(5, 1, 2), (7, -1, 2), (7, 1, 1)]


def test_a_query_without_an_operator_returns_its_relation_as_insertions_and_deletions(shown: Any) -> None:
    """Their fold at any instant is the instantaneous relation."""
    found = shown("SELECT a FROM s [Rows 1] WHERE a > 1", fed(("s", 1, 2), ("s", 2, 3), ("s", 3, 0)))
    assert found == [(1, 1, 2), (2, -1, 2), (2, 1, 3), (3, -1, 3)]


def test_select_from_a_stream_is_short_for_istream_over_an_unbounded_window(shown: Any) -> None:
    events = fed(("s", 1, 2), ("s", 1, 2), ("s", 2, 0))
    short = shown("SELECT a FROM s WHERE a > 1", events)
    assert short == [(1, 1, 2), (1, 1, 2)]
    assert shown("SELECT Istream(a) FROM s [Rows Unbounded] WHERE a > 1", events) == short
    assert shown("SELECT Istream(a) FROM s [Range Unbounded] WHERE a > 1", events) == short


def test_istream_over_now_emits_one_of_two_equal_rows_one_microsecond_apart(shown: Any) -> None:
    assert shown("SELECT Istream(a) FROM s [Now]", fed(("s", 5, 1), ("s", 6, 1), ("s", 8, 1))) == [(5, 1, 1), (8, 1, 1)]


def test_changes_that_cancel_within_an_instant_do_not_show(shown: Any) -> None:
    """The new row takes the place of its equal: nothing enters, nothing leaves."""
    events = fed(("s", 5, 1), ("s", 7, 1), ("s", 9, 2))
    assert shown("SELECT Istream(a) FROM s [Rows 1]", events) == [(5, 1, 1), (9, 1, 2)]
    assert shown("SELECT Dstream(a) FROM s [Rows 1]", events) == [(9, 1, 1)]


def test_istream_and_dstream_are_differences_of_multisets(shown: Any) -> None:
    events = fed(("s", 5, 1), ("s", 5, 1), ("s", 6, 1))
    assert shown("SELECT Istream(a) FROM s [Range 1]", events) == [(5, 1, 1), (5, 1, 1), (6, 1, 1)]
    assert shown("SELECT Dstream(a) FROM s [Range 1]", events) == [(7, 1, 1), (7, 1, 1), (8, 1, 1)]


def test_rstream_emits_the_whole_relation_where_its_net_content_changes(shown: Any) -> None:
    events = fed(("s", 1, 1), ("s", 2, 2), ("s", 3, 2), ("s", 4, 2))
    found = shown("SELECT Rstream(a) FROM s [Rows 2]", events)
    assert found == [(1, 1, 1), (2, 1, 1), (2, 1, 2), (3, 1, 2), (3, 1, 2)], "at 4 a 2 takes the place of a 2"


def test_rstream_with_a_slide_emits_at_every_boundary(shown: Any) -> None:
    events = fed(("s", 1, 7), ("s", 3, 7), ("s", 9, 7))
    found = shown("SELECT Rstream(a) FROM s [Range 2 Slide 2]", events)
    assert found == [(2, 1, 7), (4, 1, 7), (10, 1, 7)], "the window [2, 4) holds what [0, 2) held, and is a result too"


def test_a_stream_whose_predicates_read_other_windows_means_that_stream_now(shown: Any) -> None:
    """The tuple of s is looked at in its own instant: what t brings later changes nothing."""
    events = fed(("t", 1, 7), ("s", 2, 7), ("s", 3, 8), ("t", 4, 8), ("s", 4, 8))
    found = shown("SELECT a FROM s WHERE a IN (SELECT a FROM t [Range 100])", events)
    assert found == [(2, 1, 7), (4, 1, 8)]
    assert shown("SELECT a FROM s WHERE a NOT IN (SELECT a FROM t [Range 100])", events) == [(3, 1, 8)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM s",
        "SELECT DISTINCT a FROM s",
        "SELECT s.a FROM s, r WHERE s.a = r.a",
        "SELECT a FROM r EXCEPT SELECT a FROM s",
        "SELECT a FROM s WHERE a IN (SELECT a FROM t)",
    ],
)
def test_an_unwindowed_stream_is_refused_where_it_needs_state(query: str) -> None:
    with pytest.raises(PenstockError, match="without a window needs unbounded state"):
        evaluate(DECLARED + query)


def test_partition_by_treats_null_as_one_value(shown: Any) -> None:
    events = fed(("s", 1, None, 1), ("s", 2, None, 2), ("s", 3, 5, 3))
    found = shown("SELECT a, b FROM s [Partition By a Rows 1]", events)
    assert found == [(1, 1, None, 1), (2, -1, None, 1), (2, 1, None, 2), (3, 1, 5, 3)]


@pytest.mark.parametrize("sharing", [True, False])
def test_a_query_added_to_a_running_network_sees_only_what_is_stamped_after_it_was_added(sharing: bool) -> None:
    """Even where a shared store holds more: the old query's window of three rows has them."""
    old, new = (compile_script(f"{DECLARED} CREATE QUERY {n} AS SELECT a FROM s [Rows 3]") for n in ("old", "new"))
    given = arrivals(Inputs(old), fed(("s", 1, 1), ("s", 2, 2), ("s", 3, 3), ("s", 4, 4)))
    lane = Lane(Network(old.streams, old.relations, old.queries, sharing=sharing))
    session = Session(Job(old, old.streams, old.relations, given), lane)
    session.batch(given[:2])
    lane.add(new.queries[0])
    session.queries["new"] = new.queries[0].root.schema
    session.batch(given[2:])
    session.end()
    found = {name: [(e.ts, e.sign, *e.row) for e in listed] for name, listed in session.outcome.elements.items()}
    assert found["new"] == [(3, 1, 3), (4, 1, 4)]
    assert found["old"] == [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, -1, 1), (4, 1, 4)]


def test_windows_that_slide_are_half_open_and_anchored_at_the_epoch(shown: Any) -> None:
    """Window k covers [k * 4, k * 4 + 4), k being any integer; the result is stamped with its end."""
    events = fed(("s", -1, 1), ("s", 0, 2), ("s", 3, 3), ("s", 4, 4))
    found = shown("SELECT sum(a) AS n, window_start, window_end FROM s [Range 4 Slide 4]", events)
    assert found == [(0, 1, 1, -4, 0), (4, 1, 5, 0, 4), (8, 1, 4, 4, 8)]


def test_origin_moves_the_anchor(shown: Any) -> None:
    events = fed(("s", 0, 2), ("s", 3, 3), ("s", 4, 4))
    found = shown("SELECT sum(a) AS n, window_start FROM s [Range 4 Slide 4 Origin 1]", events)
    assert found == [(1, 1, 2, -3), (5, 1, 7, 1)]


def test_windows_may_overlap_and_may_leave_gaps(shown: Any) -> None:
    events = fed(*(("s", t, t) for t in range(1, 7)))
    assert shown("SELECT sum(a) AS n FROM s [Range 4 Slide 2] HAVING n > 9", events) == [(6, 1, 14), (8, 1, 15)]
    assert shown("SELECT sum(a) AS n FROM s [Range 2 Slide 3]", events) == [(2, 1, 1), (5, 1, 7), (8, 1, 6)]


def test_an_aggregate_over_a_slide_has_one_element_for_each_window_and_group_that_is_not_empty(shown: Any) -> None:
    events = fed(("s", 1, 1, 5), ("s", 1, 2, 6), ("s", 9, 1, 7))
    found = shown("SELECT a, sum(b) AS n FROM s [Range 2 Slide 2] GROUP BY a", events)
    assert found == [(2, 1, 1, 5), (2, 1, 2, 6), (10, 1, 1, 7)]


def test_used_as_a_relation_the_window_holds_the_last_ended_one_until_the_next_ends(shown: Any) -> None:
    events = fed(("s", 1, 7), ("r", 0, 7, 1), ("s", 5, 8))
    found = shown("SELECT s.a FROM s [Range 2 Slide 2], r WHERE s.a = r.a", events)
    assert found == [(2, 1, 7), (4, -1, 7)]


def test_an_ungrouped_aggregate_over_an_empty_unslid_window_yields_no_row(shown: Any) -> None:
    found = shown("SELECT count(*) AS n FROM s [Range 2]", fed(("s", 1, 7)))
    assert found == [(1, 1, 1), (4, -1, 1)]
    assert shown("SELECT count(*) AS n FROM s [Range 2] WHERE a > 9", fed(("s", 1, 7))) == []


def test_a_nested_window_reads_the_stamps_of_the_results_below_it(shown: Any) -> None:
    """The window [2, 4) gives its sum at 4, which lies in [4, 8)."""
    inner = "SELECT sum(a) AS n FROM s [Range 2 Slide 2]"
    query = f"SELECT max(n) AS m, window_start FROM ({inner}) [Range 4 Slide 4] x"
    assert shown(query, fed(("s", 1, 5), ("s", 2, 1), ("s", 3, 2))) == [(4, 1, 5, 0), (8, 1, 3, 4)]


def test_windows_may_run_over_any_ordered_numeric_attribute(shown: Any) -> None:
    declared = "CREATE STREAM s (a INT, n INT, x DOUBLE, d DATE, i INTERVAL, m DECIMAL(6, 2), at TIMESTAMP);"
    rows = [(1, 0), (2, 1), (3, 5)]
    for column, size in (("n", "1"), ("x", "1.0"), ("d", "1"), ("i", "1"), ("m", "1"), ("at", "1")):
        events = [("s", t, {"a": t, column: v}) for t, v in rows]
        found = shown(f"SELECT a FROM s [Range {size} On {column}]", events, declared)
        assert found == [(1, 1, 1), (2, 1, 2), (3, -1, 1), (3, -1, 2), (3, 1, 3)], column


def test_the_total_order_is_timestamp_and_then_place(shown: Any) -> None:
    """first and last read it, and so do Rows and Partition By."""
    events = fed(("s", 2, 5), ("s", 1, 6), ("s", 2, 7), ("s", 1, 8))
    assert shown("SELECT first(a) AS x, last(a) AS y FROM s [Range 4 Slide 4]", events) == [(4, 1, 6, 7)]


def test_relations_may_change_by_a_stream_of_updates(shown: Any) -> None:
    declared = "CREATE STREAM s (a INT, b INT); CREATE RELATION k (a INT, b INT) FROM s KEY (a);"
    events = fed(("s", 1, 1, 5), ("s", 2, 1, 6), ("s", 3, 2, 7), ("s", 4, 1, None))
    found = shown("SELECT a, b FROM k", events, declared)
    assert found == [(1, 1, 1, 5), (2, -1, 1, 5), (2, 1, 1, 6), (3, 1, 2, 7), (4, -1, 1, 6), (4, 1, 1, None)]


def test_later_arrivals_than_the_bound_are_kept_with_the_current_time_or_dropped(shown: Any) -> None:
    declared = "CREATE STREAM s (a INT) WITHIN 3 MICROSECONDS LATE {};"
    events = fed(("s", 5, 1), ("s", 10, 2), ("s", 6, 3))
    assert shown("SELECT a FROM s", events, declared.format("KEEP")) == [(5, 1, 1), (10, 1, 2), (10, 1, 3)]
    assert shown("SELECT a FROM s", events, declared.format("DROP")) == [(5, 1, 1), (10, 1, 2)]


def test_late_arrivals_are_counted() -> None:
    declared = "CREATE STREAM s (a INT) WITHIN 3 MICROSECONDS LATE {}; SELECT a FROM s"
    events = fed(("s", 5, 1), ("s", 10, 2), ("s", 6, 3), ("s", 8, 4))
    for late, counts in (("KEEP", (1, 0)), ("DROP", (0, 1))):
        (stream,) = evaluate(declared.format(late), events).stats.streams
        assert (stream.late_kept, stream.late_dropped) == counts


def test_nulls_are_one_group_and_equal_in_distinct_but_join_nothing(shown: Any) -> None:
    events = fed(("s", 1, None, 1), ("s", 1, None, 2), ("r", 0, None, 3))
    assert shown("SELECT a, count(*) AS n FROM s [Range 9 Slide 9] GROUP BY a", events) == [(9, 1, None, 2)]
    assert shown("SELECT Istream(DISTINCT a) FROM s [Range 5]", events) == [(1, 1, None)]
    assert shown("SELECT s.b FROM s [Now], r WHERE s.a = r.a", events) == []
    assert shown("SELECT Istream(s.b) FROM s [Now], r WHERE s.a <=> r.a", events) == [(1, 1, 1), (1, 1, 2)]


def test_not_in_follows_sql_where_a_null_is_among_the_values(shown: Any) -> None:
    events = fed(("r", 0, None, 1), ("s", 1, 5), ("s", 2, None))
    assert shown("SELECT a FROM s WHERE a NOT IN (SELECT a FROM r)", events) == []
    assert shown("SELECT a FROM s WHERE a NOT IN (SELECT a FROM r WHERE b = 2)", events) == [(1, 1, 5), (2, 1, None)]
    query = "SELECT a FROM s WHERE NOT EXISTS (SELECT * FROM r WHERE r.a = s.a)"
    assert shown(query, events) == [(1, 1, 5), (2, 1, None)]


def test_set_operations_count_with_all_and_take_each_row_once_without(shown: Any) -> None:
    events = fed(("s", 1, 1), ("s", 1, 1), ("s", 1, 2), ("t", 1, 1), ("t", 1, 3))
    found = {
        word: [e[2] for e in shown(f"Istream(SELECT a FROM s [Now] {word} SELECT a FROM t [Now])", events)]
        for word in ("UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
    }
    assert found == {
        "UNION": [1, 2, 3], "UNION ALL": [1, 1, 1, 2, 3], "EXCEPT": [2], "EXCEPT ALL": [1, 2],
        "INTERSECT": [1], "INTERSECT ALL": [1],
    }  # fmt: skip


def test_a_window_of_rows_counts_before_conditions_and_a_window_of_time_does_not_mind(shown: Any) -> None:
    events = fed(("s", 1, 9), ("s", 2, 0), ("s", 3, 0))
    assert shown("SELECT a FROM s [Rows 2] WHERE a > 1", events) == [(1, 1, 9), (3, -1, 9)]
    assert shown("SELECT a FROM s [Range 5] WHERE a > 1", events) == [(1, 1, 9), (7, -1, 9)]
