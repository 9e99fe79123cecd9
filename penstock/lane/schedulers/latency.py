"""Queries whose utility falls fastest go first."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from penstock.lane.schedulers.base import Task


class LatencyQoS:
    """Serves the latency QoS functions of the queries (Tatbul 2.1.4: they drive the scheduling): of all operators with
    something to do the one behind which utility falls fastest when its results come out. Of equally steep ones the one
    that has the least time left until utility falls faster, then the oldest element: what all queries want alike is
    done first in, first out. What no such query needs comes last.

    Results come out as late as their oldest input has waited, and as long as what waits before the operator still
    takes on its way; where a result has several takers, the way to the dearest.
    """

    def __init__(self) -> None:
        self._ways_s: dict[int, float] = {}

    def plan(self, tasks: Sequence[Task]) -> None:
        """Works out what an element still costs from each operator on."""
        self._ways_s = {}
        for task in reversed(tasks):
            behind = max((self._ways_s[t.position] for t in task.takers), default=0.0)
            self._ways_s[task.position] = task.cost_s + task.selectivity * behind

    def choose(self, ready: Sequence[Task]) -> Task:
        """The most urgent."""
        return min(ready, key=self._rank)

    def _rank(self, task: Task) -> tuple[float, float, int, int]:
        late_s = task.waited_s + task.queued * self._ways_s.get(task.position, 0.0)
        steepest = max((q.slope(late_s) for q in task.latencies), default=0.0)
        slack_s = min((q.slack_s(late_s) for q in task.latencies), default=inf)
        return -steepest, slack_s, task.oldest, task.position
