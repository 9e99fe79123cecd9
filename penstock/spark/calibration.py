"""What each filter at the gate costs: Catalyst says nothing of it, so it is measured on a sample (Babu 4.3.1).

Some rows of a batch are kept in memory, many times over, and counted through each filter alone: what that takes longer
than counting them through none is the filter's time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.spark.filters import GateFilters

SAMPLE: Final = 2_000
COPIES: Final = 400
"""Rows that are looked at, and how often: so many that their work stands out of what a job costs."""
TIMES: Final = 3
LONG_S: Final = 0.5
"""The least of so many is the time: the first makes code. What takes long stands out of the noise at once."""
FLOOR_S: Final = 2e-9
"""No filter is taken for cheaper: about a comparison."""


def unit_costs(rows: DataFrame, gate: GateFilters) -> list[float] | None:
    """Seconds a row of each filter of `gate`, on rows as they leave the gate; None where there are too few rows."""
    table = cast(Any, rows.where(F.col("_entry") == gate.entry.number).limit(SAMPLE)).toArrow()
    if table.num_rows < SAMPLE // 4:
        return None
    spark = rows.sparkSession
    sample = spark.createDataFrame(table).crossJoin(spark.range(COPIES).hint("broadcast")).coalesce(1).cache()
    try:
        count = sample.count()
        conditions = gate.conditions()
        nothing = _least_s(sample, [])
        return [max(FLOOR_S, (_least_s(sample, [c]) - nothing) / count) for c in conditions]
    finally:
        sample.unpersist()


def _least_s(sample: DataFrame, filters: Sequence[Column]) -> float:
    """The time to count the rows that pass."""
    counted = sample.agg(*(F.count(F.when(c, 1)) for c in filters), F.count(F.lit(1)))
    taken: list[float] = []
    while len(taken) < TIMES and sum(taken) < LONG_S:
        started = time.perf_counter()
        counted.collect()
        taken.append(time.perf_counter() - started)
    return min(taken)
