"""A guard inside a streaming plan, for jobs without foreachBatch: a small file says what share of the rows is kept.

A plan that streams cannot be changed while it runs, but a file that it reads beside the stream is read anew for every
batch. So the rows are joined with a file of one number, and those that it does not cover are dropped, natively, before
anything of the job. What Spark tells of a batch when it is over decides the number for the next one.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.guarding.pace import Pace
from penstock.spark.guarding.thinning import DRAW, WEIGHT, uniform
from penstock.spark.listener import listen

SHARE: Final = "_penstock_share"
CAME: Final = "penstock_came"
KEPT: Final = "penstock_kept"
Told = Callable[[Mapping[str, Any]], None]


@dataclass(slots=True)
class Inside:
    """The share that is kept now, in a file, and what decides it. `told` gets what became of each batch;
    `on` says whether anything is dropped."""

    target_s: float
    told: Told
    on: Callable[[], bool]
    spark: SparkSession
    seed: int = 0
    _folder: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="penstock-guard-")
    )
    _pace: Pace = field(init=False)
    _share: float = 1.0
    _began_s: float | None = None

    def __post_init__(self) -> None:
        self._pace = Pace(self.target_s)

    @property
    def file(self) -> Path:
        """What the plan reads: always of one length, as Spark remembers how long a file is."""
        return Path(self._folder.name) / "share"

    def write(self, share: float) -> None:
        """What is kept from the next batch on."""
        self._share = share
        fresh = self.file.with_name(".share")
        fresh.write_text(f"{share if self.on() else 1.0:.9f}\n", encoding="ascii")
        os.replace(fresh, self.file)

    def thin(self, rows: DataFrame) -> DataFrame:
        """`rows`, thinned, with how many each stands for in `_weight`."""
        self.write(1.0)
        place = uniform(F.rand(self.seed), F.current_timestamp())
        drawn = rows.observe(CAME, F.count(F.lit(1)).alias("rows")).withColumn(DRAW, place)
        said = self.spark.read.schema(f"{SHARE} double").csv(self.file.as_uri())
        left = drawn.crossJoin(F.broadcast(said)).where(F.col(DRAW) < F.col(SHARE))
        weighted = left.withColumn(WEIGHT, 1 / F.col(SHARE)).drop(DRAW, SHARE)
        return weighted.observe(KEPT, F.count(F.lit(1)).alias("rows"))

    def follow(self, query: StreamingQuery) -> StreamingQuery:
        """Decides for `query` from now on."""
        run = str(query.runId)

        def progress(said: Mapping[str, Any]) -> None:
            if said.get("runId") == run and said.get("observedMetrics"):
                self.see(said, time.monotonic())

        listen(self.spark, progress, lambda: None)
        return query

    def see(self, said: Mapping[str, Any], now_s: float) -> None:
        """A batch is over: what Spark says of it. The next one is what came while it ran, as many rows a second as
        there were in it."""
        came, kept = (int(said["observedMetrics"].get(name, {}).get("rows") or 0) for name in (CAME, KEPT))
        took_s = max(1e-3, said["durationMs"]["triggerExecution"] / 1000)
        began_s, before_s = now_s - took_s, self._began_s
        self._began_s = began_s
        gathered_s = self.target_s / 2 if before_s is None else max(1e-3, min(self.target_s, began_s - before_s))
        self._pace.done(kept, took_s, 0.0, gathered_s + took_s)
        told = {"batch": said["batchId"], "rows": came, "kept": kept, "dropped": came - kept,
                "would_keep": round(self._share * came), "took_s": took_s,
                "waited_s": round(gathered_s, 4)}  # fmt: skip
        if came and self._pace.cost.known:
            coming = max(1, round(came / gathered_s * took_s))
            share = self._pace.share(now_s, coming, 0.0, took_s, took_s, 0.0)
            self._pace.expects((share if self.on() else 1.0) * coming, 0.0)
            self.write(share)
        self.told(told)
