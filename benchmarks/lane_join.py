"""Windowed joins on one core: elements a second through windows and join, every output column read.

Before anything is timed, the size of the join after every instant is compared with a count that follows the windows
element by element, with Python dictionaries.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.operators import registry
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.plan.expressions import Column, Expression, conjunction
from penstock.plan.functions import call
from penstock.plan.nodes import Join, Source, Window
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT
from penstock.plan.windows import Rows

WINDOW = 10_000
WARM_UP = 4 * WINDOW
Stream = dict[str, Array]
Figure = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A join of windows of the last `WINDOW` tuples, and its bar in elements a second."""

    name: str
    schemas: tuple[str, ...]
    equal: tuple[tuple[str, str], ...]
    draw: Callable[[np.random.Generator, int], Sequence[Stream]]
    size: Callable[[Sequence[Stream], int, int], list[int]]
    bar: float

    def node(self, window: int) -> Join:
        """The plan."""
        sources = [Source(f"S{i}", Schema.parse(s)) for i, s in enumerate(self.schemas)]
        parts: list[Expression] = [call("=", Column(a, BIGINT), Column(b, BIGINT)) for a, b in self.equal]
        return Join(tuple(Window(s, Rows(window)) for s in sources), conjunction(tuple(parts)))


class Running:
    """A case's windows and join, without the lane around them."""

    def __init__(self, case: Case, window: int) -> None:
        node, context = case.node(window), Context()
        self.windows = [registry.build(m, context) for m in node.members]
        self.join = registry.build(node, context)

    def pass_on(self, trains: Sequence[Train], until: int) -> Train:
        """One train of each stream; every column of the result is gathered."""
        deltas = [w.process([t], until) for w, t in zip(self.windows, trains, strict=True)]
        result = self.join.process(deltas, until)
        for i in range(result.width):
            result.column(i)
        return result


def trains(streams: Sequence[Stream], length: int) -> Iterator[tuple[list[Train], int]]:
    """The streams in turn, one tuple an instant, cut into trains of `length`."""
    count = len(streams)
    for start in range(0, len(next(iter(streams[0].values()))), length):
        ts = np.arange(start, start + length) * count
        yield (
            [Train([Vector(c[start : start + length]) for c in s.values()], ts + i) for i, s in enumerate(streams)],
            (start + length) * count,
        )


def check(case: Case, seed: int) -> None:
    """Compares the join's size after each instant with the naive one, in trains of any length, over a small window."""
    window = 300
    streams = [{k: v % 250 for k, v in s.items()} for s in case.draw(np.random.default_rng(seed), 2000)]
    expected = np.diff(case.size(streams, 2000, window), prepend=0)
    for length in (1, 125, 1000):
        running, found = Running(case, window), np.zeros(2000 * len(streams), np.int64)
        for given, until in trains(streams, length):
            result = running.pass_on(given, until)
            np.add.at(found, result.ts, result.sign)
        assert (found == expected).all(), f"{case.name}, trains of {length}: wrong"


def rate(case: Case, length: int, seed: int, elements: int) -> float:
    """Elements a second in trains of `length`, after the windows are full."""
    streams = case.draw(np.random.default_rng(seed), (WARM_UP + elements) // len(case.schemas))
    running, spent, passed = Running(case, WINDOW), 0.0, 0
    for given, until in trains(streams, length):
        before = time.perf_counter()
        running.pass_on(given, until)
        if until > WARM_UP:
            spent += time.perf_counter() - before
            passed += sum(map(len, given))
    return passed / spent


def two_streams(random: np.random.Generator, count: int) -> Sequence[Stream]:
    """Keys below the window's length: about one match a probe."""
    return [{"n": np.arange(count), "k": random.integers(0, WINDOW, count)} for _ in range(2)]


def three_streams(random: np.random.Generator, count: int) -> Sequence[Stream]:
    """R(A), S(A, B), T(B): each value of T about five times in its window."""
    few = WINDOW // 5
    r, s = ({"a": random.integers(0, WINDOW, count)} for _ in range(2))
    return [r, s | {"b": random.integers(0, few, count)}, {"b": random.integers(0, few, count)}]


def two_way_size(streams: Sequence[Stream], count: int, window: int) -> list[int]:
    """The size of the two-way join after each instant."""
    sizes, size = [], 0
    present: list[Counter[int]] = [Counter(), Counter()]
    keys = [s["k"].tolist() for s in streams]
    for n in range(count):
        for i in (0, 1):
            present[i][keys[i][n]] += 1
            size += present[1 - i][keys[i][n]]
            if n >= window:
                present[i][keys[i][n - window]] -= 1
                size -= present[1 - i][keys[i][n - window]]
            sizes.append(size)
    return sizes


def three_way_size(streams: Sequence[Stream], count: int, window: int) -> list[int]:
    """The size of the three-way join after each instant."""
    r, a, b, t = (streams[i][k].tolist() for i, k in ((0, "a"), (1, "a"), (1, "b"), (2, "b")))
    in_r: Counter[int] = Counter()
    in_t: Counter[int] = Counter()
    by_a: defaultdict[int, deque[int]] = defaultdict(deque)
    by_b: defaultdict[int, deque[int]] = defaultdict(deque)
    sizes, size = [], 0

    def change(n: int, stream: int, sign: int) -> int:
        if stream == 0:
            in_r[r[n]] += sign
            return sign * sum(in_t[x] for x in by_a[r[n]])
        if stream == 2:
            in_t[t[n]] += sign
            return sign * sum(in_r[x] for x in by_b[t[n]])
        for values, other in ((by_a[a[n]], b[n]), (by_b[b[n]], a[n])):
            values.append(other) if sign > 0 else values.popleft()
        return sign * in_r[a[n]] * in_t[b[n]]

    for n in range(count):
        for stream in (0, 1, 2):
            size += change(n, stream, 1) + (change(n - window, stream, -1) if n >= window else 0)
            sizes.append(size)
    return sizes


CASES = (
    Case("two-way join", ("n bigint, k bigint",) * 2, (("0.k", "1.k"),), two_streams, two_way_size, 5e6),
    Case("three-way join", ("a bigint", "a bigint, b bigint", "b bigint"), (("0.a", "1.a"), ("1.b", "2.b")),
         three_streams, three_way_size, 1e6),
)  # fmt: skip


def figures(full: bool, seed: int) -> Iterator[Figure]:
    """Each case checked, then timed in trains of 5,000; trains of 500 without a bar."""
    for case in CASES:
        check(case, seed)
        for length, bar in ((5000, case.bar), (500, None)):
            elements = 3_000_000 if full else 900_000
            rates = [rate(case, length, seed + i, elements) for i in range(6)][1:]
            value = statistics.median(rates)
            yield {
                "name": f"{case.name}, windows of {WINDOW}, trains of {length}",
                "value": value,
                "unit": "elements/s",
                "spread": max(rates) - min(rates),
                "bar": bar,
                "holds": bar is None or value >= bar,
                "checked_against": "the join's size after every instant, counted with dictionaries",
            }


if __name__ == "__main__":
    from penstock.console.bench import describe

    for figure in figures(False, 1):
        print(describe(figure))
