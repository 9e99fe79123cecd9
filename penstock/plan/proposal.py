"""What a strategy says to the loop: a change that it would make, why, and what it expects of it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.running import Change


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that a strategy would have made.

    `gain` is the factor by which the strategy expects the cost of the part of the plan that it looks at to fall (1.5:
    to two thirds); None for what is not a matter of gain: a drop that keeps a promise is not weighed against its cost.
    """

    change: Change
    why: str
    gain: float | None = None
