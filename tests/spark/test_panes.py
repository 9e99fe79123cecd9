"""Panes made at the gate stand for their rows: in every result, in every count, late rows and huge numbers included."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.cql import compile_script
from penstock.lane import reference
from penstock.lane.events import Arrival
from penstock.lane.session import Job, Outcome
from penstock.plan.network import Network
from penstock.plan.nodes import WindowAggregate
from penstock.plan.types import parse_type
from penstock.settings import Settings
from penstock.spark import kit, pipeline
from penstock.spark.lanes.exchange import Shuffle
from penstock.spark.panes import readers
from penstock.spark.stages import staged
from tests.law.compare import difference
from tests.law.values import _COMMON, _EXTREME

ALWAYS, NEVER = Settings(pane_rows=0), Settings(pane_rows=1 << 40)
COLUMNS = {"s": "string", "i": "int", "b": "bigint", "d": "double", "e": "double", "m": "decimal(6,2)",
           "t": "timestamp", "y": "date", "f": "boolean"}  # fmt: skip
NUMBERS, OTHERS = ("i", "b", "d", "m"), ("t", "y", "f")
STREAM = f"CREATE STREAM p ({', '.join(f'{n} {t}' for n, t in COLUMNS.items())}) WITHIN 3 MICROSECONDS LATE {{late}};"
MOMENTS = ("stddev", "stddev_pop", "variance", "var_pop")


def all_of(columns: Sequence[str], functions: Sequence[str]) -> str:
    return ", ".join(f"{f}({c}) AS {f}_{c}" for c in columns for f in functions)


SUMS = f"count(*) AS n, count(s) AS ns, {all_of(NUMBERS, ('sum', 'avg', 'min', 'max'))}"
TWO_GROUPS = f"""
CREATE QUERY sums AS SELECT i, y, {SUMS} FROM p [Range 6 Slide 4] GROUP BY i, y;
CREATE QUERY more AS SELECT y, i, {all_of(OTHERS, ("min", "max"))}, sum(e) AS se
  FROM p [Range 10 Slide 6 Origin 2] GROUP BY y, i;
CREATE QUERY moments AS SELECT {all_of(NUMBERS, MOMENTS)} FROM p [Range 4 Slide 8] WHERE s >= 'a' AND b < 5;
"""
KEYS = """
CREATE QUERY keyed AS SELECT s, d, m, t, f, count(*) AS n, sum(e) AS total
  FROM p [Range 9 Slide 3] GROUP BY s, d, m, t, f;
"""


def value(draw: random.Random, name: str, largest: float) -> Any:
    t = parse_type(COLUMNS[name]).name
    kind = draw.random()
    if kind < 0.1:
        return None
    extreme = [v for v in _EXTREME[t] if not (isinstance(v, float) and largest < v < math.inf)]
    return draw.choice(extreme if kind < 0.16 else _COMMON[t])


def arrivals(seed: int, rows: int, largest: float = 1.0) -> list[Arrival]:
    """Rows about in order, some of them late. One number that is huge makes the law's tolerance so, too."""
    draw = random.Random(seed)
    now, given = 0, []
    for place in range(rows):
        now += draw.choice((0, 0, 1, 1, 3))
        ts = now - draw.choice((0, 0, 0, 1, 2, 3, 3, 30))
        given.append(Arrival("p", ts, place, tuple(value(draw, n, largest) for n in COLUMNS)))
    return given


def run(network: Network, given: Sequence[Arrival], cut: int, how: Settings) -> Outcome:
    return kit.run(Job(network, network.streams, (), given, cut), 2, settings=how)


