"""Figures 4.19 to 4.24: what happens after selectivities change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Any

from benchmarks.figures.filters_harness import Run, Workload, adaptation, spread_of
from benchmarks.figures.filters_pictures import lines
from penstock.settings import Settings

NAMES = ("a-greedy", "independent", "sweep", "local-swaps")
SELECTIVITIES = (0.15, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BATCH = 5_000
Row = dict[str, Any]


def figures(full: bool, seed: int) -> Iterator[Row]:
    """The change, and workloads that change all the time."""
    yield from _after_a_change(full, seed)
    yield from _changing(full, seed)


def _after_a_change(full: bool, seed: int) -> Iterator[Row]:
    """Selectivities are turned round, where order mattered most. A profile window is full again after 1,000 / p dropped
    tuples: within so many rows A-Greedy has to be back."""
    before = Workload(8, selectivity=SELECTIVITIES)
    after = replace(before, selectivity=SELECTIVITIES[::-1])
    settings = Settings()
    window = settings.profile_tuples / settings.drop_profiling
    taken: dict[str, list[float]] = {}
    traces: dict[str, list[float]] = {}
    for name in NAMES:
        found = [adaptation(name, before, after, seed + i, most=80, batch=BATCH) for i in range(5 if full else 2)]
        taken[name] = [80.0 * BATCH if rows is None else rows for rows, _ in found]
        longest = max(len(trace) for _, trace in found)
        traces[name] = [*found[0][1], *[found[0][1][-1]] * (longest - len(found[0][1]))]
    for name, rows in taken.items():
        value = median(rows)
        mine = name == "a-greedy"
        yield {"name": f"figures 4.19 to 4.21: rows until {name} is within 5% of the best order", "value": value,
               "unit": "rows", "spread": spread_of(rows), "bar": window * 1.25 if mine else None,
               "holds": not mine or value <= window * 1.25,
               "checked_against": "the optimum by enumeration; 80 batches where it never was"}  # fmt: skip
    for name in ("sweep", "local-swaps"):
        ratio = median(taken[name]) / median(taken["a-greedy"])
        yield {"name": f"figures 4.19, 4.20: {name} takes longer than A-Greedy by", "value": ratio, "unit": "ratio",
               "spread": None, "bar": 1.0, "holds": ratio > 1.0, "checked_against": None}  # fmt: skip
    count = max(map(len, traces.values()))
    lines("figures 4.19 to 4.21", "batches of 5,000 rows after the change", "cost over the best order's", range(count),
          {name: [*t, *[t[-1]] * (count - len(t))] for name, t in traces.items()})  # fmt: skip


def _changing(full: bool, seed: int) -> Iterator[Row]:
    """Figure 4.22: selectivities are permuted every so many rows; four filters cost ten times what four others do."""
    periods = (100_000, 1_000_000) if full else (100_000, 600_000)
    totals: dict[str, list[float]] = {name: [] for name in ("a-greedy", "sweep", "independent")}
    for period in periods:
        for name in totals:
            draw = random.Random(seed)
            workload = Workload(8, selectivity=SELECTIVITIES, probes=(1, 1, 1, 1, 4, 4, 4, 4))
            run = Run(workload, name, seed, batch=20_000)
            run.go(workload, 5)
            run.clear()
            for _ in range(max(2, (2_400_000 if full else 600_000) // period)):
                shuffled = tuple(draw.sample(SELECTIVITIES, 8))
                run.go(replace(workload, selectivity=shuffled), period // 20_000)
            totals[name].append(run.spent.total_s / run.spent.rows * 1e6)
    for place, period in enumerate(periods):
        ratio = totals["sweep"][place] / totals["a-greedy"][place]
        fast = period == periods[0]
        yield {"name": f"figure 4.22: time of Sweep over A-Greedy, a change every {period:,} rows", "value": ratio,
               "unit": "ratio", "spread": None, "bar": 1.0 if fast else None, "holds": not fast or ratio >= 1.0,
               "checked_against": None}  # fmt: skip
    lines("figure 4.22", "rows between changes", "microseconds a row", periods, totals)
