"""Keeps delay targets where tuples wait in queues: once a control period, from what was measured to drops.

A controller says how much must go (`penstock.control.controllers`), a policy where and what (`penstock.shed`). Of
several targets the nearest binds; the policy takes from the queries that lose least by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.control.controllers import MISSING, Reading, Safe
from penstock.control.loop import Proposal
from penstock.control.meter import Period
from penstock.control.promise import Promise
from penstock.control.targets import Judged
from penstock.plan.running import Plan
from penstock.stats.load import LoadModel
from penstock.stats.snapshot import Snapshot


@dataclass(slots=True)
class Delay:
    """Decides for the next period from the last: the input of a period is taken to be that of the one before (Pham
    III-A)."""

    promise: Promise
    controller: Safe
    name: str = "delay"
    _now_s: float = 0.0

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        """The drops of the next period."""
        passed_s, self._now_s = snapshot.now_s - self._now_s, snapshot.now_s
        if passed_s <= 0:
            return ()
        promise = self.promise
        period = promise.meter.see(snapshot, passed_s)
        seen = None if snapshot.batch is None else promise.judged(snapshot.batch.delays)
        load = promise.meter.load({name: rows / passed_s for name, rows in period.rows.items()})
        amount = self.controller.step(self._reading(snapshot, period, load, seen))
        return promise.proposals(plan, promise.placed(plan, load, amount.excess), amount.why)

    def _reading(self, snapshot: Snapshot, period: Period, load: LoadModel, seen: Judged | None) -> Reading:
        came, promise = sum(period.rows.values()), self.promise
        return Reading(
            now_s=snapshot.now_s, period_s=period.seconds, input_load=load.load(), queued_load=load.queued_load(),
            target_s=promise.target_s, headroom=promise.headroom * promise.lanes, lanes=promise.lanes,
            delay_s=MISSING if seen is None else seen.mean_s, p99_s=MISSING if seen is None else seen.p99_s,
            shedding=period.shed_s / period.seconds, processed=period.worked_s / period.seconds,
            entered=period.entered, left=period.left, cost_s=load.load() * period.seconds / came if came else MISSING,
        )  # fmt: skip
