"""Beyond the paper: 100 queries over one stream whose filters overlap, each filter evaluated once for all of them.

First in the lane engine, by its processor time: every query with a chain of its own, under A-Greedy; filters shared in
the order as written; shared in the order for all, found as the stream goes. Results are compared before. Then what is
counted: evaluations, weighed with their costs, on 5,000 correlated tuples: each query for itself in its own greedy
order; shared, in the order that the queries' own greedy orders have on average; shared, in the order for all.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from benchmarks.figures.filters_harness import Workload, spread_of
from penstock.adapt.filter_orders import FilterOrders
from penstock.adapt.orders import Statistics, static_greedy, unit_cost
from penstock.adapt.shared_orders import shared_cost, shared_order
from penstock.control.change_gate import ChangeGate
from penstock.control.loop import Loop
from penstock.cql import compile_script
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.filters import Order
from penstock.plan.network import Network
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, Reorder
from penstock.plan.shared_filters import shared_filters
from penstock.plan.types import STRING
from penstock.stats.snapshot import Snapshot

QUERIES, FILTERS, TUPLES = 100, 20, 5_000
ROWS = 50_000
NAMES = ("alpha", "bravo", "delta", "gamma")
WORDS = [f"{NAMES[i % 4]}-{i}-{i * 7919 % 1000}" for i in range(20_000)]
COMPARISONS = [f"v{i % 5} {'>' if i % 2 else '<'} {15 + 11 * i % 70}" for i in range(FILTERS)]
EXPRESSIONS = [f"w RLIKE '{'abdg'[i % 4]}[a-z]+-[0-9]*{i % 7}'" for i in range(FILTERS // 4)]
MIXED = [*EXPRESSIONS, *COMPARISONS[len(EXPRESSIONS) :]]
Row = dict[str, Any]


def figures(full: bool, seed: int) -> Iterator[Row]:
    """The engine, then gains over several draws of queries and data; the order is chosen on half of the tuples, judged
    on the others."""
    yield from _in_the_engine(full, seed)
    alone, average = [], []
    for draw in range(9 if full else 3):
        own, mean, shared = _measured(seed + draw)
        alone.append(own / shared)
        average.append(mean / shared)
    for name, values in (("each query for itself", alone), ("sharing in the queries' average order", average)):
        value = median(values)
        yield {"name": f"100 queries, 20 filters, counted: cost of {name} over one order for all", "value": value,
               "unit": "ratio", "spread": spread_of(values), "bar": None, "holds": True,
               "checked_against": "counted evaluations, on tuples that the order was not chosen by"}  # fmt: skip


def _in_the_engine(full: bool, seed: int) -> Iterator[Row]:
    """Throughput with sharing over that without it, on comparisons, and where every fourth filter is an expression."""
    for kind, tests in (("comparisons", COMPARISONS), ("comparisons and regular expressions", MIXED)):
        draw, rng = random.Random(seed), np.random.default_rng(seed)
        network = optimize(compile_script(_script(tests, draw)))
        ways = {"alone": Engine(network, "a-greedy", False), "written": Engine(network, None, True),
                "shared": Engine(network, "a-greedy", True)}  # fmt: skip
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(40 if full else 20):
            values = rng.integers(0, 100, (ROWS, FILTERS // 4)), rng.integers(0, len(WORDS), ROWS)
            for name in sorted(ways, reverse=turn % 2 == 1):
                taken[name].append(ways[name].run(*values))
            counts = {tuple(way.counts()) for way in ways.values()}
            assert len(counts) == 1, "every query gets as many rows whatever is shared"
        settled = {name: seconds[len(seconds) // 2 :] for name, seconds in taken.items()}
        others = {"alone": "a chain for each query, A-Greedy", "written": "sharing in the order as written"}
        for other, what in others.items():
            ratios = [a / b for a, b in zip(settled[other], settled["shared"], strict=True)]
            yield {"name": f"100 queries, 20 {kind}, in the engine: sharing with one order over {what}",
                   "value": median(ratios), "unit": "ratio of throughputs", "spread": spread_of(ratios), "bar": None,
                   "holds": True, "checked_against": "rows of every query, batch by batch"}  # fmt: skip


class Engine:
    """A lane with its loop: filters shared or not, in orders that are found (`ordering`) or as written (None)."""

    def __init__(self, network: Network, ordering: str | None, shared: bool) -> None:
        groups = shared_filters(network.nodes()) if shared else ()
        plan = Plan(network)
        if ordering is None:
            plan = plan.apply(*(Reorder(g, tuple(range(len(g.conditions)))) for g in groups))
        orders = [] if ordering is None else [FilterOrders.over(ordering, network.nodes(), shared=groups)]
        self.lane, self.loop, self.now = Lane(network, optimized=False), Loop(plan, orders, ChangeGate()), 0
        self.names = [q.name for q in network.queries]
        if orders:
            self.loop.step(Snapshot(0, 0.0))
        self.lane.adopt(self.loop.plan)

    def run(self, numbers: Any, words: Any) -> float:
        """Seconds of one batch, its results not taken yet."""
        texts = self.lane.dictionaries.of(STRING).encode([WORDS[w] for w in words])
        ts = self.now + np.arange(1, len(words) + 1)
        self.now = int(ts[-1])
        train = Train([*(Vector(numbers[:, i].copy()) for i in range(numbers.shape[1])), texts], ts)
        started = time.perf_counter()
        self.lane.push("s", train, self.now + 1)
        self.lane.run()
        looked = replace(self.lane.snapshot(), now_s=time.monotonic(), profiles=self.lane.profiled())
        self.lane.adopt(self.loop.step(looked))
        self.loop.log.clear()
        return time.perf_counter() - started

    def counts(self) -> list[int]:
        """Rows that each query has got since."""
        return [sum(map(len, self.lane.take(name))) for name in self.names]


def _script(tests: Sequence[str], draw: random.Random) -> str:
    columns = ", ".join(f"v{i} BIGINT" for i in range(FILTERS // 4))
    queries = [draw.sample(tests, draw.randint(3, 6)) for _ in range(QUERIES)]
    return f"CREATE STREAM s ({columns}, w STRING);\n" + "\n".join(
        f"CREATE QUERY q{i} AS SELECT v0, v1 FROM s WHERE {' AND '.join(conditions)};"
        for i, conditions in enumerate(queries)
    )


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
