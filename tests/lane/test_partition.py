"""Which keys spread which queries, and where the network is cut."""

from __future__ import annotations

import pytest

from penstock.cql import compile_script
from penstock.lane.partition import partition
from penstock.plan.rewrites import optimize

STREAMS = """CREATE STREAM s (a INT, b STRING, c DOUBLE); CREATE STREAM t (k INT, v DOUBLE); CREATE STREAM u (k BIGINT);
             CREATE RELATION r (k INT, n STRING);\n"""


def lines(*queries: str) -> list[str]:
    """The fragments of these queries, q0, q1, ..., without their numbers."""
    script = STREAMS + ";\n".join(f"CREATE QUERY q{i} AS {q}" for i, q in enumerate(queries))
    found = str(partition(optimize(compile_script(script))))
    return [line.partition(" ")[2].partition(" ")[2] for line in found.split("\n")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a FROM s WHERE a > 1", "(spread: s by a, b, c): q0"),
        ("SELECT * FROM s [Range 5]", "(spread: s by a, b, c): q0"),
        ("SELECT b, count(*) AS n FROM s [Range 5] GROUP BY b", "(spread: s by b): q0"),
        ("SELECT b, a, count(*) AS n FROM s [Range 5] GROUP BY b, a", "(spread: s by a, b): q0"),
        ("SELECT b, count(*) AS n FROM s [Range 5 Slide 2] GROUP BY b", "(spread: s by b): q0"),
        ("SELECT a % 3 AS g, count(*) AS n FROM s [Range 5] GROUP BY a % 3", "(spread: s by a % 3): q0"),
        ("SELECT DISTINCT a, b FROM s [Range 5]", "(spread: s by a, b): q0"),
        ("SELECT * FROM s [Partition By b Rows 2]", "(spread: s by b): q0"),
        ("SELECT s.c FROM s [Range 5], t [Range 5] WHERE s.a = t.k", "(spread: s by a; t by k): q0"),
        ("SELECT s.c FROM s [Range 5], t [Range 5] WHERE abs(s.a) = t.k", "(spread: s by abs(a); t by k): q0"),
        ("SELECT s.c FROM s [Range 5], r WHERE s.a = r.k", "(spread: r by k; s by a): q0"),
        ("SELECT s.c FROM s [Range 5], u [Range 5] WHERE s.a = u.k", "(spread: s by cast(a as bigint); u by k): q0"),
        ("SELECT x.a FROM s [Range 5] AS x, s [Range 9] AS y WHERE x.b = y.b", "(spread: s by b): q0"),
        ("SELECT k FROM t [Range 5] WHERE k IN (SELECT a FROM s [Range 5])", "(spread: s by a; t by k): q0"),
        ("SELECT a FROM s [Range 5] UNION ALL SELECT k FROM t [Range 5]", "(spread: s by a, b, c; t by k, v): q0"),
        ("SELECT a FROM s [Range 5] EXCEPT SELECT k FROM t [Range 5]", "(spread: s by a; t by k): q0"),
        ("SELECT Istream(b) FROM s [Range 5]", "(spread: s by b): q0"),
        ("SELECT count(*) AS n FROM s [Range 5]", "(one lane): q0"),
        ("SELECT * FROM s [Rows 5]", "(one lane): q0"),
        ("SELECT * FROM s [Range 5 On c]", "(one lane): q0"),
        ("SELECT s.c FROM s [Range 5], t [Range 5] WHERE s.a < t.k", "(one lane): q0"),
        ("SELECT x.a FROM s [Range 5] AS x, s [Range 9] AS y WHERE x.b = y.b AND x.a = y.a", "(spread: s by a, b): q0"),
        ("SELECT k FROM t [Range 5] WHERE k NOT IN (SELECT a FROM s [Range 5])", "(one lane): q0"),
        ("SELECT Rstream(b) FROM s [Range 5]", "(one lane): q0"),
    ],
)
def test_what_one_fragment_is_spread_by(query: str, expected: str) -> None:
    assert lines(query) == [expected]


def test_a_join_chain_on_different_keys_stays_on_one_lane() -> None:
    query = "SELECT s.c FROM s [Range 5], t [Range 5], u [Range 5] WHERE s.a = t.k AND t.v = s.c AND u.k = 3"
    assert lines(query) == ["(one lane): q0"]


def test_a_stream_that_would_have_to_be_routed_by_two_keys_is_routed_twice() -> None:
    query = "SELECT x.a FROM s [Range 5] AS x, s [Range 9] AS y WHERE x.a = abs(y.a)"
    windows, join = lines(query)
    assert windows == "(spread: s by a, b, c): exchange 0, exchange 1"
    assert join == "(spread: exchange 0 by a; exchange 1 by abs(a)): q0"


def test_different_keys_cut_the_network() -> None:
    query = "SELECT n, count(*) AS m FROM (SELECT b, count(*) AS n FROM s [Range 5] GROUP BY b) AS x GROUP BY n"
    assert lines(query) == ["(spread: s by b): exchange 0", "(spread: exchange 0 by n): q0"]


def test_an_aggregate_of_everything_reads_spread_groups() -> None:
    query = "SELECT max(n) AS m FROM (SELECT b, count(*) AS n FROM s [Range 5] GROUP BY b) AS x"
    assert lines(query) == ["(spread: s by b): exchange 0", "(one lane): q0"]


def test_an_aggregate_that_reads_the_order_is_not_cut_from_its_window() -> None:
    assert lines("SELECT a, first(c) AS f FROM s [Partition By b Rows 5] GROUP BY a") == ["(one lane): q0"]
    assert lines("SELECT b, first(c) AS f FROM s [Partition By b Rows 5] GROUP BY b") == ["(spread: s by b): q0"]


def test_queries_that_some_key_serves_all_share_a_fragment() -> None:
    one = "SELECT b, a, count(*) AS n FROM s [Range 5] GROUP BY b, a"
    other = "SELECT b, count(*) AS n FROM s [Range 5] GROUP BY b"
    third = "SELECT a, count(*) AS n FROM s [Range 5] GROUP BY a"
    assert lines(one, other, third) == ["(spread: s by b): q0, q1", "(spread: s by a): q2"]


def test_queries_on_one_lane_share_it() -> None:
    assert lines("SELECT * FROM s [Rows 5]", "SELECT * FROM s [Rows 6]") == ["(one lane): q0, q1"]
