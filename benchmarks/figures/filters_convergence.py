"""Figures 4.11 to 4.14: processing rates in steady conditions, by number of filters, selectivity and correlation.
Algorithms take turns batch by batch on the same rows, so that what the machine does meets all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.figures.filters_harness import Pool, Run, Workload, spread_of
from benchmarks.figures.filters_pictures import lines
from penstock.adapt.orders import Statistics, unit_cost

ALGORITHMS = ("a-greedy", "independent")
BATCH = 1_000_000
Row = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """What was measured of all algorithms on one workload: ratios of rates to Optimal's, and filters a tuple."""

    rates: Mapping[str, list[float]]
    costs: Mapping[str, float]

    def ratio(self, name: str, other: str) -> list[float]:
        """The rates of one over those of another, turn by turn."""
        return [a / b for a, b in zip(self.rates[name], self.rates[other], strict=True)]


def measured(workload: Workload, turns: int, seed: int, names: Sequence[str] = ALGORITHMS) -> Point:
    """Every algorithm and Optimal in turns, after they have settled."""
    best = workload.best()
    runs = {name: Run(workload, name, seed, batch=BATCH) for name in names}
    runs["optimal"] = Run(workload, "off", seed, order=best, batch=BATCH)
    pool = Pool(workload, BATCH, seed)
    for run in runs.values():
        run.go(workload, 4, pool)
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(turns):
        for name in sorted(runs, reverse=turn % 2 == 1):
            runs[name].clear()
            runs[name].go(workload, 1, pool)
            rates[name].append(runs[name].rate())
    statistics: Statistics = workload.statistics()
    return Point(rates, {name: unit_cost(run.order, statistics) for name, run in runs.items()})


def figures(full: bool, seed: int) -> Iterator[Row]:
    """Each point is checked before it is timed: an order is a permutation, and none costs less than the optimum."""
    turns = 31 if full else 15
    by_n = {n: measured(Workload(n), turns, seed) for n in ((2, 3, 4, 5, 6, 8, 10) if full else (3, 5, 8))}
    yield from _told("4.11", "n", by_n)
    yield from _told("4.12", "selectivity",
                     {s: measured(Workload(5, selectivity=(s,)), turns, seed)
                      for s in ((0.1, 0.3, 0.5, 0.7, 0.9) if full else (0.3, 0.7))})  # fmt: skip
    yield from _told("4.13", "gamma for n = 3",
                     {g: measured(Workload(3, g), turns, seed) for g in (1, 2, 3)})  # fmt: skip
    yield from _told("4.14", "gamma for n = 8",
                     {g: measured(Workload(8, g), turns, seed)
                      for g in ((1, 2, 4, 8) if full else (1, 4))})  # fmt: skip


def _told(figure: str, axis: str, points: Mapping[Any, Point]) -> Iterator[Row]:
    for x, point in points.items():
        least = point.costs["optimal"]
        assert all(cost >= least * (1 - 1e-9) for cost in point.costs.values()), "no order is better than the best"
        ratio = point.ratio("a-greedy", "independent")
        yield _row(f"figure {figure}: A-Greedy over Independent at {axis} {x}", ratio, 0.98)
        near = point.ratio("a-greedy", "optimal")
        few = figure == "4.11" and int(x) <= 5
        yield _row(f"figure {figure}: A-Greedy over Optimal at {axis} {x}", near, 0.95 if few else None)
    names = next(iter(points.values())).rates
    lines(f"figure {figure}", axis, "rows a processor second", list(points),
          {name: [median(p.rates[name]) for p in points.values()] for name in names})  # fmt: skip


def _row(name: str, values: Sequence[float], bar: float | None) -> Row:
    value = median(values)
    return {"name": name, "value": value, "unit": "ratio", "spread": spread_of(values), "bar": bar,
            "holds": bar is None or value >= bar,
            "checked_against": "orders and their exact costs by enumeration"}  # fmt: skip
