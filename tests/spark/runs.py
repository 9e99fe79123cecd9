"""Runs whole scripts in the tests' own session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.cql import compile_script
from penstock.spark.pipeline import BatchReport
from penstock.spark.run import Run, RunOptions


def run(script: str, folder: Path, checkpoint: str = "ck", **options: Any) -> list[BatchReport]:
    """Runs `script`, which lies in `folder`, to the end of its sources, and gives what it reported."""
    reports: list[BatchReport] = []
    network = compile_script(script, str(folder / "app.cql"))
    given = {"until_idle": True, "close": True, **options}
    Run(network, RunOptions("local[2]", str(folder / checkpoint), **given), reports.append).go()
    return reports
