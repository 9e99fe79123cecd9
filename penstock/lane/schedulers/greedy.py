"""The operator that shrinks the queues fastest."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lane.schedulers.base import Task, Unplanned, reduction_rate


class Greedy(Unplanned):
    """Prefers the operator with the greatest rate of reduction in total queue size, (1 - selectivity) / cost; it does
    not see that an operator may block a better one behind it (Babu 2.3.2)."""

    def choose(self, ready: Sequence[Task]) -> Task:
        """The fastest reducer; of equals the one with the oldest element."""
        return max(ready, key=lambda t: (reduction_rate(t.selectivity, t.cost_s), -t.oldest, -t.position))
