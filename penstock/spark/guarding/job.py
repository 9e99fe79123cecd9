"""A guard for a Structured Streaming job that keeps its own DataFrame code: its batches arrive thinned, in time.

    from penstock.spark import guard

    g = guard(delay="2 seconds", keep="priority desc", per_key="customer")
    query = g.attach(df.writeStream.foreachBatch(my_function))

The function gets its batch as ever, with one column more, `_weight`: how many rows each stands for. What a batch may
have is decided before it is let in: its rows are counted as they are read (once: they are kept in memory meanwhile),
what a row costs is how long the function took for those before, and the controller is that of declared delays.
"""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.control.ahead import COLD_ROWS
from penstock.control.loop import MODES
from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.durations import parse_duration
from penstock.spark.guarding.inside import Inside
from penstock.spark.guarding.pace import Pace
from penstock.spark.guarding.thinning import WEIGHT, Keep, checked, draw, thinned

Function = Callable[[DataFrame, int], Any]
REMEMBERED: Final = "_penstock_function"
LEAD: Final = 0.25
"""The largest share of the target that Spark's own time between two batches is believed to take."""
GROWS: Final = 1.2
"""By which factor it may grow from one batch to the next."""
PAUSE: Final = 3.0
PAUSE_SHARE: Final = 0.1
"""What is longer than so many times that time, and than this share of the target, is a pause between two batches."""
_ORIGINAL: Final = DataStreamWriter.foreachBatch


def _remembering(writer: DataStreamWriter, func: Function) -> DataStreamWriter:
    """What PySpark does, and the function stays where a guard finds it: PySpark itself gives it away to Java."""
    setattr(writer, REMEMBERED, func)
    return _ORIGINAL(writer, func)


setattr(DataStreamWriter, "foreachBatch", _remembering)  # noqa: B010


def guard(
    delay: str,
    keep: str | None = None,
    per_key: str | None = None,
    value: str | None = None,
    mode: str = "on",
    report: str | Path | Callable[[dict[str, Any]], None] | None = None,
    seed: int = 0,
) -> Guard:
    """A guard that keeps `delay`.

    keep     what is kept first: a column and `asc` or `desc`; `value` is a column of which the most is kept; without
             either, rows go at random
    per_key  a column: every key keeps as many rows as every other, as far as it has them
    mode     "on", "monitor" (says what it would drop) or "off" (looks at nothing); `Guard.mode` may be set while the
             job runs
    report   where it writes what became of each batch: a file that gets a line of JSON, or a function
    """
    if keep is not None and value is not None:
        raise PenstockError(Diagnostic("keep and value both say what is kept", help="leave out one of the two"))
    wanted = Keep.of(f"{value} desc" if value is not None else keep)
    return Guard(parse_duration(delay) / 1e6, wanted, per_key, mode, report, seed)


