"""Queries that run on both engines alike: generated ones over an uneven feed, and meanings that the binder makes."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings

from penstock.testing import evaluate
from tests.cql.corpus import DECLARED
from tests.cql.grammar import scripts

Events = list[tuple[str, int, dict[str, Any]]]
FED = DECLARED.replace(" FROM csv OPTIONS (path = 'r.csv')", "")
UNUSED = "SELECT e0.a FROM r e0, (SELECT e0.d AS e FROM s [Now] e0, r e2) AS e2"


def feed(count: int = 40) -> Events:
    """Streams s and t and relation r with NULLs, ties and gaps."""
    chance = random.Random(5)
    events: Events = [("r", 0, {"a": a, "name": n}) for a, n in [(1, "x"), (2, "y"), (2, None)]]
    for i in range(count):
        at = i * 300_000 + chance.choice([0, 1, 2, 5, 10]) * 500_000
        a, b, c = chance.choice([None, 0, 1, 2, 3]), chance.choice([None, 0, 1, 2]), chance.choice("xyp")
        if chance.random() < 0.5:
            x, d = chance.choice([0.25, 1.5, 2.0, None]), chance.choice([1, 1.5, None])
            events.append(("s", at, {"ts": at, "a": a, "b": b, "c": c, "x": x, "d": d}))
        else:
            events.append(("t", at, {"a": a, "b": b, "k": chance.randrange(3), "c": c, "day": "2026-01-01"}))
    return sorted(events, key=lambda e: e[1])


def net(query: str, events: Events, engine: str, batches: int | None = None, declared: str = FED) -> dict[Any, int]:
    result = evaluate(declared + query, events, engine=engine, batches=batches)
    counts: Counter[Any] = Counter()
    for element in result[result.queries[-1]]:
        shown = (round(v, 9) if isinstance(v, float) else v for v in element.values.values())
        counts[(element.timestamp, *map(str, shown))] += element.sign
    return {k: n for k, n in counts.items() if n}


@given(scripts())
@example(UNUSED)
@settings(max_examples=15)
def test_generated_queries_mean_the_same_on_both_engines(query: str) -> None:
    events = feed()
    assert net(query, events, "lane", batches=7) == net(query, events, "reference")


@pytest.mark.slow
@given(scripts())
@settings(max_examples=1500)
def test_generated_queries_at_length(query: str) -> None:
    events = feed()
    assert net(query, events, "lane", batches=7) == net(query, events, "reference")


@pytest.mark.parametrize("engine", ["reference", "lane"])
def test_where_under_a_window_of_rows_filters_after_the_window_has_counted(engine: str) -> None:
    """Windows of four rows, one every two: rows 1-2, 1-4, 3-6, then 5-8 that never ends."""
    declared = "CREATE STREAM s (g STRING, b INT);"
    rows = [("p", 1), ("p", 5), ("q", 0), ("q", 7), ("p", 9), ("q", 1)]
    events: Events = [("s", i, {"g": g, "b": b}) for i, (g, b) in enumerate(rows, start=1)]
    query = "SELECT g, count(*) AS n, sum(b) AS total FROM s [Rows 4 Slide 2] WHERE b > 4 GROUP BY g"
    assert net(query, events, engine, declared=declared) == {
        (2, "p", "1", "5"): 1,
        (4, "p", "1", "5"): 1,
        (4, "q", "1", "7"): 1,
        (6, "q", "1", "7"): 1,
        (6, "p", "1", "9"): 1,
    }


@pytest.mark.parametrize("engine", ["reference", "lane"])
def test_where_under_an_attribute_window_does_not_hold_back_its_end(engine: str) -> None:
    """The tuple with n = 10 fails the condition, and ends the window [0, 10) all the same."""
    declared = "CREATE STREAM s (n INT, ok BOOLEAN);"
    events: Events = [("s", 1, {"n": 3, "ok": True}), ("s", 2, {"n": 10, "ok": False}), ("s", 3, {"n": 25, "ok": True})]
    query = "SELECT count(*) AS c, window_start FROM s [Range 10 On n Slide 10] WHERE ok"
    assert net(query, events, engine, declared=declared) == {(2, "1", "0"): 1}


@pytest.mark.parametrize("engine", ["reference", "lane"])
def test_a_sliding_window_over_an_attribute_reads_the_order_that_all_columns_give(engine: str) -> None:
    """Of a derived stream ('p', 1) comes before ('q', 0), which is late then, though nobody reads the string."""
    declared = "CREATE STREAM s (g STRING, n INT);"
    events: Events = [("s", 1, {"g": "q", "n": 0}), ("s", 1, {"g": "p", "n": 1}), ("s", 2, {"g": "p", "n": 5})]
    query = "SELECT count(n) AS c, window_start FROM (SELECT Istream(*) FROM s [Now]) [Range 1 On n Slide 1] AS e"
    assert net(query, events, engine, declared=declared) == {(2, "1", "1"): 1}


@pytest.mark.parametrize("engine", ["reference", "lane"])
def test_having_takes_an_alias_for_a_column_that_is_no_key(engine: str) -> None:
    declared = "CREATE STREAM s (g STRING, b INT);"
    events: Events = [("s", 1, {"g": g, "b": b}) for g, b in [("p", 1), ("p", 5), ("q", 3)]]
    for query in ("SELECT g, sum(b) AS b FROM s [Now] GROUP BY g HAVING b > 4",
                  "SELECT g AS x, sum(b) AS g FROM s [Now] GROUP BY g HAVING g = 'p' AND sum(b) > 4"):  # fmt: skip
        assert net(query, events, engine, declared=declared) == {(1, "p", "6"): 1, (2, "p", "6"): -1}


@pytest.mark.parametrize("engine", ["reference", "lane"])
def test_not_in_with_a_correlation_that_is_unknown(engine: str) -> None:
    """A row whose correlation is NULL is no row of the sub-query; a NULL value of a row that is one excludes."""
    declared = "CREATE STREAM s (a INT, b INT); CREATE RELATION r (a INT, b INT);"
    rows = [(1, None), (None, 7), (2, 8)]
    events: Events = [("r", 0, {"a": a, "b": b}) for a, b in rows]
    events += [
        ("s", t, {"a": a, "b": b}) for t, (a, b) in enumerate([(1, 5), (1, 7), (2, 8), (3, 8), (None, 9)], start=1)
    ]
    query = "SELECT a, b FROM s WHERE a NOT IN (SELECT r.a FROM r WHERE r.b = s.b)"
    assert net(query, events, engine, declared=declared) == {(1, "1", "5"): 1, (4, "3", "8"): 1, (5, "None", "9"): 1}
