"""The guard: an ordinary job with a join and a groupBy, overloaded, keeps its delay and loses what matters least."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import PenstockError
from penstock.spark import guard
from penstock.spark.guarding.thinning import WEIGHT, Keep, draw, level, thinned


def orders(spark: SparkSession, rows: int) -> DataFrame:
    """Nine of ten are of one customer; every hundredth matters."""
    frame = spark.range(rows)
    return frame.select(
        F.col("id"), F.when(F.col("id") % 10 > 0, F.lit("heavy")).otherwise(F.concat(F.lit("c"), F.col("id") % 70))
        .alias("customer"), F.when(F.col("id") % 100 == 0, 9).otherwise(F.col("id") % 3).alias("priority"),
    )  # fmt: skip


def kept(frame: DataFrame, share: float, keep: str | None = None, key: str | None = None) -> list[Any]:
    count = frame.count()
    return thinned(draw(frame, 1, 7).persist(), share, count, Keep.of(keep), key).collect()


def test_rows_go_at_random_and_weights_undo_it(spark: SparkSession) -> None:
    rows = kept(orders(spark, 20_000), 0.25)
    assert len(rows) == pytest.approx(5000, abs=300)
    assert sum(r[WEIGHT] for r in rows) == pytest.approx(20_000, rel=0.05)
    assert [r["id"] for r in kept(orders(spark, 20_000), 0.25)] == [r["id"] for r in rows]
    assert len(kept(orders(spark, 100), 1.0)) == 100


def test_what_matters_most_stays(spark: SparkSession) -> None:
    rows = kept(orders(spark, 10_000), 0.3, "priority desc")
    by = Counter(r["priority"] for r in rows)
    assert by[9] == 100 and by[0] == by[1] == 0
    assert len(rows) == pytest.approx(3000, abs=200)
    least = kept(orders(spark, 10_000), 0.3, "priority asc")
    assert {r["priority"] for r in least} == {0}


def test_a_heavy_key_does_not_crowd_out_light_ones(spark: SparkSession) -> None:
    rows = kept(orders(spark, 7_000), 0.2, key="customer")
    by = Counter(r["customer"] for r in rows)
    assert all(by[f"c{i * 10}"] == 100 for i in range(7))
    assert by["heavy"] == pytest.approx(700, abs=2)
    assert sum(r[WEIGHT] for r in rows) == pytest.approx(7_000, rel=0.01)
    best = kept(orders(spark, 7_000), 0.2, "priority desc", "customer")
    assert Counter(r["priority"] for r in best if r["customer"] == "heavy").keys() <= {2, 9}
    assert level([], 5) == 0.0


@pytest.mark.parametrize(("arguments", "said"), [
    ({"delay": "soon"}, "soon"), ({"delay": "1 second", "mode": "maybe"}, "unknown mode"),
    ({"delay": "1 second", "keep": "a b c"}, "is no order"),
    ({"delay": "1 second", "keep": "a", "value": "b"}, "both say what is kept"),
])  # fmt: skip
def test_mistakes_are_said(arguments: dict[str, str], said: str) -> None:
    with pytest.raises(PenstockError, match=said):
        guard(**arguments)


def test_a_job_with_a_join_and_a_group_by_sheds_and_counts(spark: SparkSession, tmp_path: Path) -> None:
    names = spark.createDataFrame([("heavy", "H"), ("c0", "C")], "customer string, name string")
    taken: list[int] = []

    def totals(rows: DataFrame, batch: int) -> None:
        joined = rows.join(names, "customer", "left").groupBy("name").agg(F.sum("_weight"), F.count("*").alias("n"))
        taken.append(sum(r["n"] for r in joined.collect()))
        time.sleep(taken[-1] * 80e-6)

    stream = spark.readStream.format("rate").option("rowsPerSecond", 40_000).load()
    named = stream.select((F.col("value") % 5).alias("id"), F.lit("heavy").alias("customer"),
                          (F.col("value") % 4).alias("priority"))  # fmt: skip
    log = tmp_path / "guard.jsonl"
    g = guard(delay="2 seconds", keep="priority desc", report=log)
    query = g.attach(named.writeStream.option("checkpointLocation", str(tmp_path / "ck")).foreachBatch(totals))
    end = time.monotonic() + 60
    while g.counts["dropped"] == 0 and time.monotonic() < end:
        time.sleep(0.1)
    query.stop()
    assert g.counts["dropped"] > 0
    assert g.counts["rows"] == g.counts["kept"] + g.counts["dropped"]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sum(line["kept"] for line in lines) == g.counts["kept"]
    assert sum(taken[: len(lines)]) == g.counts["kept"]


def test_a_writer_without_a_function_is_a_mistake(spark: SparkSession) -> None:
    writer = spark.readStream.format("rate").load().writeStream.format("noop")
    with pytest.raises(PenstockError, match="no foreachBatch"):
        guard(delay="1 second").attach(writer)
