"""Which operator runs next: FIFO, greedy, chain, round-robin (Babu 2.3.2), by latency QoS (Tatbul 2.1.4); by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.errors import PenstockError, unknown
from penstock.lane.schedulers.base import Scheduler, Task
from penstock.lane.schedulers.chain import Chain
from penstock.lane.schedulers.fifo import Fifo
from penstock.lane.schedulers.greedy import Greedy
from penstock.lane.schedulers.latency import LatencyQoS
from penstock.lane.schedulers.round_robin import RoundRobin
from penstock.plan.network import Network

SCHEDULERS: Final[Mapping[str, Callable[[], Scheduler]]] = {
    "fifo": Fifo,
    "greedy": Greedy,
    "chain": Chain,
    "round-robin": RoundRobin,
    "latency": LatencyQoS,
}

__all__ = ["SCHEDULERS", "Scheduler", "Task", "fitting", "scheduler"]


def scheduler(name: str) -> Scheduler:
    """A new scheduler of this name.

    >>> type(scheduler("round_robin")).__name__
    'RoundRobin'
    """
    made = SCHEDULERS.get(str(name).replace("_", "-"))
    if made is None:
        raise PenstockError(unknown("scheduler", str(name), list(SCHEDULERS)))
    return made()


def fitting(network: Network) -> str:
    """The scheduler where nobody names one and results are wanted in time: by latency where a query declares what its
    results are worth by how late they come, else first in, first out.

    >>> from penstock.cql import compile_script
    >>> script = "CREATE STREAM s (a INT); CREATE QUERY q WITH ({}) AS SELECT a FROM s"
    >>> [fitting(compile_script(script.format(qos))) for qos in ("latency = '1 s: 1, 9 s: 0'", "delay = '1 second'")]
    ['latency', 'fifo']
    """
    return "latency" if any("latency" in dict(q.options) for q in network.queries) else "fifo"
