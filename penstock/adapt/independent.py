"""Independent (Babu 4.5): filters by what each drops of all tuples for its cost, as if they were independent.

It keeps the first row of the matrix view, and needs fewer profile tuples than A-Greedy. Where filters are correlated
its order may cost n times the greedy one (example 4.5.1).
"""

from __future__ import annotations

from penstock.adapt.matrix_view import ROW
from penstock.adapt.ordering import Better, Greedy
from penstock.plan.filters import Order


class Independent(Greedy):
    """The invariant is d(i|0) / t_i >= d(j|0) / t_j for every i before j (definition 4.5.1).

    >>> from penstock.adapt.ordering import Filters
    >>> import numpy as np
    >>> independent = Independent(Filters((0, 0, 0), (1.0, 1.0, 1.0)), rate=0.005, tuples=100, alpha=0.9)
    >>> independent.view.count(np.array([0b010, 0b110, 0b110, 0b001]), 1)
    >>> independent.corrected()
    (1, 2, 0)
    """

    shape = ROW

    def corrected(self) -> Order:
        """All filters anew, by the first row; of those that drop alike the one that stands first stays first."""
        costs, row = self.costs, self.view.entries[0]
        ratio = {int(f): float(row[c] / costs[f]) for c, f in enumerate(self.view.order)}
        order: list[int] = []
        placed = 0
        while len(order) < len(ratio):
            free = [f for f in ratio if not placed >> f & 1 and not self.filters.protectors[f] & ~placed]
            best = max(free, key=ratio.__getitem__)
            order.append(best)
            placed |= 1 << best
        return tuple(order)

    def compared(self, before: Order, after: Order, why: str) -> Better | None:
        """By what it believes: that filters are independent."""
        gain = self._believed(before) / self._believed(after)
        return Better(after, gain, why) if after != before else None

    def _believed(self, order: Order) -> float:
        """Equation 4.1 with d(i|i-1) = d(i|0)."""
        tuples = max(1.0, len(self.window) * self.sampled / max(1, self.dropped))
        costs = self.costs
        drops = {int(f): float(self.view.entries[0, c]) / tuples for c, f in enumerate(self.view.order)}
        left, spent = 1.0, 0.0
        for f in order:
            spent += left * float(costs[f])
            left *= 1.0 - min(1.0, drops[f])
        return max(spent, 1e-15)
