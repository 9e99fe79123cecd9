"""Runs whole scripts in the tests' own session."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from penstock.cql import compile_script
from penstock.spark.batch import BatchReport
from penstock.spark.run import Run, RunOptions

PATIENCE_S = 60
"""After so long a run is stopped: what should have failed by then has not."""


def run(script: str, folder: Path, checkpoint: str = "ck", **options: Any) -> list[BatchReport]:
    """Runs `script`, which lies in `folder`, to the end of its sources, and gives what it reported."""
    reports: list[BatchReport] = []
    network = compile_script(script, str(folder / "app.cql"))
    given = {"until_idle": True, "close": True, **options}
    running = Run(network, RunOptions("local[2]", str(folder / checkpoint), **given), reports.append)
    late = threading.Timer(PATIENCE_S, running.stop)
    late.start()
    try:
        running.go()
    finally:
        late.cancel()
    return reports
