"""The bars of a delay target, kept by the guard for an ordinary job under twice its capacity. `penstock bench
control-guard` measures the same on a quiet machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.control_guard import CALM_S, SETTLING_S, TARGET_S, burst, capacity, p99_s, run


@pytest.mark.slow
def test_an_ordinary_job_under_twice_its_capacity_answers_in_time(spark: SparkSession, tmp_path: Path) -> None:
    rate, burst_s = capacity(spark, tmp_path, 0), 25.0
    done, counts = run(spark, tmp_path / "burst", burst(rate, 2.0, burst_s), TARGET_S, 0)
    assert counts["rows"] == counts["kept"] + counts["dropped"] and counts["dropped"] > 0.2 * counts["rows"]
    assert p99_s(done, CALM_S + SETTLING_S, CALM_S + burst_s) <= TARGET_S
