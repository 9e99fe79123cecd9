"""Rows reach the lanes by Spark's shuffle or by the driver's hand: the results are the same."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from penstock.spark import pipeline
from penstock.spark.lanes.exchange import Exchange, Hand, Shuffle, exchange
from penstock.testing import evaluate, net

TWO_STAGES = """
CREATE STREAM s (a INT, b INT);
CREATE QUERY q AS SELECT n, count(*) AS c FROM
  (SELECT a, b, count(*) AS n FROM s [Range 20 Microseconds Slide 10 Microseconds] GROUP BY a, b)
    [Range 50 Microseconds]
  GROUP BY n;
CREATE QUERY r AS SELECT a FROM s WHERE b > 1
"""


def test_the_sessions_place_decides(spark: SparkSession) -> None:
    assert isinstance(exchange(spark, 3), Hand)


@pytest.mark.parametrize("kind", ["hand", "shuffle"])
def test_two_stages_over_either(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    used: list[Exchange] = []

    def chosen(session: SparkSession, lanes: int) -> Exchange:
        used.append(Hand(lanes) if kind == "hand" else Shuffle(session, lanes))
        return used[-1]

    monkeypatch.setattr(pipeline, "exchange", chosen)
    draw = random.Random(3)
    events = [("s", t, {"a": draw.randrange(3), "b": draw.randrange(3)}) for t in sorted(draw.choices(range(90), k=60))]
    found = evaluate(TWO_STAGES, events, engine="spark", batches=25, lanes=2)
    expected = evaluate(TWO_STAGES, events, engine="reference")
    assert len(used) == 1
    for query in ("q", "r"):
        assert net(found[query]) == net(expected[query])
