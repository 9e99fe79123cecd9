"""A network of 1,140 filters and projections in 100 queries that share prefixes, through the whole lane.

Ten chains of 4 operators are shared by ten queries each, every query goes on alone for 11 more: 40 + 1,100. Filters and
projections that compute a column take turns; each filter passes 97% of its rows or more, so that trains stay long.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.cql import parse_expression
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.plan.expressions import Column
from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import Filter, Map, Source
from penstock.plan.schema import Schema

PREFIXES, SHARED, QUERIES, OWN = 10, 4, 100, 11
OPERATORS = PREFIXES * SHARED + QUERIES * OWN
TRAIN_ROWS = 500
BAR_US = 15.0
LARGEST = 1 << 30
SCHEMA = Schema.parse("a bigint, b bigint, c double")
Figure = dict[str, Any]


def network() -> Network:
    """The queries, before any rewrite."""
    source: Node = Source("s", SCHEMA)
    prefixes = [_chain(source, SHARED, p) for p in range(PREFIXES)]
    roots = [_chain(prefixes[q % PREFIXES], OWN, 100 + q) for q in range(QUERIES)]
    return Network(queries=tuple(Query(f"q{i}", root) for i, root in enumerate(roots)))


def _chain(node: Node, length: int, seed: int) -> Node:
    for i in range(length):
        node = _filter(node, seed, i) if i % 2 == 0 else _map(node, seed, i)
    return node


def _filter(node: Node, seed: int, i: int) -> Node:
    column = ("a", "b")[(seed + i) % 2]
    return Filter(node, parse_expression(f"{column} > {_threshold(seed, i)}", node.schema))


def _threshold(seed: int, i: int) -> int:
    """A bound that differs from filter to filter, below which few values lie."""
    return (seed * 7 + i * 13) % 97 * (LARGEST // 3000)


def _map(node: Node, seed: int, i: int) -> Node:
    kept = [(f.name, Column(f.name, f.type)) for f in node.schema if f.name != "b"]
    return Map(node, (*kept, ("b", parse_expression(f"a + {seed + i}", node.schema))))


def columns(random: np.random.Generator, rows: int) -> list[Array]:
    """The values of a train."""
    return [random.integers(0, LARGEST, rows), random.integers(0, LARGEST, rows), random.random(rows)]


def expected(values: list[Array], query: int) -> tuple[int, int]:
    """How many rows a query passes of `values`, and the sum of what it calls b: by plain masks over whole arrays."""
    a, b = values[0], values[1]
    for length, seed in ((SHARED, query % PREFIXES), (OWN, 100 + query)):
        for i in range(length):
            if i % 2 == 0:
                passed = (a, b)[(seed + i) % 2] > _threshold(seed, i)
                a, b = a[passed], b[passed]
            else:
                b = a + seed + i
    return len(a), int(b.sum())


def _push(lane: Lane, values: list[Array], start: int) -> int:
    ts = np.arange(start, start + len(values[0]))
    lane.push("s", Train([Vector(v) for v in values], ts, seq=ts), start + len(ts))
    return start + len(ts)


def check(seed: int) -> None:
    """Every query's count and sum over three trains, against plain masks."""
    random = np.random.default_rng(seed)
    lane, now = Lane(network(), optimized=False), 0
    for _ in range(3):
        values = columns(random, TRAIN_ROWS)
        now = _push(lane, values, now)
        lane.run()
        for q in range(QUERIES):
            taken = lane.take(f"q{q}")
            found = (sum(map(len, taken)), sum(int(t.column(t.width - 1).values.sum()) for t in taken))
            assert found == expected(values, q), f"query {q}: {found}"


def run_us(seed: int, trains: int) -> float:
    """Microseconds per operator and train, results taken."""
    random = np.random.default_rng(seed)
    lane, now = Lane(network(), optimized=False), 0
    batches = [columns(random, TRAIN_ROWS) for _ in range(trains)]
    for values in batches[:3]:
        now = _push(lane, values, now)
        lane.run()
    started = time.perf_counter()
    for values in batches:
        now = _push(lane, values, now)
        lane.run()
        for q in range(QUERIES):
            lane.take(f"q{q}")
    return (time.perf_counter() - started) / trains / OPERATORS * 1e6


def figures(full: bool, seed: int) -> Iterator[Figure]:
    """The cost of an operator and train."""
    check(seed)
    made = len(network().nodes()) - 1
    assert made == OPERATORS, made
    costs = [run_us(seed + i, 200 if full else 40) for i in range(5)]
    value = statistics.median(costs)
    yield {
        "name": f"{OPERATORS} filters and projections in {QUERIES} queries, trains of {TRAIN_ROWS}",
        "value": value,
        "unit": "us per operator and train",
        "spread": max(costs) - min(costs),
        "bar": BAR_US,
        "holds": value <= BAR_US,
        "checked_against": "each query's count and sum, by NumPy masks over whole arrays",
    }
