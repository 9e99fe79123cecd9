"""Figures 4.19 to 4.24: what happens after selectivities change."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

from benchmarks.figures.filters_harness import Pool, Run, Workload, adaptation, spread_of
from benchmarks.figures.filters_pictures import lines
from penstock.adapt.orders import unit_cost
from penstock.settings import Settings

NAMES = ("a-greedy", "independent", "sweep", "local-swaps")
SELECTIVITIES = (0.15, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BATCH = 5_000
BATCH_CHANGING = 10_000
CHANGING = ("a-greedy", "sweep", "independent")
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
    periods = (50_000, 100_000, 300_000, 1_000_000) if full else (100_000, 1_000_000)
    totals = {period: _times(period, 10, full, seed) for period in periods}
    for period, times in totals.items():
        yield from _sweep(f"figure 4.22: a change every {period:,} rows", times, period)
    lines("figure 4.22", "rows between changes", "microseconds a row", periods,
          {name: [median(totals[period].us[name]) for period in periods] for name in CHANGING})  # fmt: skip
    for figure, period in (("figure 4.23", 100_000), ("figure 4.24", 1_000_000)):
        costs = (1, 10, 50) if full else (1, 10)
        found = {c: totals[period] if c == 10 else _times(period, c, full, seed) for c in costs}
        for c in costs:
            if c != 10:
                yield from _sweep(f"{figure}: cost {c}, a change every {period:,} rows", found[c], period)
        lines(figure, "cost of the expensive filters", "microseconds a row", costs,
              {name: [median(found[c].us[name]) for c in costs] for name in CHANGING})  # fmt: skip


@dataclass(frozen=True)
class Changed:
    """Of each algorithm, change by change: microseconds a row, and what its orders cost by the true statistics."""

    us: Mapping[str, list[float]]
    cost: Mapping[str, list[float]]


def _sweep(name: str, found: Changed, period: int) -> Iterator[Row]:
    """Sweep's time over A-Greedy's: above 1 where changes are fast, below where they are slow; and its orders' cost
    over that of A-Greedy's, which is the same without what finding them takes."""
    ratios = [a / b for a, b in zip(found.us["sweep"], found.us["a-greedy"], strict=True)]
    value, fast = median(ratios), period <= 100_000
    yield {"name": f"{name}: time of Sweep over A-Greedy (paper: {'over' if fast else 'under'} 1)", "value": value,
           "unit": "ratio", "spread": spread_of(ratios), "bar": 1.0,
           "holds": value >= 1 if fast else value <= 1, "checked_against": "the same rows in turns"}  # fmt: skip
    orders = sum(found.cost["sweep"]) / sum(found.cost["a-greedy"])
    yield {"name": f"{name}: cost of Sweep's orders over that of A-Greedy's", "value": orders, "unit": "ratio",
           "spread": None, "bar": None, "holds": True, "checked_against": "true statistics"}  # fmt: skip


def _times(period: int, cost: int, full: bool, seed: int) -> Changed:
    """All algorithms on the same rows, change by change."""
    draw = random.Random(seed)
    workload = Workload(8, selectivity=SELECTIVITIES, probes=(1, 1, 1, 1, *[cost] * 4))
    runs = {name: Run(workload, name, seed, batch=BATCH_CHANGING) for name in CHANGING}
    pool = Pool(workload, BATCH_CHANGING, seed, 5)
    for run in runs.values():
        run.go(workload, 10, pool)
    found = Changed({name: [] for name in CHANGING}, {name: [] for name in CHANGING})
    for number in range(max(3, (3_000_000 if full else 1_500_000) // period)):
        shuffled = replace(workload, selectivity=tuple(draw.sample(SELECTIVITIES, 8)))
        pool, facts = Pool(shuffled, BATCH_CHANGING, seed + number, 5), shuffled.statistics()
        for name in sorted(runs, reverse=number % 2 == 1):
            runs[name].clear()
            costs = []
            for _ in range(period // BATCH_CHANGING):
                costs.append(unit_cost(runs[name].order, facts))
                runs[name].go(shuffled, 1, pool)
            found.us[name].append(runs[name].spent.total_s / runs[name].spent.rows * 1e6)
            found.cost[name].append(mean(costs))
    return found
