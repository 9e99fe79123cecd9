"""Sinks that are not files: memory, console, functions, and Spark's own formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import PenstockError
from penstock.plan.network import Connector, Query
from penstock.plan.nodes import Source
from penstock.plan.schema import Schema
from penstock.spark.sinks import ForeachBatch, Sink, forget, memory_table, open_sink

ROWS = pa.table({"src": ["a", "b"], "n": pa.array([1, None], pa.int32()), "_timestamp": pa.array([1, 2], pa.int64())})


def opened(
    spark: Any, format: str, call: ForeachBatch | None = None, run: str = "run1", **options: Any
) -> tuple[Sink, Query]:
    connector = Connector(format, tuple(options.items()))
    query = Query("q", Source("s", Schema.parse("src string, n int")), sink=connector)
    return open_sink(spark, query, run, function=call), query


def test_memory_holds_each_batch_of_the_last_run_once() -> None:
    forget("m")
    sink, query = opened(None, "memory", name="m")
    sink.publish(1, query, ROWS)
    sink.publish(0, query, ROWS.slice(1))
    sink.publish(0, query, ROWS.slice(0, 1))
    assert memory_table("m").column("src").to_pylist() == ["a", "a", "b"]
    other, query = opened(None, "memory", run="run2", name="m")
    other.publish(7, query, ROWS)
    assert memory_table("m").column("src").to_pylist() == ["a", "b"]
    with pytest.raises(PenstockError, match="'nobody'"):
        memory_table("nobody")


def test_console_prints_a_line_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    sink, query = opened(None, "console")
    sink.publish(0, query, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        'q {"src":"a","n":1,"_timestamp":"1970-01-01T00:00:00.000001Z"}',
        'q {"src":"b","n":null,"_timestamp":"1970-01-01T00:00:00.000002Z"}',
    ]


def test_a_function_gets_a_frame_and_the_batch(spark: SparkSession) -> None:
    calls: list[tuple[int, list[Any]]] = []

    def keep(frame: DataFrame, batch: int) -> None:
        calls.append((batch, [(r["src"], r["n"]) for r in frame.collect()]))

    sink, query = opened(spark, "foreach_batch", keep)
    sink.publish(3, query, ROWS)
    assert calls == [(3, [("a", 1), ("b", None)])]
    assert "at least once" in sink.guarantee


def test_a_function_that_raises_is_named_with_its_batch(spark: SparkSession) -> None:
    sink, query = opened(spark, "foreach_batch", function=f"{__name__}:refuse")
    with pytest.raises(PenstockError, match="the function 'refuse' raised ValueError: no in batch 3"):
        sink.publish(3, query, ROWS)


def refuse(frame: DataFrame, batch: int) -> None:
    raise ValueError("no")


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(PenstockError, match="there is no function 'tests:nothing'"):
        opened(None, "foreach_batch", function="tests:nothing")


def test_any_format_that_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    sink, query = opened(spark, "orc", path=str(tmp_path / "out"))
    sink.publish(0, query, ROWS)
    sink.publish(1, query, ROWS)
    assert spark.read.orc(str(tmp_path / "out")).count() == 4
    assert sink.guarantee == "at least once"
    with pytest.raises(PenstockError, match="no data source 'nosuch'"):
        other, query = opened(spark, "nosuch")
        other.publish(0, query, ROWS)


@pytest.mark.parametrize(
    ("format", "options", "said"),
    [
        ("parquet", {}, "parquet needs the option 'path'"),
        ("kafka", {"topic": "t"}, r"needs the option 'kafka.bootstrap.servers'"),
        ("kafka", {"topic": "t", "kafka.bootstrap.servers": "h:1", "key_column": "sr"}, "unknown column for the key"),
        ("console", {"extra": "_bach"}, "unknown extra column"),
    ],
)
def test_options_that_are_wrong(format: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(PenstockError, match=said):
        opened(None, format, **options)
