"""An ordinary Structured Streaming job with a join, a Python function and a groupBy, and a source that delivers at any
rate: what the guard is measured by and tested on. Nothing in the job knows of the guard.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SLICE_S: Final = 0.1
CUSTOMERS: Final = 200
HEAVY: Final = 0.9
"""The share of the rows that are of customer 0."""
TURNS: Final = 2400
"""Turns of the Python function's loop for a row: a fifth of a millisecond, so that reading is not the load."""
SCHEMA: Final = "id long, customer int, priority int, line string, arrived long"
Phase = tuple[float, float]
"""Seconds, and rows a second."""


@dataclass(frozen=True, slots=True)
class Done:
    """A batch: when its function ended since the source began, rows that the function got, what the weights say they
    stand for, and when the oldest of them had arrived."""

    at_s: float
    rows: int
    stand_for: float
    oldest_s: float

    @property
    def response_s(self) -> float:
        """How long its slowest row waited for its answer."""
        return self.at_s - self.oldest_s


@dataclass(slots=True)
class Job:
    """The function that a user gives to foreachBatch: `done` has what became of each batch."""

    spark: SparkSession
    done: list[Done] = field(default_factory=list)
    began_us: int = 0
    _names: DataFrame = field(init=False)
    _score: Any = field(init=False)

    def __post_init__(self) -> None:
        names = [(i, f"region{i % 7}") for i in range(CUSTOMERS)]
        self._score = _scorer()
        self._names = self.spark.createDataFrame(names, "customer int, region string")

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Scores each row, finds its region, and sums by region."""
        weighted = rows if "_weight" in rows.columns else rows.withColumn("_weight", F.lit(1.0))
        scored = weighted.where(F.regexp_like("line", F.lit("^user[0-9]+ GET /item/[0-9]+")))
        scored = scored.withColumn("score", self._score(F.col("id"))).join(self._names, "customer")
        totals = scored.groupBy("region").agg(
            F.sum(F.col("score") * F.col("_weight")).alias("score"), F.count("*").alias("n"),
            F.sum("_weight").alias("weight"), F.min("arrived").alias("oldest"),
        ).collect()  # fmt: skip
        if totals:
            self.done.append(Done(self._now_s(), sum(t["n"] for t in totals), sum(t["weight"] for t in totals),
                                  min(t["oldest"] for t in totals) / 1e6))  # fmt: skip

    def _now_s(self) -> float:
        return (time.time_ns() // 1000 - self.began_us) / 1e6


def _scorer() -> Any:
    turns = TURNS

    def score(ids: pd.Series) -> pd.Series:
        found = []
        for value in ids.tolist():
            total = 0
            for step in range(turns):
                total += (value ^ step) & 7
            found.append(total)
        return pd.Series(found, dtype="int64")

    return F.pandas_udf(score, "long")


def rows_of(first: int, count: int, seed: int) -> dict[str, Any]:
    """`count` rows from number `first` on."""
    random = np.random.default_rng([seed, first])
    ids = np.arange(first, first + count)
    light = random.integers(1, CUSTOMERS, count)
    return {
        "id": ids, "customer": np.where(random.random(count) < HEAVY, 0, light).astype(np.int32),
        "priority": np.where(ids % 100 == 0, 9, ids % 3).astype(np.int32),
        "line": [f"user{i % 977} GET /item/{i % 9973}" for i in ids.tolist()],
    }  # fmt: skip


@contextmanager
def fed(folder: Path, phases: Sequence[Phase], job: Job, seed: int = 0) -> Iterator[Callable[[], bool]]:
    """Files that arrive every `SLICE_S` at the rates of `phases`, while the block lasts; whether there are more to
    come. They are written before, so that feeding takes nothing from the job."""
    slices = written(folder, phases, seed)
    ending, over = threading.Event(), threading.Event()

    def feed() -> None:
        start_s = time.time()
        job.began_us = round(start_s * 1e6)
        for number, slice_ in enumerate(slices):
            if ending.wait(max(0.0, start_s + (number + 1) * SLICE_S - time.time())):
                return
            slice_.rename(folder / slice_.name.removeprefix("."))
        over.set()

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        yield lambda: not over.is_set()
    finally:
        ending.set()
        feeder.join()


def written(folder: Path, phases: Sequence[Phase], seed: int, hidden: str = ".") -> list[Path]:
    """The slices, under names that Spark does not see. `arrived` is the end of a slice, in microseconds since the first
    one began."""
    folder.mkdir(parents=True, exist_ok=True)
    slices, made, due = [], 0, 0.0
    for rate in (rate for seconds, rate in phases for _ in range(round(seconds / SLICE_S))):
        count = int((due := due + rate * SLICE_S) - made)
        arrived = np.full(count, round((len(slices) + 1) * SLICE_S * 1e6))
        slices.append(folder / f"{hidden}{len(slices):06d}.parquet")
        parquet.write_table(pa.table({**rows_of(made, count, seed), "arrived": arrived}), slices[-1])
        made += count
    return slices


def stream(spark: SparkSession, folder: Path, files: int | None = None) -> DataFrame:
    """The files as a stream; at most so many in a batch."""
    reader = spark.readStream.schema(SCHEMA)
    return (reader if files is None else reader.option("maxFilesPerTrigger", files)).parquet(str(folder))
