"""The guard: an ordinary job with a join and a groupBy, overloaded, keeps its delay and loses what matters least."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import PenstockError
from penstock.spark import guard
from penstock.spark.guarding.thinning import WEIGHT, Keep, draw, level, thinned
from tests.spark.kafka import Broker


def orders(spark: SparkSession, rows: int) -> DataFrame:
    """Nine of ten are of one customer; every hundredth matters."""
    frame = spark.range(rows)
    return frame.select(
        F.col("id"), F.when(F.col("id") % 10 > 0, F.lit("heavy")).otherwise(F.concat(F.lit("c"), F.col("id") % 70))
        .alias("customer"), F.when(F.col("id") % 100 == 0, 9).otherwise(F.col("id") % 3).cast("int").alias("priority"),
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
    assert sum(r[WEIGHT] for r in rows) == pytest.approx(7_000)
    few = [kept(orders(spark, 7_000), 20.5 / 7_000, key="customer") for _ in range(2)]
    assert few[0] == few[1] and set(Counter(r["customer"] for r in few[0]).values()) == {2, 3}
    best = kept(orders(spark, 7_000), 0.2, "priority desc", "customer")
    assert Counter(r["priority"] for r in best if r["customer"] == "heavy").keys() <= {2, 9}
    assert level([], 5) == 0.0
    assert level([(3, 2), (50, 1), (60, 1)], 26) == 10.0


def test_the_best_are_found_without_fetching_their_values_to_the_driver(spark: SparkSession) -> None:
    frame = spark.range(5000).select(
        "id", F.when(F.col("id") % 10 > 0, (F.col("id") * 7919 % 5000).cast("double")).alias("amount"))  # fmt: skip
    worth = {r["id"]: r["amount"] for r in frame.collect()}
    best = {r["id"] for r in kept(frame, 0.2, "amount desc")}
    known = sorted((v for v in worth.values() if v is not None), reverse=True)
    assert best == {i for i, v in worth.items() if v is not None and v >= known[999]} and len(best) == 1000
    assert len(kept(frame, 0.95, "amount desc")) == pytest.approx(4750, abs=60)
    least = {r["amount"] for r in kept(frame, 0.2, "amount asc")}
    assert max(v for v in least if v is not None) == known[-1000] and None not in least


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


class Slow:
    """A user's function that takes its time for each row; it remembers what it was given."""

    def __init__(self, row_s: float = 200e-6) -> None:
        self.row_s = row_s
        self.given: dict[int, list[Any]] = {}

    def __call__(self, rows: DataFrame, batch: int) -> None:
        self.given[batch] = rows.collect()
        time.sleep(len(self.given[batch]) * self.row_s)


def through(frame: DataFrame, folder: Path, g: Any, function: Any) -> list[dict[str, Any]]:
    """Everything that there is goes through the guarded job; what the guard wrote of each batch."""
    said: list[dict[str, Any]] = []
    g.report = said.append
    writer = frame.writeStream.option("checkpointLocation", str(folder / "ck")).trigger(availableNow=True)
    query = g.attach(writer.foreachBatch(function))
    query.awaitTermination(60)
    query.stop()
    return said


def files(spark: SparkSession, folder: Path, count: int = 3, rows: int = 10_000) -> DataFrame:
    """A stream over so many files, one a batch."""
    for number in range(count):
        orders(spark, rows).withColumn("file", F.lit(number)).coalesce(1).write.parquet(str(folder / f"in/{number}"))
    reader = spark.readStream.schema("id long, customer string, priority int, file int")
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder / "in/*"))


def test_files_by_priority_within_the_delay(spark: SparkSession, tmp_path: Path) -> None:
    g, job = guard(delay="2 seconds", keep="priority desc"), Slow()
    said = through(files(spark, tmp_path), tmp_path, g, job)
    assert sum(line["rows"] for line in said) == g.counts["rows"] == 30_000
    assert g.counts["kept"] == sum(map(len, job.given.values())) == 30_000 - g.counts["dropped"] < 22_000
    for line in said:
        by = Counter(r["priority"] for r in job.given[line["batch"]])
        assert line["kept"] == by.total() == pytest.approx(line["would_keep"], abs=250)
        assert all(by[high] == (100 if high == 9 else 3_300) for high, low in ((9, 2), (2, 1), (1, 0)) if by[low])
        assert {r[WEIGHT] for r in job.given[line["batch"]]} == {1.0}


def test_monitor_says_what_would_go_and_off_looks_at_nothing(spark: SparkSession, tmp_path: Path) -> None:
    frame = files(spark, tmp_path, 3)
    watching, watched = guard(delay="2 seconds", mode="monitor"), Slow()
    said = through(frame, tmp_path / "monitor", watching, watched)
    assert all(len(rows) == 10_000 and {r[WEIGHT] for r in rows} == {1.0} for rows in watched.given.values())
    assert watching.counts["dropped"] == 0 and watching.counts["kept"] == 30_000
    assert all(line["would_keep"] < 9_000 and line["mode"] == "monitor" for line in said)
    free, left_alone = guard(delay="2 seconds", mode="off"), Slow(0.0)
    assert through(frame, tmp_path / "off", free, left_alone) == [] and not free.counts
    assert sum(len(rows) for rows in left_alone.given.values()) == 30_000
    assert {r[WEIGHT] for rows in left_alone.given.values() for r in rows} == {1.0}


