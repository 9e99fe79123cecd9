"""Where what must go does go: the policy places the drops, and queries whose promises stand in the way are shut down.

A delay target outranks a bounded gap. Where a policy cannot shed enough because a query may not lose that much, the
query that is most costly after all that may go has gone delivers nothing any more, and nothing is done for it alone.
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
PATIENCE: Final = 3
"""Decisions in a row that must fall short before a query is shut down: what rows cost may be measured wrong once."""
LATE: Final = 0.25
"""The share of the target that the queue of `Keeper.backlog_s` must take to be worked off."""
LASTING: Final = 3.0
"""Targets for which the real queues may be longer than the target while all goes that may go."""


@dataclass(frozen=True, slots=True)
class Room:
    """What there is for the network: `capacity` processor-seconds a second, over a period of so many `seconds`, to
    answer within `target_s`."""

    capacity: float
    seconds: float
    target_s: float


@dataclass(slots=True)
class Keeper:
    """Asks `policy`, and remembers which queries were shut down. A query that was shut down stays so until the run
    ends: its windows lack what was not kept for it, and a part of a window's answer is no answer.

    So it must be certain that its bound and the target cannot both hold. That a policy falls short of an excess does
    not say so: a controller asks for more than the input is too much while a queue has to go. What says it is the queue
    that would stand if everything had gone that may go, `backlog_s` in processor-seconds: it stays empty where the
    bound holds at the load that lasts, and grows without end where it does not. And where all goes that may go and
    results are late all the same, for `LASTING` targets, there is nothing else left: windows may be too coarse for a
    near target.
    """

    policy: Policy
    shut_down: tuple[str, ...] = ()
    backlog_s: float = 0.0
    _short: int = field(default=0)
    _late_s: float = field(default=0.0)

    def __post_init__(self) -> None:
        if isinstance(self.policy, WindowShedding):
            self.policy = self.policy.patient()

    def place(self, plan: Plan, load: LoadModel, excess: float, room: Room) -> Shedding:
        """The drops under which `excess` processor-seconds a second less are needed."""
        made = self._without(plan, load, excess)
        while self._hopeless(made, load, excess, room):
            victim = costliest(load, self.shut_down, drops=made.drops)
            if victim is None:
                break
            self.shut_down, self.backlog_s, self._late_s = (*self.shut_down, victim), 0.0, 0.0
            made = self._without(plan, load, excess)
        return made

    def _hopeless(self, made: Shedding, load: LoadModel, excess: float, room: Room) -> bool:
        """True where all that may go is not enough, and has not been for long enough to be late by it."""
        if made.shortfall <= TOLERATED * excess:
            self._short, self.backlog_s, self._late_s = 0, 0.0, 0.0
            return False
        self._short += 1
        self.backlog_s = max(0.0, self.backlog_s + (load.load() - made.saved - room.capacity) * room.seconds)
        full_s = room.target_s * room.capacity
        self._late_s = self._late_s + room.seconds if load.queued_load() > full_s else 0.0
        lasting = self.backlog_s > LATE * full_s or self._late_s > LASTING * room.target_s
        return self._short >= PATIENCE and lasting

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
