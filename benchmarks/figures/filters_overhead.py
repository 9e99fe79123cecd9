"""Table 4.2 and figures 4.16, 4.18: where the time goes under A-Greedy, in steady conditions."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.figures.filters_harness import Run, Workload, spread_of
from penstock.settings import Settings

BATCH = 1_000_000
BARS = {(3, 0.01): 0.02, (3, 0.05): 0.06, (8, 0.01): 0.04, (8, 0.05): 0.16}
PAPER = {(3, 0.01): 0.0123, (3, 0.05): 0.0583, (8, 0.01): 0.0338, (8, 0.05): 0.1523}
Row = dict[str, Any]


def figures(full: bool, seed: int) -> Iterator[Row]:
    """The time that profiling and re-optimising add, as a share of all: rounds of the same batches under A-Greedy and
    under the order it has settled on, fixed, one after the other. Beside it the share of the loop alone."""
    for (n, p), bar in BARS.items():
        workload, rounds = Workload(n), 13 if full else 7
        adaptive = Run(workload, "a-greedy", seed, Settings(drop_profiling=p), batch=BATCH)
        adaptive.go(workload, 5)
        fixed = Run(workload, "off", seed, order=adaptive.order, batch=BATCH)
        fixed.go(workload, 1)
        extra, loop = [], []
        for turn in range(rounds):
            pair = (adaptive, fixed) if turn % 2 else (fixed, adaptive)
            for run in pair:
                run.clear()
                run.go(workload, 1)
            extra.append(1 - fixed.spent.total_s / adaptive.spent.total_s)
            loop.append(adaptive.spent.loop_s / adaptive.spent.total_s)
        value = median(extra)
        yield {"name": f"table 4.2: overhead of A-Greedy, n = {n}, p = {p:g} (paper {PAPER[n, p]:.2%})",
               "value": value, "unit": "share of processor time", "spread": spread_of(extra), "bar": bar,
               "holds": value <= bar, "checked_against": "the same order without profiling, in turns"}  # fmt: skip
        yield {"name": f"table 4.2: of it window, view, violations and loop, n = {n}, p = {p:g}", "value": median(loop),
               "unit": "share of processor time", "spread": spread_of(loop), "bar": None, "holds": True,
               "checked_against": None}  # fmt: skip
