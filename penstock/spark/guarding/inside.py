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

from penstock.control.ahead import level as rounded
from penstock.control.controllers import Reading, Safe, controller
from penstock.spark.guarding.cost import Cost
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
    _controller: Safe = field(default_factory=lambda: controller("seamless", batches=True))
    _cost: Cost = field(default_factory=Cost)
    _share: float = 1.0
    _began_s: float | None = None

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
        """A batch is over: what Spark says of it."""
        came, kept = (int(said["observedMetrics"].get(name, {}).get("rows") or 0) for name in (CAME, KEPT))
        took_s = said["durationMs"]["triggerExecution"] / 1000
        began_s, before_s = now_s - took_s, self._began_s
        self._began_s = began_s
        gathered_s = self.target_s / 2 if before_s is None else max(1e-3, min(self.target_s, began_s - before_s))
        if kept:
            self._cost.see(kept, took_s)
        told = {"batch": said["batchId"], "rows": came, "kept": kept, "dropped": came - kept,
                "would_keep": round(self._share * came), "took_s": took_s,
                "waited_s": round(gathered_s, 4)}  # fmt: skip
        if came and self._cost.known:
            self.write(self._decided(came / gathered_s, kept, took_s, gathered_s, now_s))
        self.told(told)

    def _decided(self, rate_hz: float, kept: int, took_s: float, gathered_s: float, now_s: float) -> float:
        """The share of what came while the last batch ran: as many rows a second as there were in it."""
        load, period_s, late_s = rate_hz * self._cost.row_s, max(took_s, 1e-3), gathered_s + took_s
        amount = self._controller.step(Reading(
            now_s=now_s, period_s=period_s, input_load=load, queued_load=load * period_s, target_s=self.target_s,
            headroom=1.0, lanes=1.0, p99_s=late_s, delay_s=late_s, took_s=took_s, waited_s=period_s,
            processed=kept * self._cost.row_s / took_s, floor_s=self._cost.floor_s,
        ))  # fmt: skip
        least = self._cost.least / max(1.0, rate_hz * period_s)
        return max(1 - rounded(amount.excess, load) / load, min(1.0, least))
