"""StreaMon's three parts (Babu 3.1, figure 3.1), as interfaces that every adaptive technique has in common.

    Executor      runs the plan that it was last given, and measures what that plan asks for, as a by-product
    Profiler      makes statistics of what was measured, as current as its window
    Reoptimizer   says what it needs measured, and which changes of the plan would pay by these statistics

Filter orders, join orders, caches and constraints are re-optimizers with profilers of their own over one executor. A
re-optimizer is a strategy of the loop (`penstock.control.loop`): the change gate judges its proposals, the executor
makes what passes hold between two trains, and the log keeps snapshot, expectation and the gain that was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from penstock.plan.proposal import Proposal
from penstock.plan.running import Plan
from penstock.stats.snapshot import Snapshot

Measured_contra = TypeVar("Measured_contra", contravariant=True)


class Executor(Protocol):
    """A lane, several, or the pipeline."""

    def adopt(self, plan: Plan) -> None:
        """Makes `plan` hold from the next train on, what it asks to be measured included."""


class Profiler(Protocol[Measured_contra]):
    """Statistics over the recent past."""

    def see(self, measured: Measured_contra) -> None:
        """Takes in what was measured since the last time."""


class Reoptimizer(Protocol):
    """Keeps plans the most efficient for current conditions."""

    @property
    def name(self) -> str:
        """What it is called in the log."""

    def needs(self, plan: Plan) -> Sequence[Proposal]:
        """The changes by which `plan` would measure what this needs, and no more; none where it does."""

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        """The changes to make now, `needs` included; none on a snapshot that it has seen."""
