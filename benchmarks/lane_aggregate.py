"""Windowed aggregates on one core: what a sliding window costs beside a tumbling one, and rows a second.

The bar: `sum` over [Range 1 Hour Slide 1 Second] by key, for 1,000 keys that all occur every second, costs at most
1.5 times [Range 1 Second Slide 1 Second] over the same trains. Both run side by side, train by train, once the hour
is full. Before anything is timed, each window's sums are compared with sums kept in dictionaries.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.operators import registry
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.aggregates import resolve
from penstock.plan.nodes import AggregateCall, Source, WindowAggregate
from penstock.plan.schema import Schema
from penstock.plan.windows import SlideRange

SECOND = 1_000_000
HOUR = 3600
KEYS = 1000
SECONDS_A_TRAIN = 10
BAR = 1.5
SOURCE = Source("S", Schema.parse("k int, n bigint, x double"))
Figure = dict[str, Any]


def node(size: int, *sums: str) -> WindowAggregate:
    """Sums by key over windows of `size` seconds that slide by one."""
    calls = [AggregateCall(f"sum_{c}", "sum", c, resolve("sum", SOURCE.schema.type_of(c))) for c in sums]
    return WindowAggregate(SOURCE, SlideRange(size * SECOND, SECOND), ("k",), tuple(calls))


def trains(seconds: int, rows: int, keys: int, seed: int) -> Iterator[tuple[Train, int]]:
    """Trains of ten seconds: each key `rows` times a second, in random order, evenly spaced."""
    random = np.random.default_rng(seed)
    per_second = rows * keys
    for start in range(0, seconds, SECONDS_A_TRAIN):
        count = SECONDS_A_TRAIN * per_second
        ts = start * SECOND + np.arange(count) * SECOND // per_second
        k = np.concatenate([random.permutation(keys) for _ in range(SECONDS_A_TRAIN * rows)])
        columns = [Vector(k), Vector(random.integers(0, SECOND, count)), Vector(random.uniform(0, 1e6, count))]
        yield Train(columns, ts), (start + SECONDS_A_TRAIN) * SECOND


def check(seed: int) -> None:
    """Compares every sum of integers, and doubles within 1e-12, with dictionaries, over windows of 7 seconds and of
    1.
    """
    for size in (7, 1):
        operator = registry.build(node(size, "n", "x"), Context())
        seen: defaultdict[tuple[int, int], list[float]] = defaultdict(lambda: [0, 0.0])
        found: dict[tuple[int, int], tuple[int, float]] = {}
        for train, until in trains(60, 2, 50, seed):
            for ts, k, n, x in zip(train.ts.tolist(), *(c.values.tolist() for c in train.columns), strict=True):
                for end in range(ts // SECOND + 1, ts // SECOND + size + 1):
                    seen[end, k][0] += n
                    seen[end, k][1] += x
            out = operator.process([train], until)
            k, n, x, _, end = (c.values.tolist() for c in out.columns)
            found |= {(e // SECOND, key): (a, b) for e, key, a, b in zip(end, k, n, x, strict=True)}
        assert found.keys() == {(e, k) for e, k in seen if e < 60}, "windows or groups are missing"
        for place, (n, x) in found.items():
            assert n == seen[place][0] and abs(x - seen[place][1]) < 1e-12 * 1e6 * size * 2, f"{place}: wrong"


def costs(column: str, rows: int, seed: int, seconds: int) -> list[tuple[float, float]]:
    """Nanoseconds of processor time a row, tumbling and sliding, of each tenth of `seconds` after the first hour."""
    operators = [registry.build(node(size, column), Context()) for size in (1, HOUR)]
    spent: list[tuple[float, float]] = []
    for train, until in trains(HOUR + seconds, rows, KEYS, seed):
        took = []
        for operator in operators:
            before = time.process_time()
            operator.process([train], until)
            took.append((time.process_time() - before) / len(train) * 1e9)
        if until > HOUR * SECOND:
            spent.append((took[0], took[1]))
    tenth = max(1, len(spent) // 10)
    parts = [spent[i : i + tenth] for i in range(0, len(spent) - tenth + 1, tenth)]
    return [(statistics.median(a for a, _ in p), statistics.median(b for _, b in p)) for p in parts]


def figures(full: bool, seed: int) -> Iterator[Figure]:
    """The ratio against its bar, and rows a second of the tumbling window, by rows a key and second."""
    check(seed)
    for column, kind in (("n", "bigint"), ("x", "double")):
        for rows in (1, 5) if not full else (1, 5, 10):
            measured = costs(column, rows, seed, 1200 if full else 400)
            ratios = [b / a for a, b in measured]
            rates = [1e9 / a for a, _ in measured]
            what = f"sum of a {kind}, {KEYS} keys, {rows} rows a key and second"
            yield _figure(f"{what}: [Range 1 Hour Slide 1 Second] against tumbling", ratios, "times", BAR)
            yield _figure(f"{what}: tumbling", rates, "rows/s", None)


def _figure(name: str, values: list[float], unit: str, bar: float | None) -> Figure:
    value = statistics.median(values)
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "spread": max(values) - min(values),
        "bar": bar,
        "holds": bar is None or value <= bar,
        "checked_against": "sums kept in dictionaries, window by window",
    }


if __name__ == "__main__":
    from penstock.console.bench import describe

    for figure in figures(False, 1):
        print(describe(figure))
