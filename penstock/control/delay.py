"""Keeps delay targets where tuples wait in queues: once a control period, from what was measured to drops.

A controller says how much must go (`penstock.control.controllers`), a policy where and what (`penstock.shed`). Of
several targets the nearest binds; the policy takes from the queries that lose least by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock.control.controllers import MISSING, Reading, Safe
from penstock.control.loop import Proposal
from penstock.control.meter import Period
from penstock.control.promise import Promise
from penstock.control.targets import Judged
from penstock.plan.running import Plan
from penstock.stats.snapshot import Snapshot

STANDING: Final = 0.5
"""The share of a period that the queues must take to be worked off, at both of its ends, so that the processor was
never idle in it."""


@dataclass(slots=True)
class Delay:
    """Decides for the next period from the last: the input of a period is taken to be that of the one before (Pham
    III-A)."""

    promise: Promise
    controller: Safe
    name: str = "delay"
    _now_s: float = 0.0
    _queued_s: float = 0.0
    _capacity: float | None = None

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        """The drops of the next period."""
        passed_s, self._now_s = snapshot.now_s - self._now_s, snapshot.now_s
        if passed_s <= 0:
            return ()
        promise = self.promise
        period = promise.meter.see(snapshot, passed_s)
        seen = None if snapshot.batch is None else promise.judged(snapshot.batch.delays)
        load = period.load
        amount = self.controller.step(self._reading(snapshot, period, seen))
        self._learn(period, load.queued_load())
        made = promise.placed(plan, load, amount.excess, period.seconds, self._capacity)
        return promise.proposals(plan, made, amount.why)

    def _learn(self, period: Period, queued_s: float) -> None:
        """What is worked off in a second where work waits all the time: the capacity."""
        if min(self._queued_s, queued_s) > STANDING * period.seconds:
            found = period.worked_s / period.seconds
            self._capacity = found if self._capacity is None else self._capacity + 0.2 * (found - self._capacity)
        self._queued_s = queued_s

    def _reading(self, snapshot: Snapshot, period: Period, seen: Judged | None) -> Reading:
        came, promise, load = sum(period.rows.values()), self.promise, period.load
        return Reading(
            now_s=snapshot.now_s, period_s=period.seconds, input_load=load.load(), queued_load=load.queued_load(),
            target_s=promise.target_s, headroom=promise.headroom * promise.lanes, lanes=promise.lanes,
            delay_s=MISSING if seen is None else seen.mean_s, p99_s=MISSING if seen is None else seen.p99_s,
            shedding=period.shed_s / period.seconds, processed=period.worked_s / period.seconds,
            entered=period.entered, left=period.left, cost_s=load.load() * period.seconds / came if came else MISSING,
        )  # fmt: skip
