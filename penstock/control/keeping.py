"""Where what must go does go: the policy places the drops, and queries whose promises stand in the way are shut down.

A delay target outranks a bounded gap. Where a policy cannot shed enough because a query may not lose that much, the
most costly of the queries in the way delivers nothing any more, and nothing is done for it alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from penstock.plan.running import Plan
from penstock.shed.policy import Policy, Shedding
from penstock.shed.shutting_down import costliest, cuts, of, only
from penstock.shed.window_shedding import WindowShedding
from penstock.stats.load import LoadModel

TOLERATED: Final = 0.02
"""The share of the excess that may be missing: the controller makes up for it in the next period."""
PATIENCE: Final = 2
"""Decisions in a row that must fall short before a query is shut down."""


@dataclass(slots=True)
class Keeper:
    """Asks `policy`, and remembers which queries were shut down. A query that was shut down stays so until the run
    ends: its windows lack what was not kept for it, and a part of a window's answer is no answer."""

    policy: Policy
    shut_down: tuple[str, ...] = ()
    _short: int = field(default=0)

    def __post_init__(self) -> None:
        if isinstance(self.policy, WindowShedding):
            self.policy = self.policy.patient()

    def place(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """The drops under which `excess` processor-seconds a second less are needed."""
        made = self._without(plan, load, excess)
        self._short = self._short + 1 if made.shortfall > TOLERATED * excess else 0
        while made.shortfall > TOLERATED * excess and self._short >= PATIENCE:
            victim = costliest(load, self.shut_down)
            if victim is None:
                break
            self.shut_down = (*self.shut_down, victim)
            made = self._without(plan, load, excess)
        return made

    def _without(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """The policy's drops for the queries that run, after what the others need is cut."""
        if not self.shut_down:
            return self.policy.shed(plan, load, excess)
        running = only(load.network, self.shut_down)
        rest = of(running, load)
        spared = load.load() - rest.load()
        made = self.policy.shed(Plan(running), rest, max(0.0, excess - spared)) if running.queries else Shedding()
        drops = (*cuts(load.network, running), *made.drops)
        return replace(made, drops=drops, shut_down=self.shut_down, saved=spared + made.saved)
