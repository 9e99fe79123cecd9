"""Keeps delay targets where a control period is a micro-batch: the batch is known before it is shed.

The first batch of a burst is thinned as it is read: its rows are counted, what they cost is known, and so is how long
the oldest have waited. What has waited too long to be answered in time makes room for what has not (`newest`), which
also is how a run goes on after it stood still: the rows of an old backlog are skipped, and that is recorded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.control.coming import Coming, age_drops, reach_s
from penstock.control.controllers import MISSING, Reading, Safe
from penstock.control.loop import Proposal
from penstock.control.promise import Promise
from penstock.control.targets import Judged
from penstock.plan.drops import Placed
from penstock.plan.running import Plan
from penstock.stats.batches import BatchStatistics
from penstock.stats.load import LoadModel, with_stated_costs
from penstock.stats.snapshot import Snapshot

COLD_ROWS: Final = 2000
"""Rows of a batch of which is not known yet what they cost: enough to learn by."""
COLD_BATCHES: Final = 2
COLD_SHARE: Final = 0.02
"""What the first batches measured is forgotten but for this share once there is another: they load and compile code,
and what that takes is not what rows cost. Nor are their response times those of the ones that follow."""
LEVELS: Final = 0.98
"""What is kept takes the values 1, 0.98, 0.98 squared, ...: a plan for each, and none for a smaller change."""
RESERVE: Final = 0.9
"""The share of the target within which a row counts as in time when it is asked whether to skip it."""


@dataclass(slots=True)
class _Planned:
    """What a decision expected: the load of the batch, and what it kept of that; and how long the slowest lane then
    worked."""

    whole_s: float
    kept_s: float
    worked_s: float = MISSING


@dataclass(slots=True)
class Ahead:
    """`propose` learns from the batch that is done, `foresee` decides for the one that is coming."""

    promise: Promise
    controller: Safe
    newest: bool = True
    name: str = "delay"
    _now_s: float | None = None
    _seen: Judged | None = None
    _latest: _Planned | None = None
    _pending: deque[_Planned] = field(default_factory=deque)
    _done: _Planned | None = None
    _speed: float | None = None
    _batches: int = 0

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        """Nothing: the next batch is not known yet. A batch without rows that follows one belongs to it."""
        passed_s = 0.0 if self._now_s is None else snapshot.now_s - self._now_s
        self._now_s = snapshot.now_s
        batch = snapshot.batch
        if batch is not None and batch.took_s is not None:
            self._batches += 1
            if 1 < self._batches <= COLD_BATCHES + 1:
                self.promise.meter.fade(COLD_SHARE)
        self.promise.meter.see(snapshot, passed_s)
        if batch is not None:
            self._over(batch)
        return ()

    def _over(self, batch: BatchStatistics) -> None:
        worked_s = batch.seconds.get("lanes", 0.0)
        if batch.took_s is not None:
            self._done = self._pending.popleft() if self._pending else None
            if self._done is not None:
                self._done.worked_s = worked_s
        elif self._done is not None:
            self._done.worked_s += worked_s
        if self._batches > COLD_BATCHES:
            self._seen = self.promise.judged(batch.delays) or self._seen

    def _learn(self) -> None:
        """How much load is worked off in a second of the slowest lane: what a batch takes besides is its floor, and
        says nothing about what rows cost."""
        done = self._done
        if done is None or not done.kept_s > 0:
            return
        found = min(self.promise.lanes, done.kept_s / max(done.worked_s, 0.01))
        self._speed = found if self._speed is None else self._speed + 0.3 * (found - self._speed)

    def foresee(self, plan: Plan, coming: Coming) -> Sequence[Proposal]:
        """The drops of the batch that waits at the gate."""
        meter = self.promise.meter
        if self._latest is not None and not plan.drops:
            self._latest.kept_s = self._latest.whole_s
        while len(self._pending) > (coming.ahead_s > 0):
            self._pending.popleft()
        if not meter.known:
            return self._cold(plan, coming)
        self._learn()
        load = meter.load({name: rows / coming.gathered_s for name, rows in coming.rows.items()})
        skips: tuple[Placed, ...] = ()
        age_s = self._reach_s(coming, load)
        if self.newest and coming.waited_s + coming.ahead_s > RESERVE * self.promise.target_s:
            skips, coming = age_drops(plan.network, coming, age_s), coming.since(age_s)
        amount = self.controller.step(self._reading(coming, load))
        wanted = level(amount.excess, load.load())
        made = self.promise.placed(plan, load, wanted, coming.gathered_s, self._speed, coming.floor_s)
        whole_s = load.load() * coming.gathered_s
        self._latest = _Planned(whole_s, whole_s - made.saved * coming.gathered_s)
        self._pending.append(self._latest)
        self._seen = self._done = None
        return self.promise.proposals(plan, made, amount.why, skips)

    def _reach_s(self, coming: Coming, load: LoadModel) -> float:
        promise = self.promise
        speed = promise.headroom * promise.lanes if self._speed is None else self._speed
        needed_s = load.load() * coming.gathered_s / speed
        return reach_s(coming, needed_s, RESERVE * promise.target_s)

    def _reading(self, coming: Coming, load: LoadModel) -> Reading:
        seen, promise, done = self._seen, self.promise, self._done
        took_s = MISSING if done is None else done.worked_s + coming.floor_s
        stale_s = max(0.0, coming.waited_s - coming.gathered_s)
        return Reading(
            now_s=coming.now_s, period_s=coming.gathered_s, input_load=load.load(),
            queued_load=load.load() * coming.gathered_s, target_s=promise.target_s,
            headroom=promise.headroom * promise.lanes, lanes=promise.lanes,
            delay_s=MISSING if seen is None else seen.mean_s, p99_s=MISSING if seen is None else seen.p99_s,
            processed=MISSING if done is None else done.kept_s / took_s,
            waited_s=coming.waited_s + coming.ahead_s, took_s=took_s, floor_s=coming.floor_s,
            lead_s=coming.lead_s + stale_s + coming.ahead_s,
        )  # fmt: skip

    def _cold(self, plan: Plan, coming: Coming) -> Sequence[Proposal]:
        """Nothing is known yet of what rows cost: as many as it takes to learn that, of a batch that has more. What an
        earlier run has left lying is too late already; but where nothing seems to be young, a clock may be wrong, and
        only the first batch is skipped for it."""
        skips: tuple[Placed, ...] = ()
        young = coming.since(self.promise.target_s)
        seems_young = any(young.rows.values()) or not self._batches
        if self.newest and coming.waited_s > self.promise.target_s and seems_young:
            skips, coming = age_drops(plan.network, coming, self.promise.target_s), young
        rows = sum(coming.rows.values())
        rates = {name: n / coming.gathered_s for name, n in coming.rows.items()}
        load = with_stated_costs(LoadModel(self.promise.network, {}, rates))
        excess = max(0.0, 1 - COLD_ROWS / rows) * load.load() if rows else 0.0
        made = self.promise.policy.shed(plan, load, excess)
        return self.promise.proposals(plan, made, f"the first {COLD_ROWS} rows, to learn what they cost", skips)


def level(excess: float, load: float) -> float:
    """`excess`, or a little more, so that the share of `load` that is kept is one of `LEVELS`.

    >>> level(0.0, 2.0), round(level(0.03, 2.0), 4), round(level(1.0, 2.0), 4)
    (0.0, 0.04, 1.0139)
    """
    kept = 1 - min(1.0, excess / load) if load > 0 else 1.0
    reached = 1.0
    while reached > kept + 1e-9 and reached > 1e-6:
        reached *= LEVELS
    return (1 - reached) * load if reached > 1e-6 else load
