"""Sweep (Babu 4.4): A-Greedy for one filter at a time.

In a stage only the filter in one place is profiled, and only violations of the invariant between it and those before it
are looked for. The stage ends with a violation, when the filter moves to where it belongs, or when enough profile
tuples have shown none. The places take turns. In steady conditions it ends where A-Greedy does, later; a profile tuple
costs one more evaluation at most.
"""

from __future__ import annotations

from penstock.adapt.matrix_view import COLUMN, NEVER
from penstock.adapt.ordering import ENOUGH, Better, Windowed
from penstock.plan.filters import Order, Profiling


class Sweep(Windowed):
    """`view.column` is the place that is profiled.

    >>> from penstock.adapt.ordering import Filters
    >>> sweep = Sweep(Filters((0, 0, 0), (1.0, 1.0, 1.0)), rate=0.01, tuples=500, alpha=0.9)
    >>> sweep.wants((2, 0, 1)).what
    0
    """

    shape = COLUMN

    def wants(self, order: Order) -> Profiling | None:
        """The verdicts of the filter that has its turn."""
        if order != tuple(self.view.order.tolist()):
            self._stage(self.view.column or 1, order)
        return Profiling(self.rate, order[max(1, self.view.column)], self.seed)

    def _stage(self, place: int, order: Order) -> None:
        self.window.clear()
        self.view.order[:] = order
        self.view.entries[:] = 0
        self.view.column = place

    def better(self, order: Order) -> Better | None:
        """The order with the filter that has its turn in the first place where the invariant does not hold."""
        if order != tuple(self.view.order.tolist()) or not self.view.column:
            self._stage(self.view.column or 1, order)
            return None
        column = self.view.column
        place = NEVER if len(self.window) < ENOUGH else self.view.violation(self.costs, self.alpha)
        moved = None
        if place != NEVER:
            rest = [f for c, f in enumerate(order) if c != column]
            after = (*rest[:place], order[column], *rest[place:])
            moved = self.compared(order, after, f"filter {order[column]} drops more for its cost than those before it")
        if place != NEVER or len(self.window) == self.window.size:
            self._stage(column % (len(order) - 1) + 1, moved.order if moved else order)
        return moved
