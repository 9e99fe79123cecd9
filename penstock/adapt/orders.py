"""What an order of filters costs, and the orders that need no memory: Static Greedy and Optimal (Babu 4.2, 4.3).

Statistics are a set of tuples: a word of bits for each tuple that some filter drops (bit i: filter i does), `passing`
tuples that none drops, and each filter's cost a tuple. `protectors` has for each filter, as bits, those that must stand
before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.plan.filters import Order

Array = npt.NDArray[Any]
EXHAUSTIVE: Final = 12
"""With more filters than these, Optimal is Static Greedy: it looks at every set of filters, twice as many with each."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of the tuples and of the filters."""

    bits: Array
    costs: Array
    passing: float = 0.0
    protectors: tuple[int, ...] = field(default=())

    @property
    def filters(self) -> int:
        """How many filters there are."""
        return len(self.costs)

    def free(self, filter_: int, placed: int) -> bool:
        """True where `filter_` may follow the filters in `placed`."""
        return not self.protectors or self.protectors[filter_] & ~placed == 0


def unit_cost(order: Sequence[int], statistics: Statistics) -> float:
    """The expected cost of a tuple under `order` (T_O of equation 4.1).

    >>> unit_cost((0, 1), Statistics(np.array([0b01, 0b01, 0b10]), np.ones(2), passing=1))
    1.5
    """
    costs = tuple_costs(order, statistics)
    every = statistics.passing * float(sum(statistics.costs[f] for f in order))
    return (float(costs.sum()) + every) / max(1.0, len(costs) + statistics.passing)


def tuple_costs(order: Sequence[int], statistics: Statistics) -> Array:
    """What each tuple that is dropped costs under `order`."""
    bits, costs = statistics.bits.astype(np.int64, copy=False), np.asarray(statistics.costs, np.float64)
    found: Array = _costs(bits, np.array(order, np.int64), costs)
    return found


@njit(cache=True)
def _costs(bits: Array, order: Array, costs: Array) -> Array:
    found = np.zeros(len(bits))
    for k in range(len(bits)):
        for f in order:
            found[k] += costs[f]
            if bits[k] >> f & 1:
                break
    return found


def static_greedy(statistics: Statistics) -> Order:
    """Filter after filter, the one that drops most of what is left for its cost; the lower number where two do alike.

    >>> static_greedy(Statistics(np.array([0b001, 0b011, 0b100, 0b100, 0b010]), np.array([1.0, 1.0, 9.0])))
    (0, 1, 2)
    """
    left, placed = statistics.bits, 0
    order: list[int] = []
    while len(order) < statistics.filters:
        free = [f for f in range(statistics.filters) if not placed >> f & 1 and statistics.free(f, placed)]
        best = max(free, key=lambda f: np.count_nonzero(left >> f & 1) / float(statistics.costs[f]))
        order.append(best)
        placed |= 1 << best
        left = left[left >> best & 1 == 0]
    return tuple(order)


def optimal(statistics: Statistics) -> Order:
    """The cheapest of all orders, by the cheapest way to each set of filters: what is left after a set does not depend
    on the order within it.

    >>> optimal(Statistics(np.array([0b01, 0b11, 0b10, 0b10]), np.array([1.0, 1.0])))
    (1, 0)
    """
    n = statistics.filters
    if n > EXHAUSTIVE:
        return static_greedy(statistics)
    words, counts = np.unique(statistics.bits, return_counts=True)
    best: dict[int, tuple[float, Order]] = {0: (0.0, ())}
    for placed in range(1 << n):
        if placed not in best:
            continue
        spent, order = best[placed]
        left = float(counts[words & placed == 0].sum()) + statistics.passing
        for f in range(n):
            if not placed >> f & 1 and statistics.free(f, placed):
                cost = spent + float(statistics.costs[f]) * left
                after = placed | 1 << f
                if after not in best or cost < best[after][0]:
                    best[after] = (cost, (*order, f))
    return best[(1 << n) - 1][1]
