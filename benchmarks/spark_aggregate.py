"""Windowed aggregates (count, sum, avg by 1,000 keys) over millions of rows: tumbling and sliding, against native."""

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
    figure,
    in_session,
    native,
    penstock,
    rate,
    read,
    same,
    write_files,
)

__all__ = ["LIMITS", "figures"]
KEYS: Final = 1000
ROWS_A_SECOND: Final = 200_000
ROWS_A_FILE: Final = 1_000_000
FILES_A_BATCH: Final = 2
WARM: Final = 2
CASES: Final = (("tumbling, 1 s", 1, 1.0), ("sliding, 10 s by 1 s", 10, 4.0))
SCRIPT: Final = """
CREATE STREAM s (ts TIMESTAMP, k INT, v DOUBLE, n BIGINT, a INT, b DOUBLE) TIMESTAMP BY ts
  FROM parquet OPTIONS (path = '{files}', maxFilesPerTrigger = {batch});
CREATE QUERY q AS SELECT k, count(*) AS c, sum(n) AS total, avg(v) AS mean
  FROM s [Range {size} Seconds Slide 1 Second] GROUP BY k INTO parquet OPTIONS (path = '{out}')
"""


@in_session
def figures(spark: SparkSession, folder: Path, full: bool, seed: int) -> Iterator[Figure]:
    """Rows a second of both systems and their ratio, for each kind of window."""
    rows = 20_000_000
    batch = FILES_A_BATCH * ROWS_A_FILE
    files = write_files(folder / "aggregate", _columns(rows, seed), ROWS_A_FILE)
    for name, size, bar in CASES:
        mine, others, columns = [], [], ("_timestamp", "k", "c", "total", "mean")
        for turn in range(5 if full else 3):
            place = folder / f"aggregate-{size}-{turn}"
            script = SCRIPT.format(files=files, out=place / "out", size=size, batch=FILES_A_BATCH)
            ran = penstock(script, place / "ck")
            spent = native(_native(spark, files, size), place / "native", place / "nck")
            same(read(place / "out", *columns), read(place / "native", *columns))
            mine.append(rate(ran.triggers, batch, WARM))
            others.append(rate(spent, batch, WARM))
        what = f"windowed aggregate, {name}, {rows / 1e6:.0f} million rows"
        yield figure(what, mine, "rows/s", None, "native's rows", profile=ran.profile(WARM))
        yield figure(f"{what}: native", others, "rows/s", None, "Penstock's rows")
        ratios = [a / b for a, b in zip(mine, others, strict=True)]
        yield figure(f"{what}: against native", ratios, "times", bar, "native's rows")


def _columns(rows: int, seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    spacing_us = 1_000_000 // ROWS_A_SECOND
    return {"ts": BEGIN_US + np.arange(rows) * spacing_us, "k": draw.integers(0, KEYS, rows, np.int32),
            "v": draw.uniform(0, 1, rows), "n": draw.integers(0, 1 << 40, rows),
            "a": draw.integers(0, 9, rows, np.int32), "b": draw.uniform(0, 1, rows)}  # fmt: skip


def _native(spark: SparkSession, files: Path, size: int) -> DataFrame:
    schema = "ts timestamp, k int, v double, n bigint, a int, b double"
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES_A_BATCH).parquet(str(files))
    window = F.window("ts", f"{size} seconds", "1 second")
    grouped = rows.withWatermark("ts", "0 seconds").groupBy(window, "k")
    totals = grouped.agg(F.count("*").alias("c"), F.sum("n").alias("total"), F.avg("v").alias("mean"))
    return totals.select("k", "c", "total", "mean", F.col("window.end").alias("_timestamp"))
