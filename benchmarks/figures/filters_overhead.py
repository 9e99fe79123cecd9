"""Table 4.2 and figures 4.15 to 4.18: where the time goes under each algorithm, in steady conditions.

Profiling is what an algorithm's rounds take longer than rounds of the same batches under the order it has settled on,
fixed, one after the other; the loop and its parts are timed where they happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.figures.filters_harness import Pool, Run, Workload, spread_of
from benchmarks.figures.filters_pictures import bars, lines
from penstock.adapt.orders import unit_cost
from penstock.settings import Settings

BATCH = 1_000_000
BARS = {(3, 0.01): 0.02, (3, 0.05): 0.06, (8, 0.01): 0.04, (8, 0.05): 0.16}
PAPER = {(3, 0.01): 0.0123, (3, 0.05): 0.0583, (8, 0.01): 0.0338, (8, 0.05): 0.1523}
NAMES = ("a-greedy", "independent", "sweep", "local-swaps")
PARTS = ("tuples", "profiling", "window", "view", "violations", "loop")
Row = dict[str, Any]


@dataclass(frozen=True)
class Breakdown:
    """Shares of processor time: what profiling and re-optimising add, round by round, and the medians of `PARTS`; the
    time of rows over that of the same rows in the best order; and what the order costs, over the best."""

    extra: Sequence[float]
    parts: Mapping[str, float]
    over_best: Sequence[float]
    cost: float


def breakdown(workload: Workload, name: str, rounds: int, seed: int, p: float, batch: int = BATCH) -> Breakdown:
    """One algorithm, the order it has settled on, and the best one, in turns."""
    settings, pool = Settings(drop_profiling=p), Pool(workload, batch, seed)
    adaptive = Run(workload, name, seed, settings, batch=batch)
    adaptive.go(workload, 3 if name == "a-greedy" else 24, pool)
    fixed = Run(workload, "off", seed, order=adaptive.order, batch=batch)
    best = Run(workload, "off", seed, order=workload.best(), batch=batch)
    listed: list[dict[str, float]] = []
    over: list[float] = []
    for turn in range(rounds + 1):
        trio = (adaptive, fixed, best) if turn % 2 else (best, fixed, adaptive)
        for run in trio:
            run.clear()
            run.go(workload, 1, pool)
        if turn:
            listed.append(_parts(adaptive, fixed))
            over.append(best.spent.total_s / adaptive.spent.total_s)
    extra = [1 - parts["tuples"] for parts in listed]
    facts = workload.statistics()
    cost = unit_cost(adaptive.order, facts) / unit_cost(workload.best(), facts)
    return Breakdown(extra, {part: median(found[part] for found in listed) for part in PARTS}, over, cost)


def _parts(adaptive: Run, fixed: Run) -> dict[str, float]:
    spent, all_s = adaptive.spent, adaptive.spent.total_s
    inner = spent.window_s + spent.view_s + spent.violations_s
    seconds = {"tuples": fixed.spent.total_s, "profiling": all_s - fixed.spent.total_s - spent.loop_s,
               "window": spent.window_s, "view": spent.view_s, "violations": spent.violations_s,
               "loop": spent.loop_s - inner}  # fmt: skip
    return {part: s / all_s for part, s in seconds.items()}


def figures(full: bool, seed: int) -> Iterator[Row]:
    """The table first, then all algorithms by number and cost of filters."""
    rounds = 121 if full else 61
    table = {(n, p): breakdown(Workload(n), "a-greedy", rounds, seed, p) for n, p in BARS}
    for (n, p), found in table.items():
        value, bar = median(found.extra), BARS[n, p]
        yield {"name": f"table 4.2: overhead of A-Greedy, n = {n}, p = {p:g} (paper {PAPER[n, p]:.2%})",
               "value": value, "unit": "share of processor time", "spread": spread_of(found.extra), "bar": bar,
               "holds": value <= bar, "checked_against": "the same order without profiling, in turns"}  # fmt: skip
        for part in PARTS[1:]:
            yield {"name": f"table 4.2: of it {part}, n = {n}, p = {p:g}", "value": found.parts[part],
                   "unit": "share of processor time", "spread": None, "bar": None, "holds": True,
                   "checked_against": None}  # fmt: skip
    bars("table 4.2", {f"n={n} p={p:g}": b.parts for (n, p), b in table.items()}, PARTS)
    yield from _all("4.15", "4.16", "n", {n: Workload(n) for n in ((3, 5, 8, 10) if full else (3, 8))}, full, seed)
    dear = {c: Workload(8, probes=(1, 1, 1, 1, c, c, c, c)) for c in ((1, 10, 50, 100) if full else (1, 10))}
    yield from _all("4.17", "4.18", "cost c for n = 8", dear, full, seed)


def _all(figure: str, below: str, axis: str, workloads: Mapping[int, Workload], full: bool, seed: int) -> Iterator[Row]:
    """All algorithms at p = 0.05: rates over Optimal's, and where the time goes."""
    rounds = 15 if full else 9
    found: dict[tuple[str, int], Breakdown] = {}
    for x, workload in workloads.items():
        batch = 400_000 if max(workload.costs()) == 1 else 100_000
        for name in NAMES:
            found[name, x] = breakdown(workload, name, rounds, seed, 0.05, batch)
    for (name, x), b in found.items():
        yield {"name": f"figure {figure}: {name} over Optimal at {axis} {x}, p = 0.05", "value": median(b.over_best),
               "unit": "ratio", "spread": spread_of(b.over_best), "bar": None, "holds": True,
               "checked_against": f"its order costs {b.cost:.3f} of the best by enumeration"}  # fmt: skip
        yield {"name": f"figure {below}: overhead of {name} at {axis} {x}, p = 0.05", "value": median(b.extra),
               "unit": "share of processor time", "spread": spread_of(b.extra), "bar": None, "holds": True,
               "checked_against": "the same order without profiling, in turns"}  # fmt: skip
    lines(f"figure {figure}", axis, "rate over Optimal's", list(workloads),
          {name: [median(found[name, x].over_best) for x in workloads] for name in NAMES})  # fmt: skip
    ends = (min(workloads), max(workloads))
    shown = {f"{name} {x}": found[name, x].parts for x in ends for name in NAMES}
    bars(f"figure {below}", shown, PARTS)