def test_kafka_evenly_by_key(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = f"t{uuid.uuid4().hex}"
    messages = orders(spark, 21_000).select(F.col("customer").alias("key"), F.to_json(F.struct("id", "priority"))
                                            .alias("value"))  # fmt: skip
    brokers = ("kafka.bootstrap.servers", broker.address)
    messages.write.format("kafka").option(*brokers).option("topic", topic).save()
    reader = spark.readStream.format("kafka").option(*brokers).option("subscribe", topic)
    raw = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 7_000).load()
    frame = raw.select(F.col("key").cast("string").alias("customer"), F.col("value").cast("string").alias("order"))
    g, job = guard(delay="2 seconds", per_key="customer"), Slow()
    said = through(frame, tmp_path, g, job)
    assert g.counts["rows"] == sum(line["rows"] for line in said) == 21_000
    assert g.counts["rows"] == g.counts["kept"] + g.counts["dropped"] and g.counts["dropped"] > 5_000
    for line in said:
        rows = job.given[line["batch"]]
        light = Counter(r["customer"] for r in rows if r["customer"] != "heavy")
        heavy = len(rows) - light.total()
        fair = max(light.values(), default=0)
        assert heavy >= fair - 1 and len(light) == 7
        assert sum(r[WEIGHT] for r in rows) == pytest.approx(line["rows"])
        assert line["kept"] == len(rows)


@pytest.mark.slow
def test_random_rows_carry_their_weight_and_a_repeated_batch_draws_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    g, job = guard(delay="2 seconds", report=tmp_path / "said.jsonl"), Slow()
    through(files(spark, tmp_path), tmp_path, g, job)
    for rows in job.given.values():
        (weight,) = {r[WEIGHT] for r in rows}
        assert weight * len(rows) == pytest.approx(10_000, abs=6 * weight * len(rows) ** 0.5)


def test_rows_that_come_seldom_but_many_at_once_are_not_shed_for_the_pause_before(spark: SparkSession) -> None:
    """What lies between batches beside Spark's own time is no wait of theirs."""
    g, given = guard(delay="2 seconds"), []
    function = g.around(lambda rows, batch: given.append(rows.count()))
    for batch in range(8):
        function(orders(spark, 1_500), batch)
        time.sleep(0.1 if batch < 7 else 2.5)
    function(orders(spark, 2_500), 8)
    assert given[4:] == [1_500] * 4 + [2_500]


def test_a_writer_without_a_function_is_a_mistake(spark: SparkSession) -> None:
    writer = spark.readStream.format("rate").load().writeStream.format("noop")
    with pytest.raises(PenstockError, match="no foreachBatch"):
        guard(delay="1 second").attach(writer)


def test_a_job_without_a_function_is_thinned_inside_its_plan(spark: SparkSession, tmp_path: Path) -> None:
    """A streaming aggregate into memory: Spark would not let a guard stand before it otherwise."""
    said: list[dict[str, Any]] = []
    g = guard(delay="2 seconds", report=said.append)
    slow = F.udf(lambda x: time.sleep(300e-6) or x, "long")
    rows = g.thin(files(spark, tmp_path, 6, 8_000)).withColumn("done", slow("id"))
    totals = rows.groupBy("customer").agg(F.sum(WEIGHT).alias("weight"), F.count("*").alias("n"), F.max("done"))
    query = g.follow(totals.writeStream.outputMode("complete").format("memory").queryName("guarded_totals").start())
    query.processAllAvailable()
    found = spark.table("guarded_totals").collect()
    query.stop()
    end = time.monotonic() + 10
    while g.counts["rows"] < 48_000 and time.monotonic() < end:
        time.sleep(0.05)
    assert g.counts["rows"] == 48_000 == g.counts["kept"] + g.counts["dropped"] and g.counts["dropped"] > 6_000
    assert sum(r["n"] for r in found) == g.counts["kept"] == sum(line["kept"] for line in said)
    assert sum(r["weight"] for r in found) == pytest.approx(48_000, rel=0.08)
    assert all(line["kept"] < 6_000 for line in said[3:]), said


def test_inside_a_plan_there_are_only_random_rows(spark: SparkSession) -> None:
    with pytest.raises(PenstockError, match="rows go at random"):
        guard(delay="1 second", keep="priority").thin(orders(spark, 1))
    with pytest.raises(PenstockError, match="reads no rows of this guard"):
        guard(delay="1 second").follow(None)  # type: ignore[arg-type]


def test_a_file_sink_becomes_a_function_that_a_repeated_batch_does_not_double(
    spark: SparkSession, tmp_path: Path
) -> None:
    def write(rows: DataFrame, batch: int) -> None:
        for _ in range(2):
            rows.drop(WEIGHT).write.mode("overwrite").parquet(str(tmp_path / f"out/batch={batch}"))

    g = guard(delay="30 seconds")
    through(files(spark, tmp_path, 2, 1_000), tmp_path, g, write)
    out = spark.read.parquet(str(tmp_path / "out"))
    assert out.count() == 2_000 and set(out.columns) == {"id", "customer", "priority", "file", "batch"}
