"""The order of filters that several queries share: the greedy order for all of them, by the latest profile tuples."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.adapt.ordering import ENOUGH, MOST, Better, Filters, Windowed
from penstock.adapt.shared_orders import shared_cost, shared_order
from penstock.plan.filters import Order, Profiling
from penstock.stats.snapshot import FilterProfile

PATIENCE: Final = 8
"""The order is looked at anew when the window is: it is found from nothing each time, which takes milliseconds with a
hundred queries. Where nothing was better twice as much is waited for, up to so many windows."""


class SharedGreedy(Windowed):
    """`queries` are words of filters: see `penstock.adapt.shared_orders`.

    >>> greedy = SharedGreedy(Filters((0, 0), (1.0, 1.0)), (0b11, 0b10), rate=0.01, tuples=100, alpha=0.9)
    >>> greedy.wants((0, 1)).rate
    1.0
    """

    def __init__(self, filters: Filters, queries: tuple[int, ...], rate: float, tuples: int, alpha: float,
                 seed: int = 0) -> None:  # fmt: skip
        super().__init__(filters, rate, tuples, alpha, seed)
        self.queries = queries
        self._fresh, self._wait = 0, tuples

    def wants(self, order: Order) -> Profiling | None:
        """Every filter's verdict: on all rows until the window is full, then on the share `rate` of them."""
        full = len(self.window) == self.window.size or self.sampled >= MOST
        return Profiling(self.rate if full else 1.0, seed=self.seed)

    def see(self, measured: FilterProfile) -> None:
        """The window alone is kept up."""
        super().see(measured)
        self._fresh += measured.sampled

    def better(self, order: Order) -> Better | None:
        """The greedy order of the window, where that is not the one in force."""
        if len(self.window) < ENOUGH or self._fresh < self._wait:
            return None
        self._fresh, self._wait = 0, min(2 * self._wait, PATIENCE * self.window.size)
        known = self.statistics()
        bits = np.concatenate((known.bits, np.zeros(round(min(known.passing, MOST)), np.int64)))
        costs = known.costs.tolist()
        best = shared_order(bits, costs, self.queries, self.filters.protectors)
        if best == order:
            return None
        self._wait = self.window.size
        before, after = (shared_cost(o, bits, costs, self.queries) for o in (order, best))
        why = f"{len(self.queries)} queries together evaluate less, by {len(self.window)} profile tuples"
        return Better(best, before / after if after > 0 else 1.0, why)
