"""Which operator runs next: FIFO, greedy, chain, round-robin (Babu 2.3.2), by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.errors import PenstockError, unknown
from penstock.lane.schedulers.base import Scheduler, Task
from penstock.lane.schedulers.chain import Chain
from penstock.lane.schedulers.fifo import Fifo
from penstock.lane.schedulers.greedy import Greedy
from penstock.lane.schedulers.round_robin import RoundRobin

SCHEDULERS: Final[Mapping[str, Callable[[], Scheduler]]] = {
    "fifo": Fifo,
    "greedy": Greedy,
    "chain": Chain,
    "round-robin": RoundRobin,
}

__all__ = ["SCHEDULERS", "Scheduler", "Task", "scheduler"]


def scheduler(name: str) -> Scheduler:
    """A new scheduler of this name.

    >>> type(scheduler("round_robin")).__name__
    'RoundRobin'
    """
    made = SCHEDULERS.get(str(name).replace("_", "-"))
    if made is None:
        raise PenstockError(unknown("scheduler", str(name), list(SCHEDULERS)))
    return made()
