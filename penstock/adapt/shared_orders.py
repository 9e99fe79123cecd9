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

import numpy.typing as npt

from penstock.plan.doubts import all_open, ended, in_doubt, settle, users
from penstock.plan.filters import Order

Array = npt.NDArray[Any]


def shared_order(
    bits: Array, costs: Sequence[float], queries: Sequence[int], protectors: Sequence[int] | None = None
) -> Order:
    """The greedy order by the tuples `bits` (bit i: filter i drops the tuple), those that nothing drops included; each
    filter comes after its protectors.

    Two queries of two filters each have the filter 2: it comes first, though 0 drops as much for less.

    >>> import numpy as np
    >>> shared_order(np.array([0b111, 0b111, 0b010, 0b001]), (1.0, 1.0, 1.2), (0b101, 0b110))
    (2, 0, 1)
    """
    guards, doubts, placed = protectors or [0] * len(costs), _Doubts(bits, queries, len(costs)), 0
    order: list[int] = []
    while len(order) < len(costs):
        free = [f for f in range(len(costs)) if not placed >> f & 1 and not guards[f] & ~placed]
        best = max(free, key=lambda f: doubts.worth(f, costs[f]))
        doubts.settle(best)
        order.append(best)
        placed |= 1 << best
    return tuple(order)


def shared_cost(order: Sequence[int], bits: Array, costs: Sequence[float], queries: Sequence[int]) -> float:
    """What a tuple costs all queries together under one order, each filter evaluated once.

    >>> import numpy as np
    >>> shared_cost((0, 1), np.array([0b01, 0b00]), (1.0, 1.0), (0b11, 0b10))
    2.0
    """
    doubts = _Doubts(bits, queries, len(costs))
    spent = sum(costs[f] * doubts.settle(f) for f in order)
    return spent / max(1, len(bits))


class _Doubts:
    """Which queries are in doubt about which tuples."""

    def __init__(self, bits: Array, queries: Sequence[int], filters: int) -> None:
        self.drops = [bits >> f & 1 == 1 for f in range(filters)]
        self.users = users(queries, filters)
        self.open = all_open(len(bits), len(queries))

    def worth(self, f: int, cost: float) -> float:
        """The doubts that filter `f` would end, for what it would cost."""
        seen, ends = ended(self.open, self.users[f], self.drops[f])
        return float(ends) / max(1e-12, cost * seen)

    def settle(self, f: int) -> int:
        """The filter is evaluated: on so many tuples."""
        rows = in_doubt(self.open, self.users[f])
        settle(self.open, self.users[f], rows, ~self.drops[f][rows])
        return len(rows)