@dataclass(slots=True)
class Guard:
    """See `guard`. `counts` has rows in, kept and dropped so far."""

    target_s: float
    keep: Keep
    per_key: str | None = None
    mode: str = "on"
    report: str | Path | Callable[[dict[str, Any]], None] | None = None
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    _pace: Pace = field(init=False)
    _began_s: float | None = None
    _ended_s: float | None = None
    _lead_s: float = 0.0
    _waited_s: float = 0.0
    _inside: Inside | None = None
    _said: bool = False

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PenstockError(unknown("mode", self.mode, MODES))
        if self.target_s <= 0:
            raise PenstockError(Diagnostic("the delay must be above 0", help="delay = '2 seconds'"))
        self._pace = Pace(self.target_s)

    def attach(self, writer: DataStreamWriter) -> Any:
        """Starts the query of `writer`, guarded. Its function is the one that `foreachBatch` was given."""
        function = getattr(writer, REMEMBERED, None)
        if function is None:
            help_ = "make the guard first, then write g.attach(df.writeStream.foreachBatch(function))"
            raise PenstockError(Diagnostic("the writer has no foreachBatch for a guard to stand before", help=help_))
        return _ORIGINAL(writer, self.around(function)).start()

    def thin(self, rows: DataFrame) -> DataFrame:
        """`rows` of a stream, thinned at random with `_weight`, for a job without foreachBatch; `follow` its query."""
        if self.keep.column is not None or self.per_key is not None:
            help_ = "leave out keep and per_key, or give the job's work to foreachBatch"
            raise PenstockError(Diagnostic("inside a streaming plan rows go at random", help=help_))
        self._inside = Inside(self.target_s, self._tell, lambda: self.mode == "on", rows.sparkSession, self.seed)
        return self._inside.thin(rows)

    def follow(self, query: StreamingQuery) -> StreamingQuery:
        """Decides for a query that reads rows of `thin`: `g.follow(rows.groupBy(...).writeStream...start())`."""
        if self._inside is None:
            raise PenstockError(Diagnostic("the query reads no rows of this guard", help="make them by g.thin(df)"))
        return self._inside.follow(query)

    def around(self, function: Function) -> Function:
        """`function` behind the guard, for whoever starts the query: `.foreachBatch(g.around(function))`."""

        def guarded(rows: DataFrame, batch: int) -> None:
            began_s = time.monotonic()
            checked(rows, self.keep, self.per_key)
            if self.mode == "off":
                self._began_s, self._ended_s = None, None
                function(rows.withColumn(WEIGHT, F.lit(1.0)), batch)
                return
            held = draw(rows, batch, self.seed).persist()
            try:
                came = held.count()
                spent_s = time.monotonic() - began_s
                share = self._share(came, began_s, spent_s)
                self._pace.expects((share if self.mode == "on" else 1.0) * came, spent_s)
                given = thinned(held, share if self.mode == "on" else 1.0, came, self.keep, self.per_key)
                kept = _given(function, given, batch, came if share >= 1 or self.mode != "on" else None)
            finally:
                held.unpersist()
            self._done(batch, came, kept, share, began_s, spent_s)

        return guarded

    def _share(self, came: int, began_s: float, spent_s: float) -> float:
        """What may be kept of a batch that began `spent_s` ago and is counted now. Between two batches Spark writes its
        logs and plans; the oldest row of this one may have come as early as that began before the last. After a pause
        nothing has waited: a batch begins when there are rows."""
        between_s = 0.0 if self._ended_s is None else began_s - self._ended_s
        most_s = self._lead_s * GROWS if self._lead_s else between_s
        self._lead_s = min(LEAD * self.target_s, between_s, most_s)
        passed_s = self.target_s / 2 if self._began_s is None else began_s - self._began_s
        paused = between_s > max(PAUSE * self._lead_s, PAUSE_SHARE * self.target_s)
        gathered_s = self.target_s / 2 if paused else max(1e-3, passed_s)
        self._began_s, self._waited_s = began_s, self._lead_s + (0.0 if paused else gathered_s)
        if not came or not self._pace.cost.known:
            return 1.0 if came <= COLD_ROWS else COLD_ROWS / came
        return self._pace.share(began_s, came, spent_s, gathered_s, self._waited_s, 2 * self._lead_s)

    def _done(self, batch: int, came: int, kept: int, share: float, began_s: float, spent_s: float) -> None:
        self._ended_s = time.monotonic()
        took_s = self._ended_s - began_s
        self._pace.done(kept, took_s, spent_s, self._waited_s + took_s)
        self._say_floor(spent_s)
        self._tell({
            "batch": batch, "rows": came, "kept": kept, "dropped": came - kept, "would_keep": round(share * came),
            "took_s": round(took_s, 4), "waited_s": round(self._waited_s, 4),
            "floor_s": round(spent_s + self._pace.cost.floor_s, 4),
        })  # fmt: skip

    def _say_floor(self, spent_s: float) -> None:
        """Says once that the target is below what a batch takes with hardly a row in it."""
        floor_s = spent_s + self._pace.cost.floor_s
        reached_s = 2 * (floor_s + self._lead_s)
        if self._pace.cost.settled and reached_s > self.target_s and not self._said:
            self._said = True
            told = f"a batch takes {floor_s:.2g} s with hardly a row in it, which makes {reached_s:.2g} s"
            warnings.warn(f"a delay of {self.target_s:g} s is below what this job reaches: {told}", stacklevel=2)

    def _tell(self, what: Mapping[str, Any]) -> None:
        """Counts a batch, and says what became of it where that is asked for."""
        self.counts.update(rows=what["rows"], kept=what["kept"], dropped=what["dropped"], batches=1)
        told = {**what, "mode": self.mode}
        if callable(self.report):
            self.report(told)
        elif self.report is not None:
            with open(self.report, "a", encoding="utf-8") as file:
                file.write(json.dumps(told) + "\n")


def _given(function: Function, rows: DataFrame, batch: int, known: int | None) -> int:
    """Calls the function; how many rows it was given is counted meanwhile, where it is not known."""
    if known is not None:
        function(rows, batch)
        return known
    with ThreadPoolExecutor(1) as counting:
        counted = counting.submit(rows.count)
        function(rows, batch)
        return int(counted.result())
