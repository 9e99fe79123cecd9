"""Every operator in turn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from penstock.lane.schedulers.base import Task, Unplanned


class RoundRobin(Unplanned):
    """Goes round the operators in topological order; each that has something takes a train. SEaMLESS assumes it."""

    def __init__(self) -> None:
        self._last = -1

    def choose(self, ready: Sequence[Task]) -> Task:
        """The next after the last chosen."""
        chosen = ready[bisect_right(ready, self._last, key=attrgetter("position")) % len(ready)]
        self._last = chosen.position
        return chosen
