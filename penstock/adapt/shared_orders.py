"""One order for the filters of many queries over one stream; a filter that several queries have is evaluated once.

A query is the set of filters that it has (a word of bits). A filter has to see a tuple while some query that has it is
still in doubt about the tuple, and its verdict settles that for all of them. The greedy order takes next the filter
that ends the most doubts for its cost: doubts are pairs of a tuple and a query, of which a filter ends those of its
queries on the tuples that it drops, and its cost is for the tuples that it has to see. With one query it is Static
Greedy (Babu 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.plan.filters import Order

Array = npt.NDArray[Any]


def shared_order(bits: Array, costs: Sequence[float], queries: Sequence[int]) -> Order:
    """The greedy order by the tuples `bits` (bit i: filter i drops the tuple), those that nothing drops included.

    Two queries of two filters each have the filter 2: it comes first, though 0 drops as much for less.

    >>> shared_order(np.array([0b111, 0b111, 0b010, 0b001]), (1.0, 1.0, 1.2), (0b101, 0b110))
    (2, 0, 1)
    """
    having, doubts = _users(costs, queries), _Doubts(bits, queries)
    order: list[int] = []
    while len(order) < len(costs):
        rest = [f for f in range(len(costs)) if f not in order]
        best = max(rest, key=lambda f: doubts.ended(f, having[f]) / max(1e-12, costs[f] * doubts.seen(having[f])))
        doubts.settle(best, having[best])
        order.append(best)
    return tuple(order)


def shared_cost(order: Sequence[int], bits: Array, costs: Sequence[float], queries: Sequence[int]) -> float:
    """What a tuple costs all queries together under one order, each filter evaluated once.

    >>> shared_cost((0, 1), np.array([0b01, 0b00]), (1.0, 1.0), (0b11, 0b10))
    2.0
    """
    having, doubts = _users(costs, queries), _Doubts(bits, queries)
    spent = 0.0
    for f in order:
        spent += costs[f] * doubts.seen(having[f])
        doubts.settle(f, having[f])
    return spent / max(1, len(bits))


def _users(costs: Sequence[float], queries: Sequence[int]) -> list[Array]:
    """For each filter the queries that have it."""
    return [np.array([q for q, word in enumerate(queries) if word >> f & 1], np.int64) for f in range(len(costs))]


class _Doubts:
    """Which queries are in doubt about which tuples: bool[queries, tuples]."""

    def __init__(self, bits: Array, queries: Sequence[int]) -> None:
        self.bits = bits
        self.open = np.ones((len(queries), len(bits)), np.bool_)

    def seen(self, users: Array) -> int:
        """Tuples that a filter of these queries has to see."""
        return int(self.open[users].any(axis=0).sum())

    def ended(self, f: int, users: Array) -> int:
        """Doubts that filter `f` would end."""
        return int((self.open[users] & (self.bits >> f & 1 == 1)).sum())

    def settle(self, f: int, users: Array) -> None:
        """The filter has been evaluated."""
        self.open[users] &= self.bits >> f & 1 == 0
