"""Beyond the paper: 100 queries over one stream whose filters overlap, each filter evaluated once for all of them.

What is counted are evaluations, weighed with their costs, on 5,000 correlated tuples: each query for itself in its own
greedy order; shared, in the order that the queries' own greedy orders have on average; shared, in the order for all.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.figures.filters_harness import Workload, spread_of
from penstock.adapt.orders import Statistics, static_greedy, unit_cost
from penstock.adapt.shared_orders import shared_cost, shared_order
from penstock.plan.filters import Order

QUERIES, FILTERS, TUPLES = 100, 20, 5_000
Row = dict[str, Any]


def figures(full: bool, seed: int) -> Iterator[Row]:
    """Gains over several draws of queries and data; the order is chosen on half of the tuples, judged on the others."""
    alone, average = [], []
    for draw in range(9 if full else 3):
        own, mean, shared = _measured(seed + draw)
        alone.append(own / shared)
        average.append(mean / shared)
    for name, values in (("each query for itself", alone), ("sharing in the queries' average order", average)):
        value = median(values)
        yield {"name": f"100 queries, 20 filters: cost of {name} over one order for all", "value": value,
               "unit": "ratio", "spread": spread_of(values), "bar": None, "holds": True,
               "checked_against": "counted evaluations, on tuples that the order was not chosen by"}  # fmt: skip


def _measured(seed: int) -> tuple[float, float, float]:
    rng, draw = np.random.default_rng(seed), random.Random(seed)
    selectivity = tuple(draw.uniform(0.2, 0.9) for _ in range(FILTERS))
    drops = ~Workload(FILTERS, 4, selectivity).passes(TUPLES, rng)
    bits = (drops.astype(np.int64) << np.arange(FILTERS)).sum(axis=1)
    costs = [draw.choice((1.0, 1.0, 5.0, 20.0)) for _ in range(FILTERS)]
    queries = [sum(1 << f for f in draw.sample(range(FILTERS), draw.randint(3, 6))) for _ in range(QUERIES)]
    known, judged = bits[: TUPLES // 2], bits[TUPLES // 2 :]
    own = [_own_order(word, known, costs) for word in queries]
    alone = sum(unit_cost(order, _facts(judged, costs, order)) for order in own)
    mean = shared_cost(_average(own), judged, costs, queries)
    return alone, mean, shared_cost(shared_order(known, costs, queries), judged, costs, queries)


def _own_order(word: int, bits: Any, costs: Sequence[float]) -> Order:
    mine = [f for f in range(FILTERS) if word >> f & 1]
    order = static_greedy(_facts(bits, costs, mine, narrow=True))
    return tuple(mine[f] for f in order)


def _facts(bits: Any, costs: Sequence[float], filters: Sequence[int], narrow: bool = False) -> Statistics:
    """The tuples as the query with these filters sees them."""
    if narrow:
        words = sum((bits >> f & 1) << place for place, f in enumerate(filters))
        return Statistics(words, np.array([costs[f] for f in filters]))
    return Statistics(bits, np.array(costs))


def _average(orders: Sequence[Order]) -> Order:
    """Filters by their average place in the orders that have them."""
    places: dict[int, list[int]] = {f: [] for f in range(FILTERS)}
    for order in orders:
        for place, f in enumerate(order):
            places[f].append(place)
    return tuple(sorted(places, key=lambda f: sum(places[f]) / max(1, len(places[f]))))
