"""Socket, rate and sources of others, each against the real thing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from tests.spark.streams import declared, read, running


@contextmanager
def server(text: bytes) -> Iterator[int]:
    """A TCP server that says `text` to the first who connects, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        talks: list[socket.socket] = []

        def talk() -> None:
            while True:
                try:
                    talks.append(listener.accept()[0])
                    talks[-1].sendall(text)
                except OSError:
                    return

        threading.Thread(target=talk, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            for talking in talks:
                talking.close()


def test_socket(spark: SparkSession) -> None:
    with server(b'{"n": 1}\n\n{"n": "x"}\nnothing\n') as port:
        stream = declared("n int", "socket", {"host": "127.0.0.1", "port": port})
        before = time.time() * 1e6
        with running(spark, stream) as (query, name):
            while spark.table(name).count() < 3 and query.isActive and time.time() * 1e6 < before + 60e6:
                query.processAllAvailable()
            rows = spark.table(name).orderBy("_arrival", "_offset").collect()
    assert {(r["n"], r["_bad"], r["_raw"]) for r in rows} == {
        (1, None, None), (None, "n is not an int", '{"n": "x"}'), (None, "not a JSON object", "nothing")
    }  # fmt: skip
    assert all(r["_ts"] == r["_arrival"] > before for r in rows)
    assert len({(r["_source"], r["_offset"]) for r in rows}) == 3


def test_a_socket_at_which_nobody_listens(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(PenstockError, match="nothing listens at the address"):
        read(spark, declared("n int", "socket", {"host": "127.0.0.1", "port": port}))


def test_rate(spark: SparkSession) -> None:
    given = {"rowsPerBatch": 5, "numPartitions": 2, "startTimestamp": 1_000}
    with running(spark, declared("timestamp timestamp, value bigint", "rate-micro-batch", given)) as (query, name):
        while spark.table(name).count() < 10 and query.isActive:
            time.sleep(0.05)
        rows = spark.table(name).orderBy("_offset").limit(10).collect()
    assert [r["_offset"] for r in rows] == [r["value"] for r in rows] == list(range(10))
    assert [r["_arrival"] for r in rows[:5]] == [1_000_000] * 5


def test_rate_has_two_columns(spark: SparkSession) -> None:
    with pytest.raises(PenstockError) as caught:
        read(spark, declared("ts timestamp, value bigint", "rate", {"rowsPerSecond": 1}))
    assert "there is no column 'ts'" in str(caught.value) and "columns: timestamp timestamp, value bigint" in str(
        caught.value
    )


def test_any_source_by_its_name(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("text")
    (folder / "a.txt").write_text('{"n": 1}\nx\n')
    typed = read(spark, declared("value int", "text", {"path": str(folder)}))
    assert sorted((str(r["_bad"]), r["_raw"]) for r in typed) == [
        ("value is not an int", '{"value":"x"}'), ("value is not an int", '{"value":"{\\"n\\": 1}"}')
    ]  # fmt: skip
    lines = read(spark, declared("n int", "text", {"path": str(folder), "format": "json"}))
    assert sorted((r["n"] or 0, str(r["_bad"])) for r in lines) == [(0, "not a JSON object"), (1, "None")]
    with pytest.raises(PenstockError, match="there is no column 'm'"):
        read(spark, declared("m int", "text", {"path": str(folder)}))
