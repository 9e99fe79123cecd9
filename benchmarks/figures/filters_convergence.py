"""Figures 4.11 to 4.15, 4.17: processing rates in steady conditions, by number of filters, selectivity, correlation and
cost. Algorithms take turns batch by batch, so that what the machine does meets all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.figures.filters_harness import Run, Workload, spread_of
from benchmarks.figures.filters_pictures import lines
from penstock.adapt.orders import Statistics, unit_cost

ALGORITHMS = ("a-greedy", "independent", "sweep", "local-swaps")
BATCH = 200_000
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
    for run in runs.values():
        run.go(workload, 25 if "sweep" in names else 8)
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(turns):
        for name, run in runs.items():
            run.clear()
            run.go(workload, 1)
            rates[name].append(run.rate())
    statistics: Statistics = workload.statistics()
    return Point(rates, {name: unit_cost(run.order, statistics) for name, run in runs.items()})


def figures(full: bool, seed: int) -> Iterator[Row]:
    """Each point is checked before it is timed: an order is a permutation, and none costs less than the optimum."""
    turns = 15 if full else 7
    by_n = {n: measured(Workload(n), turns, seed) for n in ((2, 3, 4, 5, 6, 8, 10) if full else (3, 5, 8))}
    yield from _told("4.11", "n", by_n)
    yield from _told("4.12", "selectivity",
                     {s: measured(Workload(5, selectivity=(s,)), turns, seed, ALGORITHMS[:2])
                      for s in ((0.1, 0.3, 0.5, 0.7, 0.9) if full else (0.3, 0.7))})  # fmt: skip
    yield from _told("4.13", "gamma for n = 3",
                     {g: measured(Workload(3, g), turns, seed, ALGORITHMS[:2]) for g in (1, 2, 3)})  # fmt: skip
    yield from _told("4.14", "gamma for n = 8",
                     {g: measured(Workload(8, g), turns, seed, ALGORITHMS[:2])
                      for g in ((1, 2, 4, 8) if full else (1, 4))})  # fmt: skip
    yield from _told("4.17", "cost c for n = 8",
                     {c: measured(Workload(8, probes=(1, 1, 1, 1, c, c, c, c)), turns, seed)
                      for c in ((1, 4, 8) if full else (4,))})  # fmt: skip


def _told(figure: str, axis: str, points: Mapping[Any, Point]) -> Iterator[Row]:
    for x, point in points.items():
        least = point.costs["optimal"]
        assert all(cost >= least * (1 - 1e-9) for cost in point.costs.values()), "no order is better than the best"
        ratio = point.ratio("a-greedy", "independent")
        yield _row(f"figure {figure}: A-Greedy over Independent at {axis} {x}", ratio, 0.98)
        near = point.ratio("a-greedy", "optimal")
        few = figure == "4.11" and int(x) <= 5
        yield _row(f"figure {figure}: A-Greedy over Optimal at {axis} {x}", near, 0.95 if few else None)
        for name in point.rates:
            if name in ("sweep", "local-swaps") and figure in ("4.11", "4.17"):
                label = "4.15" if figure == "4.11" else figure
                yield _row(f"figure {label}: {name} over A-Greedy at {axis} {x}", point.ratio(name, "a-greedy"), None)
    names = next(iter(points.values())).rates
    lines(f"figure {figure}", axis, "rows a processor second", list(points),
          {name: [median(p.rates[name]) for p in points.values()] for name in names})  # fmt: skip


def _row(name: str, values: Sequence[float], bar: float | None) -> Row:
    value = median(values)
    return {"name": name, "value": value, "unit": "ratio", "spread": spread_of(values), "bar": bar,
            "holds": bar is None or value >= bar,
            "checked_against": "orders and their exact costs by enumeration"}  # fmt: skip
