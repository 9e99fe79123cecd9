"""Beyond the paper: profiling runs of rows against sampling single ones, on trains of two lengths."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.figures.filters_harness import Run, Workload, spread_of
from penstock.settings import Settings

Row = dict[str, Any]


def figures(full: bool, seed: int) -> Iterator[Row]:
    """Time over that of the same order without profiling, in turns, at p = 0.05."""
    for n in (3, 8):
        for batch in (500, 100_000):
            times = _times(n, batch, (15 if full else 7), seed)
            for way, unit in (("runs", "runs of rows"), ("rows", "single rows")):
                values = [t / f - 1 for t, f in zip(times[way], times["fixed"], strict=True)]
                yield {"name": f"profiling {unit}, trains of {batch:,}, n = {n}, p = 0.05", "value": median(values),
                       "unit": "time more than without", "spread": spread_of(values), "bar": None, "holds": True,
                       "checked_against": "the same order without profiling, in turns"}  # fmt: skip


def _times(n: int, batch: int, rounds: int, seed: int) -> dict[str, list[float]]:
    workload, settings = Workload(n), Settings(drop_profiling=0.05)
    count = max(2, 100_000 // batch)
    runs = {"runs": Run(workload, "a-greedy", seed, settings, batch=batch),
            "rows": Run(workload, "a-greedy", seed, settings, batch=batch, whole=False)}  # fmt: skip
    for run in runs.values():
        run.go(workload, max(6, 20_000 // batch))
    runs["fixed"] = Run(workload, "off", seed, order=runs["runs"].order, batch=batch)
    runs["fixed"].go(workload, 3)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            run.clear()
            run.go(workload, count)
            # The loop runs after every batch, however short: what is compared is the way rows are profiled.
            times[name].append(run.spent.total_s - run.spent.loop_s)
    return times
