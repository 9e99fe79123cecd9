"""Kafka in and out against a real broker and Spark's own connector."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.network import Connector, Query
from penstock.plan.nodes import Source
from penstock.plan.schema import Schema
from penstock.spark.batch import BatchReport
from penstock.spark.run import Run, RunOptions
from penstock.spark.sinks import open_sink
from tests.spark.kafka import Broker
from tests.spark.streams import declared, read

COLUMNS = "ts timestamp, src string, bytes int"


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex}"


def produce(
    spark: SparkSession, broker: Broker, topic: str, messages: list[tuple[str | None, bytes | None, int]]
) -> None:
    """Messages as (key, value, partition)."""
    rows = [(k, v if v is None else bytearray(v), p) for k, v, p in messages]
    frame = spark.createDataFrame(rows, "key string, value binary, partition int").coalesce(1)
    writer = frame.write.format("kafka").option("kafka.bootstrap.servers", broker.address).option("topic", topic)
    writer.save()


def options(broker: Broker, topic: str, **more: object) -> dict[str, object]:
    return {"kafka.bootstrap.servers": broker.address, "subscribe": topic, "startingOffsets": "earliest", **more}


def test_messages_become_rows_with_partition_and_offset(spark: SparkSession, broker: Broker, topic: str) -> None:
    good = [(None, f'{{"ts": "2024-01-01 00:00:0{i}", "src": "a", "bytes": {i}}}'.encode(), i % 2) for i in range(4)]
    produce(spark, broker, topic, good)
    rows = read(spark, declared(COLUMNS, "kafka", options(broker, topic), "ts"))
    assert [(r["_source"], r["_offset"], r["bytes"]) for r in rows] == [(0, 0, 0), (0, 1, 2), (1, 0, 1), (1, 1, 3)]
    assert [r["_ts"] for r in rows] == [1704067200000000 + r["bytes"] * 1_000_000 for r in rows]
    assert all(r["_arrival"] > 1704067200000000 and r["_bad"] is None and r["_raw"] is None for r in rows)


def test_malformed_messages_have_a_reason_and_their_text(spark: SparkSession, broker: Broker, topic: str) -> None:
    values = [
        b'{"ts": "2024-01-01 00:00:00"}',
        b"{",
        None,
        b'{"ts": 5}',
        b'{"ts": "2024-01-01", "bytes": "x"}',
        b"\xff{}",
    ]
    produce(spark, broker, topic, [(None, v, 0) for v in values])
    rows = read(spark, declared(COLUMNS, "kafka", options(broker, topic), "ts"))
    assert [r["_bad"] for r in rows] == [
        None, "not a JSON object", "the value is empty", "ts is not a timestamp", "bytes is not an int",
        "not a text in UTF-8",
    ]  # fmt: skip
    assert [r["_raw"] for r in rows] == [None, "{", None, '{"ts": 5}', '{"ts": "2024-01-01", "bytes": "x"}', "\ufffd{}"]


def test_csv_values_and_the_key_as_a_column(spark: SparkSession, broker: Broker, topic: str) -> None:
    produce(spark, broker, topic, [("7", b"2024-01-01 00:00:00,a", 0), ("x", b"2024-01-01 00:00:00,b", 0)])
    given = options(broker, topic, format="csv", key_column="bytes")
    rows = read(spark, declared(COLUMNS, "kafka", given, "ts"))
    assert [(r["src"], r["bytes"], r["_bad"]) for r in rows] == [("a", 7, None), ("b", None, "the key is not an int")]


def test_timestamps_in_milliseconds(spark: SparkSession, broker: Broker, topic: str) -> None:
    produce(spark, broker, topic, [(None, b'{"ts": 1704067200123}', 0)])
    rows = read(spark, declared("ts timestamp", "kafka", options(broker, topic, timestamp_unit="ms"), "ts"))
    assert [r["_ts"] for r in rows] == [1704067200123000]


def test_the_sink_sends_rows_that_say_who_they_are(spark: SparkSession, broker: Broker, topic: str) -> None:
    schema = Schema.parse("src string, total bigint")
    target = Connector("kafka", (("kafka.bootstrap.servers", broker.address), ("topic", topic), ("key_column", "src")))
    sink = open_sink(spark, query := Query("q", Source("s", schema), sink=target), "run1")
    rows = pa.table({"src": ["a", "b"], "total": [1, 2], "_timestamp": pa.array([0, 1], pa.int64())})
    for _ in range(2):
        sink.publish(3, query, rows)
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.address).option("subscribe", topic)
    sent = reader.option("includeHeaders", "true").load()
    found = sent.select(
        F.col("key").cast("string"), F.col("value").cast("string"),
        F.map_from_entries(F.transform("headers", lambda h: F.struct(h["key"], h["value"].cast("string")))).alias("h"),
    ).collect()  # fmt: skip
    expected = [
        (key, f'{{"src":"{key}","total":{row + 1},"_timestamp":"1970-01-01T00:00:00.00000{row}Z"}}', str(row))
        for row, key in enumerate("ab")
    ]
    assert sorted((r["key"], r["value"], r["h"]["penstock-row"]) for r in found) == sorted(expected * 2)
    assert {(h["penstock-query"], h["penstock-run"], h["penstock-batch"]) for h in (r["h"] for r in found)} == {
        ("q", "run1", "3")
    }


def test_a_topic_that_is_not_there(spark: SparkSession, broker: Broker) -> None:
    with pytest.raises(PenstockError) as caught:
        read(spark, declared(COLUMNS, "kafka", options(broker, "nothing-here"), "ts"))
    assert "no such topic" in str(caught.value)


def test_a_broker_that_is_not_there(spark: SparkSession, broker: Broker) -> None:
    given = {"kafka.bootstrap.servers": "127.0.0.1:9", "subscribe": "t", "kafka.default.api.timeout.ms": 1500,
             "kafka.request.timeout.ms": 1000}  # fmt: skip
    with pytest.raises(PenstockError, match="does not answer"):
        read(spark, declared(COLUMNS, "kafka", given, "ts"))


@pytest.mark.parametrize(
    ("given", "said"),
    [({"subscribe": "t"}, "needs the option 'kafka.bootstrap.servers'"),
     ({"kafka.bootstrap.servers": "h:1"}, "needs to know which topic")],
)  # fmt: skip
def test_options_that_must_be_there(spark: SparkSession, given: dict[str, object], said: str) -> None:
    with pytest.raises(PenstockError, match=said):
        read(spark, declared(COLUMNS, "kafka", given))


VANISHING = """
CREATE STREAM s (ts TIMESTAMP, src STRING, bytes INT) TIMESTAMP BY ts FROM kafka OPTIONS (
  'kafka.bootstrap.servers' = '{address}', subscribe = '{topic}', startingOffsets = 'earliest',
  'kafka.default.api.timeout.ms' = 4000, 'kafka.request.timeout.ms' = 3000, 'fetchOffset.numRetries' = 1);
CREATE QUERY q AS SELECT src, bytes FROM s INTO json OPTIONS (path = '{out}');
"""


@pytest.mark.usefixtures("broker")
def test_a_broker_that_vanishes_ends_the_run_with_the_reason(spark: SparkSession, topic: str, tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    mortal = Broker.start(tmp_path / "kafka")
    script = VANISHING.format(address=mortal.address, topic=topic, out=tmp_path / "out")
    reports: list[BatchReport] = []
    try:
        produce(spark, mortal, topic, [(None, b'{"ts": "2024-01-01 00:00:00", "bytes": 1}', 0)])
        running = Run(compile_script(script), RunOptions("local[2]", str(tmp_path / "ck")), reports.append)
        with ThreadPoolExecutor(1) as threads:
            done = threads.submit(running.go)
            deadline = time.monotonic() + 60
            while not any(r.rows_in for r in reports) and time.monotonic() < deadline:
                time.sleep(0.1)
            mortal.stop()
            with pytest.raises(PenstockError, match="the Kafka broker does not answer") as caught:
                done.result(timeout=90)
    finally:
        mortal.stop()
    assert [r.rows_in for r in reports if r.rows_in] == [1]
    assert "kafka.bootstrap.servers" in str(caught.value.diagnostics[0].help)
