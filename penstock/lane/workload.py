"""Workloads for experiments and benchmarks: arrivals of a kind, values with skew and correlation, all from a seed.

    packets = Workload("packets", Poisson(1000), {"src": Zipf(500, 1.1), "bytes": Uniform(40, 1500)},
                       (CorrelatedFilters(("a", "b"), 0.5),))
    packets.generate(10_000_000, seed=1).columns["src"]      # NumPy columns: what benchmarks feed
    packets.events(10_000_000, seed=1)                       # what `penstock.testing.evaluate` takes
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import Any, Protocol

import numpy as np

from penstock.errors import Diagnostic, PenstockError
from penstock.lane.arrival_processes import ArrivalProcess
from penstock.operators.columns.vector import Array

Given = tuple[str, int, dict[str, Any]]
"""An event as `penstock.testing` takes it."""


class Values(Protocol):
    """Draws the values of a column."""

    def draw(self, count: int, random: np.random.Generator) -> Array:
        """`count` values."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Whole numbers in [low, high)."""

    low: int
    high: int

    def draw(self, count: int, random: np.random.Generator) -> Array:
        """All equally often."""
        return random.integers(self.low, self.high, count)


@dataclass(frozen=True, slots=True)
class Normal:
    """Doubles around `mean`."""

    mean: float = 0.0
    deviation: float = 1.0

    def draw(self, count: int, random: np.random.Generator) -> Array:
        """Bell-shaped."""
        return random.normal(self.mean, self.deviation, count)


@dataclass(frozen=True, slots=True)
class Zipf:
    """Whole numbers 0 .. distinct - 1, number k in proportion to 1 / (k + 1) ** skew; skew 0 is uniform."""

    distinct: int
    skew: float

    def draw(self, count: int, random: np.random.Generator) -> Array:
        """By the inverse of the distribution."""
        shares = np.cumsum((np.arange(self.distinct) + 1.0) ** -self.skew)
        drawn = np.searchsorted(shares, random.random(count) * shares[-1], "right")
        numbers: Array = np.minimum(drawn, self.distinct - 1)
        return numbers


@dataclass(frozen=True, slots=True)
class Choice:
    """One of `values`, in proportion to `weights` (None: equally often)."""

    values: tuple[Any, ...]
    weights: tuple[float, ...] | None = None

    def draw(self, count: int, random: np.random.Generator) -> Array:
        """Of the type that NumPy gives the values."""
        shares = np.ones(len(self.values)) if self.weights is None else np.asarray(self.weights)
        values: Array = np.array(self.values)
        return values[random.choice(len(self.values), count, p=shares / shares.sum())]


@dataclass(frozen=True, slots=True)
class Series:
    """0, 1, 2, ... below `distinct`, then again; each value `times` in a row."""

    distinct: int
    times: int = 1

    def draw(self, count: int, random: np.random.Generator) -> Array:
        """Nothing is random here."""
        return np.arange(count) // self.times % self.distinct


@dataclass(frozen=True, slots=True)
class CorrelatedFilters:
    """Columns for filters `column < selectivity * domain`, any two of which agree on `agreement` of the tuples.

    Each value by itself is uniform over [0, domain). Every filter follows the group's common draw with probability c,
    else its own: any two agree with probability c^2 + (1 - c^2) s, where s = selectivity^2 + (1 - selectivity)^2 is
    what independent filters reach. The group of Babu 4.7.2 has selectivity 0.5 and agreement 0.8, so c^2 = 0.6.
    """

    columns: tuple[str, ...]
    selectivity: float
    agreement: float = 0.8
    domain: int = 10_000

    def __post_init__(self) -> None:
        if not 0 < self.selectivity < 1:
            raise PenstockError(f"the selectivity is {self.selectivity}: it must lie between 0 and 1")
        if not self._by_chance() <= self.agreement <= 1:
            raise PenstockError(
                Diagnostic(
                    f"filters of selectivity {self.selectivity} cannot agree on {self.agreement:.0%} of the tuples",
                    help=f"take an agreement from {self._by_chance():.3g} (independent filters) to 1",
                )
            )

    @property
    def bound(self) -> int:
        """The value below which a filter passes."""
        return round(self.selectivity * self.domain)

    def draw(self, count: int, random: np.random.Generator) -> dict[str, Array]:
        """The columns of the group."""
        chance = self._by_chance()
        follow = math.sqrt((self.agreement - chance) / (1 - chance))
        common = random.random(count) < self.selectivity
        return {c: self._values(common, follow, random) for c in self.columns}

    def _by_chance(self) -> float:
        return self.selectivity**2 + (1 - self.selectivity) ** 2

    def _values(self, common: Array, follow: float, random: np.random.Generator) -> Array:
        own = random.random(len(common)) < self.selectivity
        passes = np.where(random.random(len(common)) < follow, common, own)
        low, high = random.integers(0, self.bound, len(common)), random.integers(self.bound, self.domain, len(common))
        return np.where(passes, low, high)


@dataclass(frozen=True, slots=True)
class Generated:
    """Arrival instants in microseconds, and the columns beside them."""

    ts: Array
    columns: dict[str, Array]

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True, slots=True)
class Workload:
    """A stream to be: how its tuples arrive, and what their columns hold."""

    stream: str
    arrivals: ArrivalProcess
    columns: Mapping[str, Values]
    groups: tuple[CorrelatedFilters, ...] = field(default=())

    def generate(self, until_us: int, seed: int, start_us: int = 0) -> Generated:
        """What arrives in [start_us, start_us + until_us). A column does not depend on which others there are."""
        ts = self.arrivals.instants(until_us, self._random(seed, "arrivals"))
        columns = {name: values.draw(len(ts), self._random(seed, name)) for name, values in self.columns.items()}
        for group in self.groups:
            columns |= group.draw(len(ts), self._random(seed, *group.columns))
        return Generated(ts + start_us, columns)

    def events(self, until_us: int, seed: int, start_us: int = 0) -> list[Given]:
        """The same as events."""
        generated = self.generate(until_us, seed, start_us)
        lists = [column.tolist() for column in generated.columns.values()]
        rows = zip(*lists, strict=True) if lists else [()] * len(generated)
        names = list(generated.columns)
        stamped = zip(generated.ts.tolist(), rows, strict=True)
        return [(self.stream, ts, dict(zip(names, row, strict=True))) for ts, row in stamped]

    def _random(self, seed: int, *parts: str) -> np.random.Generator:
        return np.random.default_rng([seed, *(zlib.crc32(p.encode()) for p in (self.stream, *parts))])


def events_of(workloads: Sequence[Workload], until_us: int, seed: int) -> Iterator[Given]:
    """The events of several streams, by timestamp."""
    return merge(*(w.events(until_us, seed) for w in workloads), key=lambda event: event[1])
