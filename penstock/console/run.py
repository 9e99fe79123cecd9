"""`penstock run`: what a person or a program sees of a run, batch after batch."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from penstock.cql import compile_script

if TYPE_CHECKING:
    from penstock.spark.pipeline import BatchReport


def run_script(text: str, source: str, master: str, checkpoint: str, until_idle: bool, close: bool, shown: str) -> None:
    """Compiles and runs a script; `shown` is "lines", "json" or "none". Ctrl-C ends after the batch, twice at once."""
    from penstock.spark.run import Run, RunOptions

    network = compile_script(text, source)
    options = RunOptions(master=master, checkpoint=checkpoint, until_idle=until_idle, close=close)
    running = Run(network, options, SHOWN[shown])
    signal.signal(signal.SIGINT, _patient(running.stop))
    running.go()


def _patient(stop: Callable[[], None]) -> Callable[[int, FrameType | None], Any]:
    """A handler that asks at first, and breaks off when asked again."""

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("ending after this batch; once more to end at once", file=sys.stderr)
        stop()

    return handle


def _line(report: BatchReport) -> None:
    """A batch for a person."""
    out = ", ".join(f"{query} {rows:,}" for query, rows in report.rows_out.items()) or "nothing"
    parts = ", ".join(f"{name} {seconds * 1e3:.0f}" for name, seconds in report.seconds.items())
    print(f"batch {report.batch}: {report.rows_in:,} rows in, out: {out} ({parts} ms)", flush=True)


def _json(report: BatchReport) -> None:
    """A batch for a program."""
    print(json.dumps(asdict(report)), flush=True)


def _nothing(report: BatchReport) -> None:
    """A batch for nobody."""


SHOWN: Final[dict[str, Callable[[BatchReport], None]]] = {"lines": _line, "json": _json, "none": _nothing}
