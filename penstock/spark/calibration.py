"""What each filter at the gate costs: Catalyst says nothing of it, so it is measured on a sample (Babu 4.3.1).

Some rows of a batch are taken, and counted many times over through each filter alone: what that takes longer than
counting them through none is the filter's time. One that does not stand out is asked about more copies. Comparisons are
not measured: they are known to cost next to nothing, and what a job takes varies by more. The work is cut into jobs of
some tens of milliseconds, so that no batch has to wait for more than a few.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, Final, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.plan.filters import COMPARISON_S
from penstock.plan.functions import expensive
from penstock.spark.filters import GateFilters
from penstock.spark.lanes.wire import LETTER

SAMPLE: Final = 500
"""Rows that are looked at."""
COPIES: Final = (20, 200)
"""How often: more often where a filter does not stand out."""
CLEAR_S: Final = 0.01
"""What stands out of the differences between two equal jobs."""
TIMES: Final = 3
"""The least of so many counts, after one that makes code."""
Costs = Generator[None, None, list[float]]
"""Yields after each job; returns the seconds a row of each filter, 0 for one that the gate does not ask."""


def sampled(rows: DataFrame, gate: GateFilters) -> pa.Table | None:
    """Some rows of `gate`, as they leave the gate; None where there are too few. What is kept of malformed rows stays
    behind: it is NULL here, and a type that PySpark cannot bring."""
    mine = rows.where(F.col("_entry") == gate.entry.number).drop(LETTER)
    table = cast(Any, mine.limit(SAMPLE)).toArrow()
    return table if table.num_rows == SAMPLE else None


def unit_costs(spark: SparkSession, table: pa.Table, gate: GateFilters) -> Costs:
    """Seconds a row of each filter of `gate`."""
    conditions = gate.conditions()
    costs = {i: COMPARISON_S for i in conditions if not expensive(gate.filters[i])}
    for copies in COPIES if len(costs) < len(conditions) else ():
        sample = spark.range(0, copies, 1, 1).crossJoin(F.broadcast(spark.createDataFrame(table)))
        nothing = yield from _least_s(sample, [])
        for i, condition in conditions.items():
            if i not in costs:
                more = (yield from _least_s(sample, [condition])) - nothing
                if more > CLEAR_S or copies == COPIES[-1]:
                    costs[i] = max(COMPARISON_S, more / (copies * table.num_rows))
        if len(costs) == len(conditions):
            break
    return [costs.get(i, 0.0) for i in range(len(gate.filters))]


def _least_s(sample: DataFrame, filters: list[Column]) -> Generator[None, None, float]:
    """The time to count the rows that pass."""
    counted = sample.agg(*(F.count(F.when(c, 1)) for c in filters), F.count(F.lit(1)))
    taken: list[float] = []
    for _ in range(TIMES + 1):
        started = time.perf_counter()
        counted.collect()
        taken.append(time.perf_counter() - started)
        yield
    return min(taken[1:])
