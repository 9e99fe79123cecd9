"""The log of a run: a JSON object a line, `at` (seconds since the epoch), `level`, `kind` and what belongs to it.

It says what somebody who was not there wants to know afterwards: what was run with what, what went wrong, what was
given up and when that changed, how it ended. Every batch is there at level `debug`. Spark's own messages join in the
same shape (`kind` = "spark").
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any, Final

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network
from penstock.plan.secrets import redact, scrub
from penstock.stats.snapshot import Snapshot

if TYPE_CHECKING:
    from penstock.spark.batch import BatchReport

LEVELS: Final = ("debug", "info", "warn", "error")


class Log:
    """Writes lines of at least `level` to `stream` (None: nowhere)."""

    def __init__(self, stream: IO[str] | None, level: str = "info", clock: Callable[[], float] = time.time) -> None:
        self._stream, self._clock = stream, clock
        self._least = LEVELS.index(level)
        self._drops: Mapping[str, int] = {}
        self._aside: Mapping[str, int] = {}
        self._shut: tuple[str, ...] = ()
        self._dropping = False

    def say(self, level: str, kind: str, **what: Any) -> None:
        """One line."""
        if self._stream is None or LEVELS.index(level) < self._least:
            return
        said = json.dumps({"at": round(self._clock(), 3), "level": level, "kind": kind, **what}, default=str)
        self._stream.write(said + "\n")
        self._stream.flush()

    def started(self, network: Network, **how: Any) -> None:
        """What is run, and with what; options without their secrets."""
        streams = {s.name: {"format": s.source.format, **redact(dict(s.source.options))}
                   for s in network.streams if s.source is not None}  # fmt: skip
        queries = {q.name: {"format": q.sink.format, **redact(dict(q.sink.options))} if q.sink is not None else {}
                   for q in network.queries}  # fmt: skip
        self.say("info", "started", **how, streams=streams, queries=queries)

    def batch(self, report: BatchReport) -> None:
        """What a batch was, and what it changed."""
        self.say("debug", "batch", batch=report.batch, rows_in=report.rows_in, rows_out=dict(report.rows_out),
                 seconds={part: round(s, 6) for part, s in report.seconds.items()})  # fmt: skip
        for (stream, reason), rows in report.malformed.items():
            self.say("warn", "malformed", batch=report.batch, stream=stream, reason=reason, rows=rows)
        if report.snapshot is not None:
            self._changes(report.batch, report.snapshot)

    def _changes(self, batch: int, snapshot: Snapshot) -> None:
        aside = dict(snapshot.set_aside)
        for function, rows in aside.items():
            if more := rows - self._aside.get(function, 0):
                self.say("warn", "set_aside", batch=batch, function=function, rows=more)
        dropped = {f"{d.location}: {d.reason}": d.dropped for d in snapshot.drops}
        growing = {where for where, rows in dropped.items() if rows > self._drops.get(where, 0)}
        if bool(growing) != self._dropping:
            self.say("warn", "dropping" if growing else "dropping_ended", batch=batch, dropped=dropped)
            self._dropping = bool(growing)
        if snapshot.shut_down != self._shut:
            self.say("warn", "shut_down", batch=batch, queries=list(snapshot.shut_down))
        self._aside, self._drops, self._shut = aside, dropped, snapshot.shut_down

    def failed(self, error: BaseException) -> None:
        """Why the run ended."""
        self.say("error", "failed", error=type(error).__name__, message=scrub(str(error)))


def open_log(place: str | None, level: str) -> Log:
    """The log at `place`: a file, which is continued, or `-` for standard error."""
    if place is None or place == "-":
        return Log(None if place is None else sys.stderr, level)
    try:
        return Log(open(place, "a", encoding="utf-8"), level)
    except OSError as error:
        raise PenstockError(
            Diagnostic(f"cannot write the log to {place}: {error.strerror}", help="name a file that can be written to")
        ) from None
