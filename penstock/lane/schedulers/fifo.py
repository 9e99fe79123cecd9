"""First in, first out."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lane.schedulers.base import Task, Unplanned


class Fifo(Unplanned):
    """What came in first goes all the way through before anything else moves (Babu 2.3.2)."""

    def choose(self, ready: Sequence[Task]) -> Task:
        """The operator before which the oldest element waits."""
        return min(ready, key=lambda t: (t.oldest, t.position))
