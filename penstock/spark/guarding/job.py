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
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.control.ahead import COLD_ROWS
from penstock.control.ahead import level as rounded
from penstock.control.controllers import MISSING, Reading, Safe, controller
from penstock.control.loop import MODES
from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.durations import parse_duration
from penstock.spark.guarding.thinning import Keep, checked, draw, thinned

Function = Callable[[DataFrame, int], Any]
REMEMBERED: Final = "_penstock_function"
MEMORY: Final = 0.7
"""How much of what a row was known to cost the next batch leaves."""
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
    mode     "on", "monitor" (says what it would drop) or "off"; `Guard.mode` may be set while the job runs
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
    _controller: Safe = field(default_factory=lambda: controller("seamless", batches=True))
    _began_s: float | None = None
    _took_s: float = MISSING
    _kept: int = 0
    _cost_s: float = 0.0
    _expected_s: float = MISSING
    _waited_s: float = 0.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PenstockError(unknown("mode", self.mode, MODES))
        if self.target_s <= 0:
            raise PenstockError(Diagnostic("the delay must be above 0", help="delay = '2 seconds'"))

    def attach(self, writer: DataStreamWriter) -> Any:
        """Starts the query of `writer`, guarded. Its function is the one that `foreachBatch` was given."""
        function = getattr(writer, REMEMBERED, None)
        if function is None:
            help_ = "make the guard first, then write g.attach(df.writeStream.foreachBatch(function))"
            raise PenstockError(Diagnostic("the writer has no foreachBatch for a guard to stand before", help=help_))
        return _ORIGINAL(writer, self.around(function)).start()

    def around(self, function: Function) -> Function:
        """`function` behind the guard, for whoever starts the query: `.foreachBatch(g.around(function))`."""

        def guarded(rows: DataFrame, batch: int) -> None:
            began_s = time.monotonic()
            checked(rows, self.keep, self.per_key)
            held = draw(rows, batch, self.seed).persist()
            try:
                came = held.count()
                share = self._share(came, began_s)
                given = thinned(held, share if self.mode == "on" else 1.0, came, self.keep, self.per_key)
                kept = came if share >= 1 or self.mode != "on" else given.count()
                function(given, batch)
            finally:
                held.unpersist()
            self._done(batch, came, kept, share, time.monotonic() - began_s)

        return guarded

    def _share(self, came: int, began_s: float) -> float:
        """What may be kept of a batch that begins now."""
        gathered_s = self.target_s / 2 if self._began_s is None else max(1e-3, began_s - self._began_s)
        self._began_s, self._waited_s = began_s, gathered_s
        if self.mode == "off" or not came or self._cost_s == 0:
            self._expected_s = MISSING
            return 1.0 if self.mode == "off" or came <= COLD_ROWS else COLD_ROWS / came
        load = came * self._cost_s / gathered_s
        amount = self._controller.step(Reading(
            now_s=began_s, period_s=gathered_s, input_load=load, queued_load=load * gathered_s, target_s=self.target_s,
            headroom=1.0, lanes=1.0, p99_s=self._response_s(), delay_s=self._response_s(), took_s=self._took_s,
            processed=self._expected_s / self._took_s, waited_s=gathered_s,
        ))  # fmt: skip
        share = 1 - rounded(amount.excess, load) / load
        self._expected_s = share * came * self._cost_s
        return share

    def _response_s(self) -> float:
        """How long the last batch's slowest row waited for its answer."""
        return self._waited_s + self._took_s if math.isfinite(self._took_s) else MISSING

    def _done(self, batch: int, came: int, kept: int, share: float, took_s: float) -> None:
        if kept:
            found = took_s / kept
            self._cost_s = found if self._cost_s == 0 else MEMORY * self._cost_s + (1 - MEMORY) * found
        self._took_s, self._kept = took_s, kept
        self.counts.update(rows=came, kept=kept, dropped=came - kept, batches=1)
        told = {
            "batch": batch, "rows": came, "kept": kept, "dropped": came - kept, "would_keep": round(share * came),
            "mode": self.mode, "took_s": round(took_s, 4), "waited_s": round(self._waited_s, 4),
        }  # fmt: skip
        if callable(self.report):
            self.report(told)
        elif self.report is not None:
            with open(self.report, "a", encoding="utf-8") as file:
                file.write(json.dumps(told) + "\n")
