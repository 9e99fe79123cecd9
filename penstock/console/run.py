"""`penstock run`: a run with everything around it: who watches it, who logs it, and how it is stopped."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from penstock.console.log import Log, open_log
from penstock.console.shown import Shown, shown
from penstock.console.watch import Watch
from penstock.plan.network import Network
from penstock.plan.rewrites import optimize
from penstock.plan.secrets import redacted

if TYPE_CHECKING:
    from penstock.console.metrics import Exporter
    from penstock.spark.batch import BatchReport
    from penstock.spark.run import Run, RunOptions

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Around:
    """What is around a run: how it is shown ("view", "json", "none"), where metrics are served and the log goes."""

    shown: str = "view"
    metrics_port: int | None = None
    metrics_host: str = "0.0.0.0"
    log: str | None = None
    log_level: str = "info"


def run_network(network: Network, source: str, options: RunOptions, around: Around) -> None:
    """Runs what the script `source` says. Ctrl-C (or SIGTERM) ends it after the batch, twice at once."""
    from penstock.spark.recovery import beginning
    from penstock.spark.run import Run

    watch = Watch(optimize(network), time.monotonic(), beginning(options.checkpoint))
    log = open_log(around.log, around.log_level)
    with ExitStack() as ending:
        try:
            exporter = _exporter(watch, around, ending)
            log.started(network, script=source, master=options.master, checkpoint=redacted(options.checkpoint))
            view = shown(around.shown, watch, time.monotonic, f"penstock {source}")
            ending.callback(view.close)
            running = Run(network, options, lambda report: _tell(report, watch, view, log, exporter))
            log.say("info", "ready", **running.described)
            _listen(running, exporter, ending)
            _hear(running, view, log)
            running.go()
        except BaseException as error:
            log.failed(error)
            raise
        view.end()
        log.say("info", "ended", batches=watch.batches)


def _exporter(watch: Watch, around: Around, ending: ExitStack) -> Exporter | None:
    if around.metrics_port is None:
        return None
    from penstock.console.metrics import Exporter

    exporter = Exporter(watch, around.metrics_host, around.metrics_port)
    ending.callback(exporter.close)
    if around.shown != "none":
        print(f"metrics at http://{around.metrics_host}:{exporter.port}/metrics", file=sys.stderr)
    return exporter


def _listen(running: Run, exporter: Exporter | None, ending: ExitStack) -> None:
    from penstock.spark.listener import listen

    if exporter is not None:
        ending.callback(listen(running.spark, exporter.progress, exporter.ended))


def _tell(report: BatchReport, watch: Watch, view: Shown, log: Log, exporter: Exporter | None) -> None:
    watch.see(report, time.monotonic())
    view.batch(report)
    log.batch(report)
    if exporter is not None:
        exporter.batch(report, time.time())


def _hear(running: Run, view: Shown, log: Log) -> None:
    """Lets the signals that ask for an end ask nicely at first, and break off when they come again."""

    def patient(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, hasty)
        print("ending after this batch; once more to end at once", file=sys.stderr)
        log.say("info", "stopping", signal=signal.Signals(number).name)
        running.stop()

    def hasty(number: int, frame: FrameType | None) -> None:
        log.say("warn", "broken_off", signal=signal.Signals(number).name)
        _all((view.close, running.leave))
        os._exit(INTERRUPTED)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, patient)


def _all(steps: tuple[Callable[[], None], ...]) -> None:
    """Takes every step, whatever becomes of the others: nothing can be said of it any more."""
    for step in steps:
        try:
            step()
        except Exception as error:
            print(error, file=sys.stderr)
