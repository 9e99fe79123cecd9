"""What a scheduler sees of the operators, and what it decides (Babu 2.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.plan.latency import Latency


class Task(Protocol):
    """An operator as a scheduler sees it."""

    @property
    def position(self) -> int:
        """Its place in the topological order: inputs have smaller ones."""

    @property
    def queued(self) -> int:
        """Elements that wait before it."""

    @property
    def oldest(self) -> int:
        """The number of the input that the first waiting element was made from."""

    @property
    def waited_s(self) -> float:
        """Seconds since that input came."""

    @property
    def cost_s(self) -> float:
        """Seconds an element, as measured."""

    @property
    def selectivity(self) -> float:
        """Elements out for an element in, as measured; 1 while nothing is known."""

    @property
    def successor(self) -> Task | None:
        """The operator that takes its result, where there is exactly one."""

    @property
    def takers(self) -> Sequence[Task]:
        """The operators that take its result."""

    @property
    def latencies(self) -> Sequence[Latency]:
        """The latency QoS of the queries that it works for, as far as they declare one."""


class Scheduler(Protocol):
    """Chooses which operator runs next."""

    def plan(self, tasks: Sequence[Task]) -> None:
        """Called with all operators, in topological order, before a run and whenever there are others."""

    def choose(self, ready: Sequence[Task]) -> Task:
        """One of `ready` (at least one, in topological order): operators that have elements to take."""


class Unplanned:
    """Base of schedulers that look at the ready operators alone."""

    def plan(self, tasks: Sequence[Task]) -> None:
        """Nothing to prepare."""


def reduction_rate(kept: float, cost_s: float) -> float:
    """Queued elements that go away in a second, for one element of which `kept` stay queued after `cost_s` seconds."""
    if cost_s > 0:
        return (1 - kept) / cost_s
    return 0.0 if kept == 1 else float("inf") if kept < 1 else float("-inf")
