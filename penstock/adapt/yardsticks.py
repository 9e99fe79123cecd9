"""Static Greedy and Optimal as strategies: they look at the first profile tuples, choose once, and stay.

They are what the adaptive algorithms are measured against: the best that a plan-first, execute-next optimizer could do
with perfect statistics of the beginning.
"""

from __future__ import annotations

from penstock.adapt.ordering import MOST, Better, Windowed
from penstock.adapt.orders import optimal, static_greedy
from penstock.plan.filters import Order, Profiling


class StaticGreedy(Windowed):
    """Static Greedy (4.3) by the first window of profile tuples.

    >>> from penstock.adapt.ordering import Filters
    >>> StaticGreedy(Filters((0, 0), (1.0, 1.0)), rate=0.01, tuples=100, alpha=1.0).wants((0, 1)).rate
    1.0
    """

    choose = staticmethod(static_greedy)

    @property
    def full(self) -> bool:
        """True where enough was seen."""
        return len(self.window) == self.window.size or self.sampled >= MOST

    def wants(self, order: Order) -> Profiling | None:
        """Everything, until the window is full."""
        return None if self.full else Profiling(1.0, seed=self.seed)

    def better(self, order: Order) -> Better | None:
        """The order of the first full window, once."""
        if not self.full:
            return None
        return self.compared(order, self.choose(self.statistics()), f"chosen once, by {len(self.window)} tuples")


class Optimal(StaticGreedy):
    """The cheapest order of all (4.7.2) by the first window of profile tuples."""

    choose = staticmethod(optimal)
