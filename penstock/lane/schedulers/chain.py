"""Blocks of operators that together shrink the queues fastest."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lane.schedulers.base import Task, reduction_rate


class Chain:
    """Chain scheduling (Babu 2.3.2): from the first operator of a pipeline take the block of consecutive operators with
    the greatest reduction in queue size per second, then go on behind it. Blocks are scheduled greedily, within
    a block the oldest element goes first. A pipeline ends where a result has several takers.
    """

    def __init__(self) -> None:
        self._rates: dict[int, float] = {}

    def plan(self, tasks: Sequence[Task]) -> None:
        """Forms the blocks from the costs and selectivities known now."""
        followers = {t.successor.position for t in tasks if t.successor is not None}
        heads = [t for t in tasks if t.position not in followers]
        self._rates = {}
        for head in heads:
            self._form(head)

    def _form(self, head: Task) -> None:
        current: Task | None = head
        while current is not None and current.position not in self._rates:
            pipeline = _pipeline(current)
            rates = _rates(pipeline)
            length = max(range(len(rates)), key=lambda i: (rates[i], -i)) + 1
            for task in pipeline[:length]:
                self._rates.setdefault(task.position, rates[length - 1])
            current = pipeline[length] if length < len(pipeline) else None

    def choose(self, ready: Sequence[Task]) -> Task:
        """The best block's operator that has the oldest element."""
        return max(ready, key=lambda t: (self._rates.get(t.position, 0.0), -t.oldest, -t.position))


def _pipeline(first: Task) -> list[Task]:
    tasks, following = [first], first.successor
    while following is not None:
        tasks.append(following)
        following = following.successor
    return tasks


def _rates(pipeline: Sequence[Task]) -> list[float]:
    """For each prefix of `pipeline` the queued elements that go away in a second, for an element at its start."""
    rates, kept, cost_s = [], 1.0, 0.0
    for task in pipeline:
        cost_s += kept * task.cost_s
        kept *= task.selectivity
        rates.append(reduction_rate(kept, cost_s))
    return rates
