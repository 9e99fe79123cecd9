"""Joins of streams over time windows: two streams against native, three streams alone (native cannot chain them)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
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
KEYS: Final = 100_000
SPACING_US: Final = 10
BATCH: Final = 200_000
WARM: Final = 2
STREAM: Final = """
CREATE STREAM {name} (ts TIMESTAMP, id BIGINT, k INT) TIMESTAMP BY ts
  FROM parquet OPTIONS (path = '{files}', maxFilesPerTrigger = 1);
"""
TWO: Final = """
CREATE QUERY q AS Istream(SELECT a.k AS k, a.id AS x, b.id AS y
  FROM a [Range 1 Second], b [Range 1 Second] WHERE a.k = b.k)
  INTO parquet OPTIONS (path = '{out}')
"""
THREE: Final = """
CREATE QUERY q AS Istream(SELECT a.k AS k, a.id AS x, b.id AS y, c.id AS z
  FROM a [Range 1 Second], b [Range 1 Second], c [Range 1 Second] WHERE a.k = b.k AND b.k = c.k)
  INTO parquet OPTIONS (path = '{out}')
"""


@in_session
def figures(spark: SparkSession, folder: Path, full: bool, seed: int) -> Iterator[Figure]:
    """Events a second of both systems, their ratio, and the three-way join's rate."""
    events = 1_000_000
    files = _streams(folder / "join", "ab", events, BATCH, seed)
    runs = [_two(spark, folder / f"join-run-{i}", files) for i in range(5 if full else 3)]
    mine, others = [r[0] for r in runs], [r[1] for r in runs]
    what = f"two-stream join, {events:,} events each"
    yield figure(what, mine, "events/s", None, "native's pairs", profile=runs[-1][2])
    yield figure(f"{what}: native", others, "events/s", None, "Penstock's pairs")
    yield figure(f"{what}: against native", [a / b for a, b in zip(mine, others, strict=True)], "times", 6.0,
                 "native's pairs")  # fmt: skip
    three = _streams(folder / "join-three", "abc", 200_000, BATCH // 8, seed)
    found, profile = _three(folder / "join-three-run", three)
    yield figure("three-way join, 200,000 events each", [found], "events/s", None, "joins by Arrow, filtered by NumPy",
                 profile=profile)  # fmt: skip


def _streams(folder: Path, names: str, events: int, batch: int, seed: int) -> dict[str, Path]:
    draw = np.random.default_rng(seed)
    made = {}
    for place, name in enumerate(names):
        columns = {"ts": BEGIN_US + np.arange(events) * SPACING_US + place, "id": np.arange(events),
                   "k": draw.integers(0, KEYS, events, np.int32)}  # fmt: skip
        made[name] = write_files(folder / name, columns, batch)
    return made


def _script(files: dict[str, Path], query: str, out: Path) -> str:
    streams = "".join(STREAM.format(name=name, files=path) for name, path in files.items())
    return streams + query.format(out=out)


def _two(spark: SparkSession, folder: Path, files: dict[str, Path]) -> tuple[float, float, str]:
    ran = penstock(_script(files, TWO, folder / "out"), folder / "ck", close=True)
    spent = native(_native(spark, files), folder / "native", folder / "nck")
    same(read(folder / "out", "k", "x", "y"), read(folder / "native", "k", "x", "y"))
    return rate(ran.triggers, 2 * BATCH, WARM), rate(spent, 2 * BATCH, WARM), ran.profile(WARM)


def _native(spark: SparkSession, files: dict[str, Path]) -> DataFrame:
    a, b = (
        spark.readStream.schema("ts timestamp, id bigint, k int").option("maxFilesPerTrigger", 1).parquet(str(path))
        .withWatermark("ts", "0 seconds").select(*(F.col(c).alias(f"{name}_{c}") for c in ("ts", "id", "k")))
        for name, path in files.items()
    )  # fmt: skip
    near = F.expr("a_k = b_k AND b_ts BETWEEN a_ts - INTERVAL 1 SECOND AND a_ts + INTERVAL 1 SECOND")
    return a.join(b, near).select(F.col("a_k").alias("k"), F.col("a_id").alias("x"), F.col("b_id").alias("y"))


def _three(folder: Path, files: dict[str, Path]) -> tuple[float, str]:
    ran = penstock(_script(files, THREE, folder / "out"), folder / "ck", close=True)
    same(read(folder / "out", "k", "x", "y", "z"), _triples(files))
    return rate(ran.triggers, 3 * BATCH // 8, WARM), ran.profile(WARM)


def _triples(files: dict[str, Path]) -> pa.Table:
    """The same join by sorting: all triples of a key, kept where no two are more than a second apart."""
    frames = []
    for path, name in zip(files.values(), "xyz", strict=True):
        table = pq.read_table(path)
        frames.append(pa.table({"k": table.column("k"), name: table.column("id"),
                                f"t{name}": table.column("ts").cast(pa.int64())}))  # fmt: skip
    pairs = frames[0].join(frames[1], "k", join_type="inner")
    pairs = _near(pairs, "tx", "ty")
    triples = _near(_near(pairs.join(frames[2], "k", join_type="inner"), "tx", "tz"), "ty", "tz")
    return triples.select(["k", "x", "y", "z"]).sort_by([(c, "ascending") for c in "kxyz"])


def _near(table: pa.Table, a: str, b: str) -> pa.Table:
    apart = np.abs(table.column(a).to_numpy() - table.column(b).to_numpy())
    return table.filter(pa.array(apart <= 1_000_000))
