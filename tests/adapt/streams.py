"""Filter sets for tests: tuples as words of bits, bit i where filter i drops the tuple."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.adapt.orders import Statistics
from penstock.plan.nodes import Source
from penstock.plan.schema import Schema
from penstock.stats.snapshot import FilterProfile

Array = npt.NDArray[Any]
NODE = Source("s", Schema.parse("a int"))


def words(tuples: Sequence[int], tables: Sequence[set[int]]) -> Array:
    """Filter i drops a tuple that table i does not hold (figure 4.2)."""
    return np.array([sum(1 << i for i, table in enumerate(tables) if t not in table) for t in tuples], np.int64)


def probes(bits: Array, order: Sequence[int]) -> int:
    """How many filters are evaluated until every tuple is dropped or has passed all."""
    total = 0
    for word in bits:
        for f in order:
            total += 1
            if word >> f & 1:
                break
    return total


def measured(bits: Array, costs: Sequence[float], sampled: int | None = None) -> FilterProfile:
    """What an executor says that has seen the tuples `bits` (those that are dropped) and timed its filters."""
    dropped = bits[bits != 0]
    rows = np.full(len(costs), float(len(bits)))
    return FilterProfile(NODE, dropped, len(bits) if sampled is None else sampled, np.asarray(costs) * rows, rows)


def correlated(rng: np.random.Generator, filters: int, count: int = 400) -> Statistics:
    """A random set of filters, alike in groups, of random selectivity and cost, and tuples that meet them."""
    groups = rng.integers(0, max(1, filters // 2) + 1, filters)
    shared = rng.random((count, filters + 1))
    own = rng.random((count, filters))
    follows = rng.random((count, filters)) < rng.choice([0.0, 0.5, 0.8, 0.95])
    drops = np.where(follows, shared[:, groups], own) < rng.uniform(0.05, 0.95, filters)
    if rng.random() < 0.3:
        drops[:, rng.integers(filters)] = ~drops[:, rng.integers(filters)]
    bits = (drops.astype(np.int64) << np.arange(filters)).sum(axis=1)
    costs = rng.uniform(1.0, rng.choice([1.0001, 3.0, 30.0]), filters)
    return Statistics(bits[bits != 0], costs, int((bits == 0).sum()))