CASES = [(TWO_GROUPS, "KEEP", 1.0), (TWO_GROUPS, "DROP", 1e308), (KEYS, "DROP", 1.0)]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("script", "late", "largest"), CASES, ids=["kept", "dropped", "keys"])
def test_with_panes_and_without(script: str, late: str, largest: float) -> None:
    network = compile_script(STREAM.format(late=late) + script)
    given = arrivals(len(late) + len(script), 240, largest)
    with_panes, without = (run(network, given, 40, how) for how in (ALWAYS, NEVER))
    assert len(staged(network, 2).panes) == (2 if script == TWO_GROUPS else 1)
    for query in network.queries:
        apart = difference(with_panes.elements[query.name], without.elements[query.name], given)
        assert not apart, f"{query.name}, with panes less without: {apart}"
    first, second = (o.log[-1].streams[0] for o in (with_panes, without))
    assert (first.rows, first.late_kept, first.late_dropped) == (second.rows, second.late_kept, second.late_dropped)
    assert first.late_kept + first.late_dropped > 0
    rows_in = [sum(o.rows_in for o in outcome.log[-1].operators if isinstance(o.node, WindowAggregate))
               for outcome in (with_panes, without)]  # fmt: skip
    assert rows_in[0] == rows_in[1] > 0


def test_panes_over_sparks_own_exchange(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    network = compile_script(STREAM.format(late="KEEP") + TWO_GROUPS)
    given = arrivals(7, 120)
    by_hand = run(network, given, 60, NEVER).elements
    monkeypatch.setattr(pipeline, "exchange", lambda session, lanes: Shuffle(spark, lanes))
    shuffled = run(network, given, 60, ALWAYS).elements
    for query in network.queries:
        apart = difference(shuffled[query.name], by_hand[query.name], given)
        assert not apart, f"{query.name}, shuffled panes less rows by hand: {apart}"


@pytest.mark.usefixtures("spark")
def test_punctual_rows_give_what_the_reference_gives() -> None:
    network = compile_script(STREAM.format(late="KEEP") + TWO_GROUPS)
    network = replace(network, streams=(replace(network.streams[0], within_us=40),))
    given = arrivals(4, 120)
    found = run(network, given, 50, ALWAYS).elements
    expected = reference.evaluate(network, network.streams, given)
    for query in network.queries:
        apart = difference(found[query.name], expected[query.name], given)
        assert not apart, f"{query.name}, Spark less reference: {apart}"


def panes(query: str) -> list[str]:
    cut = staged(compile_script(STREAM.format(late="KEEP") + query), 2)
    return [str(p) for p in cut.panes]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT i, sum(d) FROM p [Range 6 Seconds Slide 4 Seconds] GROUP BY i", ["panes of 2 Seconds by i"]),
        ("SELECT max(d) FROM p [Range 1 Minute Slide 1 Minute] WHERE i > 2", ["panes of 1 Minute where i > 2"]),
        ("SELECT i, sum(d) FROM p [Range 6 Slide 4] GROUP BY i; SELECT i, avg(b) FROM p [Range 9 Slide 6] GROUP BY i",
         ["panes of 1 by i"]),
        ("SELECT last(d) FROM p [Range 6 Slide 4]", []),
        ("SELECT count(DISTINCT i) FROM p [Range 6 Slide 4]", []),
        ("SELECT max(s) FROM p [Range 6 Slide 4]", []),
        ("SELECT sum(i * 2) FROM p [Range 6 Slide 4]", []),
        ("SELECT sum(i) FROM p [Rows 6 Slide 4]", []),
        ("SELECT sum(i) FROM p [Range 6]", []),
        ("SELECT sum(i) FROM p [Range 6 Slide 4]; SELECT i FROM p [Range 6]", ["panes of 2"]),
        ("SELECT sum(i) FROM p [Range 6 Slide 4]; SELECT max(i) FROM p [Rows 6]", []),
    ],
)  # fmt: skip
def test_where_panes_are_made(query: str, shown: list[str]) -> None:
    assert panes(query) == shown


def test_why_they_are_not() -> None:
    cut = staged(compile_script(STREAM.format(late="KEEP") + "SELECT last(d) FROM p [Range 6 Slide 4]"), 2)
    listed, why = readers(cut.entries[0], cut.fragments[0])
    assert not listed
    assert "last cannot be put together from panes" in why
