"""LocalSwaps (Babu 4.6): filters that stand beside each other change places where that pays.

Of the view it keeps two diagonals; a profile tuple costs one more evaluation, of the filter behind the one that dropped
it. It adapts step by step, and may stay in a local optimum (example 4.6.1).
"""

from __future__ import annotations

from penstock.adapt.matrix_view import DIAGONALS
from penstock.adapt.ordering import ENOUGH, Better, Windowed
from penstock.plan.filters import NEXT, Order, Profiling


class LocalSwaps(Windowed):
    """The invariant is d(i|i-1) / t_i >= d(i+1|i-1) / t_(i+1) (definition 4.6.1).

    >>> import numpy as np
    >>> from penstock.adapt.ordering import Filters
    >>> swaps = LocalSwaps(Filters((0, 0, 0), (1.0, 1.0, 1.0)), rate=0.01, tuples=100, alpha=0.9)
    >>> swaps.view.count(np.array([0b011, 0b010, 0b010, 0b100]), 1)
    >>> swaps.swapped((0, 1, 2))
    (1, 0, 2)
    """

    shape = DIAGONALS

    def wants(self, order: Order) -> Profiling | None:
        """The verdict of the next filter."""
        return Profiling(self.rate, NEXT, self.seed)

    def better(self, order: Order) -> Better | None:
        """The order with every violation swapped. What was known of swapped places is known no more."""
        if order != tuple(self.view.order.tolist()):
            self.window.clear()
            self.view.order[:] = order
            self.view.entries[:] = 0
        if len(self.window) < ENOUGH:
            return None
        return self.compared(order, self.swapped(order), "a filter drops more for its cost than the one before it")

    def swapped(self, order: Order) -> Order:
        """`order` with the filters of each violation changed over, no filter twice."""
        after, costs, v = list(order), self.costs, self.view.entries
        place = 0
        while place + 1 < len(after):
            here, there = after[place], after[place + 1]
            violated = v[place, place] / costs[here] < self.alpha * v[place, place + 1] / costs[there]
            if violated and not self.filters.protectors[there] >> here & 1:
                after[place], after[place + 1] = there, here
                place += 1
            place += 1
        return tuple(after)
