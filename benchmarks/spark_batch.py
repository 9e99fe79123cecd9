"""One batch of 10,000 rows, from trigger to commit: through gate, exchange, two lanes, state and sink."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.spark_common import (
    BEGIN_US,
    LIMITS,
    Figure,
    at_most,
    figure,
    in_session,
    native,
    penstock,
    read,
    same,
    write_files,
)

__all__ = ["LIMITS", "figures"]
ROWS: Final = 10_000
WARM: Final = 20
KEYS: Final = 100
STREAM: Final = """
CREATE STREAM s (ts TIMESTAMP, k INT, v DOUBLE, n BIGINT) TIMESTAMP BY ts
  FROM parquet OPTIONS (path = '{files}', maxFilesPerTrigger = 1);
"""
WINDOWED: Final = """
CREATE QUERY q AS SELECT k, count(*) AS c, sum(v) AS total FROM s [Range 1 Second Slide 1 Second] GROUP BY k
  INTO parquet OPTIONS (path = '{out}')
"""
STATELESS: Final = """
CREATE QUERY q AS SELECT ts, k, v FROM s WHERE n > 500 AND k < 50 INTO parquet OPTIONS (path = '{out}')
"""
CASES: Final = (("windowed aggregate", WINDOWED, 200.0), ("stateless", STATELESS, 120.0))


@in_session
def figures(spark: SparkSession, folder: Path, full: bool, seed: int) -> Iterator[Figure]:
    """Both kinds against their bars, with native Structured Streaming's beside them."""
    batches = WARM + (200 if full else 40)
    files = write_files(folder / "batch", _columns(batches * ROWS, seed), ROWS)
    for name, query, bar in CASES:
        out, work = folder / f"{name}-out", folder / f"{name}-ck"
        ran = penstock((STREAM + query).format(files=files, out=out), work, close=name == "stateless")
        others = native(_native(spark, name, files), folder / f"{name}-native", folder / f"{name}-nck")
        _check(name, out, folder / f"{name}-native")
        yield figure(f"batch of {ROWS:,} rows, {name}", ran.triggers[WARM:], "ms", bar, "native's rows", at_most,
                     profile=ran.profile(WARM))  # fmt: skip
        yield figure(f"batch of {ROWS:,} rows, {name}: native", others[WARM:], "ms", None, "Penstock's rows")


def _columns(rows: int, seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {"ts": BEGIN_US + np.arange(rows) * 100, "k": draw.integers(0, KEYS, rows, np.int32),
            "v": draw.uniform(0, 1, rows), "n": draw.integers(0, 1000, rows)}  # fmt: skip


def _native(spark: SparkSession, name: str, files: Path) -> DataFrame:
    read_in = spark.readStream.schema("ts timestamp, k int, v double, n bigint").option("maxFilesPerTrigger", 1)
    rows = read_in.parquet(str(files))
    if name == "stateless":
        return rows.where("n > 500 AND k < 50").select("ts", "k", "v")
    grouped = rows.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "1 second"), "k")
    totals = grouped.agg(F.count("*").alias("c"), F.sum("v").alias("total"))
    return totals.select("k", "c", "total", F.col("window.end").alias("_timestamp"))


def _check(name: str, found: Path, expected: Path) -> None:
    columns = ("ts", "k", "v") if name == "stateless" else ("_timestamp", "k", "c", "total")
    mine, others = read(found, *columns), read(expected, *columns)
    same(mine, others)
