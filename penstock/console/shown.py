"""What `penstock run` prints as the run goes: a live view in a terminal, lines without one, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from penstock.console.view import duration, number, picture, trouble
from penstock.console.watch import Now, Watch

if TYPE_CHECKING:
    from penstock.spark.batch import BatchReport

Clock = Callable[[], float]


class Shown(Protocol):
    """Shows a run to somebody."""

    def batch(self, report: BatchReport) -> None:
        """A batch was reported."""

    def end(self) -> None:
        """The run has come to its end."""

    def close(self) -> None:
        """Nothing more comes, whatever the reason."""


class Quiet:
    """What most of them need not do."""

    def end(self) -> None:
        """Shows nothing."""

    def close(self) -> None:
        """Shows nothing."""


class Nothing(Quiet):
    """For nobody."""

    def batch(self, report: BatchReport) -> None:
        """Shows nothing."""


class Lines(Quiet):
    """A line a batch with rows, at most one a second; between two of them nothing is left out of the totals."""

    def __init__(self, watch: Watch, clock: Clock, every_s: float = 1.0) -> None:
        self._watch, self._clock, self._every_s = watch, clock, every_s
        self._printed_s = float("-inf")
        self._open = False

    def batch(self, report: BatchReport) -> None:
        """Prints how the run stands, if a second has passed since it was last said."""
        self._open = True
        if self._clock() - self._printed_s >= self._every_s:
            self._print()

    def end(self) -> None:
        """Prints how the run stands, if anything has happened since it was last said."""
        if self._open:
            self._print()

    def _print(self) -> None:
        self._printed_s, self._open = self._clock(), False
        print(line(self._watch.now(self._printed_s)), flush=True)


class JsonLines(Quiet):
    """A JSON object for each batch, and one at the end."""

    def __init__(self, watch: Watch, clock: Clock) -> None:
        self._watch, self._clock = watch, clock

    def batch(self, report: BatchReport) -> None:
        """Prints the batch."""
        print(json.dumps(as_json(report, self._watch)), flush=True)

    def end(self) -> None:
        """Prints the totals."""
        now = self._watch.now(self._clock())
        totals: dict[str, Any] = {
            "kind": "end", "batches": self._watch.batches, "seconds": round(now.elapsed_s, 3),
            "rows_in": {f.name: f.rows for f in now.inputs}, "rows_out": {f.name: f.rows for f in now.results},
            "dropped": now.dropped, "malformed": _reasons(now.malformed), "set_aside": dict(now.set_aside),
        }  # fmt: skip
        print(json.dumps(totals), flush=True)


class Live(Quiet):
    """The live view, drawn anew four times a second."""

    def __init__(self, watch: Watch, clock: Clock, title: str) -> None:
        from rich.live import Live as Screen

        self._watch, self._clock, self._title = watch, clock, title
        self._screen = Screen(get_renderable=self._look, refresh_per_second=4)
        self._screen.start()

    def _look(self) -> Any:
        return picture(self._watch.now(self._clock()), self._title)

    def batch(self, report: BatchReport) -> None:
        """The view looks by itself."""

    def close(self) -> None:
        """Leaves the last look on the screen."""
        self._screen.stop()


def shown(kind: str, watch: Watch, clock: Clock, title: str) -> Shown:
    """Who shows a run: `kind` is "view" (lines where standard output is no terminal), "json" or "none"."""
    if kind == "none":
        return Nothing()
    if kind == "json":
        return JsonLines(watch, clock)
    return Live(watch, clock, title) if sys.stdout.isatty() else Lines(watch, clock)


def line(now: Now) -> str:
    """How a run stands, on one line."""
    came = ", ".join(f"{f.name} {number(f.per_s)}/s" for f in now.inputs)
    out = ", ".join(f"{f.name} {number(f.per_s)}/s" for f in now.results)
    late = [f"{r.query} {duration(r.now)}{f' of {duration(r.target)}' if r.target else ''}" for r in now.responses
            if r.now is not None]  # fmt: skip
    parts = ", ".join(f"{part} {duration(s)}" for part, s in now.seconds.items())
    said = [f"batch {now.batch}", f"in {sum(f.rows for f in now.inputs):,} ({came})",
            f"out {sum(f.rows for f in now.results):,} ({out})"]  # fmt: skip
    said += [f"response {', '.join(late)}"] if late else []
    said += [f"dropped {now.dropped:,}"] if now.losses else []
    return "  ".join([*said, f"{duration(now.batch_s)} a batch ({parts})", *trouble(now)])


def as_json(report: BatchReport, watch: Watch) -> dict[str, Any]:
    """A batch for a program; drops and what was set aside are totals since the run has started."""
    snapshot = report.snapshot
    delays = {} if snapshot is None or snapshot.batch is None else {
        d.query: {"results": d.results, "mean_s": d.mean_s, "p50_s": d.p50_s, "p99_s": d.p99_s}
        for d in snapshot.batch.delays
    }  # fmt: skip
    drops = [] if snapshot is None else [
        {"location": str(d.location), "reason": d.reason, "queries": watch.affected(d.location),
         "rows_in": d.rows_in, "dropped": d.dropped}
        for d in snapshot.drops
    ]  # fmt: skip
    return {
        "kind": "batch", "batch": report.batch, "source": report.source, "rows_in": report.rows_in,
        "rows_out": dict(report.rows_out), "seconds": dict(report.seconds), "delays": delays, "drops": drops,
        "malformed": _reasons(report.malformed), "set_aside": {} if snapshot is None else dict(snapshot.set_aside),
        "shut_down": [] if snapshot is None else list(snapshot.shut_down),
    }  # fmt: skip


def _reasons(malformed: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    return [{"stream": stream, "reason": reason, "rows": rows} for (stream, reason), rows in malformed.items()]
