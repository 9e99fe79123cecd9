"""100 queries of four operators each over one stream, against native's best: writers in one foreachBatch over a cached
input, from one thread or four."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark_common import (
    BEGIN_US,
    LIMITS,
    Figure,
    Ran,
    figure,
    finished,
    in_session,
    penstock,
    rate,
    read,
    same,
    write_files,
)

__all__ = ["LIMITS", "figures"]
QUERIES: Final = 100
VALUES: Final = 10_000
WARM: Final = 1
STREAM: Final = """
CREATE STREAM s (ts TIMESTAMP, a INT, b INT, v DOUBLE) TIMESTAMP BY ts
  FROM parquet OPTIONS (path = '{files}', maxFilesPerTrigger = 1);
"""
QUERY: Final = """
CREATE QUERY q{n} AS SELECT a, b, x, x * 2 + b AS y
  FROM (SELECT a, b, v * {factor} AS x FROM s WHERE a >= {low} AND a < {high}) WHERE x > {bound}
  INTO parquet OPTIONS (path = '{out}/q{n}');
"""
"""A filter, a map, a filter, a map; about one row in a hundred passes."""


@in_session
def figures(spark: SparkSession, folder: Path, full: bool, seed: int) -> Iterator[Figure]:
    """Events a second of both, and their ratio."""
    batches, rows = (10, 500_000) if full else (4, 300_000)
    files = write_files(folder / "queries", _columns(batches * rows, seed + 1), rows)
    _mine(folder / "warm", files)
    _others(spark, folder / "n-warm", files, 4)
    ran = _mine(folder / "q", files)
    mine, rates = rate(ran.triggers, rows, WARM), {}
    for threads in (4, 1):
        rates[threads] = rate(_others(spark, folder / f"n-{threads}", files, threads), rows, WARM)
        for query in range(0, QUERIES, 7):
            columns = ("a", "b", "x", "y")
            same(read(folder / "q" / f"q{query}", *columns), read(folder / f"n-{threads}" / f"q{query}", *columns))
    what = f"{QUERIES} queries of four operators, {batches * rows:,} events"
    yield figure(what, [mine], "events/s", None, "native's rows", profile=ran.profile(WARM))
    for threads, others in rates.items():
        yield figure(f"{what}: native, {threads} threads", [others], "events/s", None, "Penstock's rows")
    yield figure(f"{what}: against the best native way", [mine / max(rates.values())], "times", 10.0, "native's rows")


def _columns(rows: int, seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {"ts": BEGIN_US + np.arange(rows) * 5, "a": draw.integers(0, VALUES, rows, np.int32),
            "b": draw.integers(0, 100, rows, np.int32), "v": draw.uniform(0, 1, rows)}  # fmt: skip


def _query(n: int) -> dict[str, Any]:
    width = VALUES // 50
    low = n * (VALUES - width) // QUERIES
    return {"n": n, "low": low, "high": low + width, "factor": 1 + n, "bound": (1 + n) / 2}


def _mine(folder: Path, files: Path) -> Ran:
    queries = "".join(QUERY.format(out=folder, **_query(n)) for n in range(QUERIES))
    return penstock(STREAM.format(files=files) + queries, folder / "ck", close=True)


def _others(spark: SparkSession, folder: Path, files: Path, threads: int) -> list[float]:
    """Each trigger's milliseconds with native's writers."""
    pool = ThreadPoolExecutor(threads)

    def write(rows: DataFrame, n: int, batch: int) -> None:
        q = _query(n)
        kept = rows.where(f"a >= {q['low']} AND a < {q['high']}").selectExpr("a", "b", f"v * {q['factor']} AS x")
        out = kept.where(f"x > {q['bound']}").selectExpr("a", "b", "x", "x * 2 + b AS y")
        out.write.mode("append").parquet(str(folder / f"q{n}"))

    def batch(rows: DataFrame, number: int) -> None:
        rows.persist()
        list(pool.map(lambda n: write(rows, n, number), range(QUERIES)))
        rows.unpersist()

    read_in = spark.readStream.schema("ts timestamp, a int, b int, v double").option("maxFilesPerTrigger", 1)
    writer = read_in.parquet(str(files)).writeStream.foreachBatch(batch)
    return finished(writer.option("checkpointLocation", str(folder / "ck")))
