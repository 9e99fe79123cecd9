"""The plans of a run: the one of the next batch, what the gate takes of it, and the loop that hears of each batch.

Modes: `on` drops what the loop decides, `monitor` lets it decide and reports but drops nothing, `off` does not ask it.
A mode may be switched while the run goes: by `mode`, or by a file `mode` in the checkpoint folder.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pyarrow import fs

from penstock.control.coming import Coming
from penstock.control.gains import Gain
from penstock.control.loop import Decision, Loop
from penstock.errors import PenstockError, unknown
from penstock.plan.drops import Drop, Location, Shut, WindowDrop
from penstock.plan.running import Plan
from penstock.settings import Settings
from penstock.spark.counting import Totals, delays_of
from penstock.spark.drops import Counted, Thinner, at_gate
from penstock.spark.early import once
from penstock.spark.events import AccountLog, EventLog
from penstock.spark.filters import Ordered
from penstock.spark.lanes.counters import location_of
from penstock.spark.ordering import Ordering
from penstock.spark.plans import Plans
from penstock.spark.stages import Staged
from penstock.spark.state.files import Folder
from penstock.spark.state.records import Attempt, PlanRecord
from penstock.stats.batches import BatchStatistics
from penstock.stats.snapshot import Snapshot

MODES: Final = ("off", "monitor", "on")
LATELY: Final = 64
"""Plans that are kept as they are carried out: drop rates come again."""
KEPT: Final = 1000
"""Events that stay in memory, for whoever shows the run as it goes."""


@dataclass(frozen=True, slots=True)
class Divided:
    """A batch's plan as those see it who carry it out: the gate's filters and drops, and what is written to the
    lanes."""

    plan: Plan
    gate: Thinner
    lanes: str
    filters: Ordered


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a batch. `gate` is None where the gate dropped nothing; `timed` says whether arrivals are times of
    this machine's clock; `control_s` is processor time of deciding since the batch before."""

    record: PlanRecord
    attempts: Sequence[Attempt]
    gate: Counted | None
    seconds: Mapping[str, float]
    processor_s: float
    timed: bool
    control_s: float = 0.0


class Steering:
    """Chooses the plans of a staged network's run; `log` has the latest snapshots and decisions."""

    def __init__(self, staged: Staged, loop: Loop | None, checkpoint: Folder, settings: Settings,
                 mode: str = "on", kept: int | None = KEPT) -> None:  # fmt: skip
        self.plans = Plans(staged.network)
        self.loop = loop or Loop(Plan(staged.network), ())
        self.log: deque[Snapshot | Decision | Gain] = deque(maxlen=kept)
        self.events = EventLog(checkpoint.sub("events"), self.plans)
        self.accounts = AccountLog(checkpoint.sub("accounts"))
        self._staged = staged
        self._totals = Totals(staged, self.plans, settings, self.loop.plan.watched)
        self.ordering = Ordering(staged, self.loop)
        self._divided: dict[str, Divided] = {}
        self._file = _mode_file(checkpoint)
        self._changed = 0
        self._shut: dict[Location, tuple[tuple[object, ...], tuple[Shut, ...]]] = {}
        self._latest = Snapshot(0, 0.0)
        self._warned = False
        self.skew_us = 0
        self.mode = mode

    @property
    def mode(self) -> str:
        """One of `MODES`."""
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        if mode not in MODES:
            raise PenstockError(unknown("mode", mode, MODES))
        if mode != getattr(self, "_mode", "on"):
            self.events.note("mode", mode=mode)
        self._mode = mode

    @property
    def timely(self) -> bool:
        """True where a strategy decides for each batch before it is let in."""
        return any(hasattr(s, "foresee") for s in self.loop.strategies)

    def foresee(self, coming: Coming) -> None:
        """Lets the loop choose the plan of the batch that waits at the gate."""
        self._look_for_mode()
        if self.mode == "off":
            return
        self.loop.mode = self.mode
        before = len(self.loop.log)
        self.loop.foresee(coming, self._latest)
        self._tell(before)

    def say(self, notice: str) -> None:
        """Tells the event log and whoever started the run."""
        self.events.note("notice", text=notice)
        print(f"penstock: {notice}", file=sys.stderr)

    def resume(self, written: str) -> None:
        """Goes on with the plan of the last batch before a restart."""
        if written:
            plan = self.plans.read(written)
            open_ = ((at, replace(d, shut=()) if isinstance(d, WindowDrop) else d) for at, d in plan.drops)
            self.loop.plan = replace(plan, drops=tuple(open_))
            self.events.note("resumed", plan=self.loop.plan.number)

    def written(self) -> str:
        """The plan of the next batch, as its record has it."""
        self._look_for_mode()
        plan = self.loop.plan
        plan = replace(plan, drops=tuple((at, self._shutting(at, drop)) for at, drop in plan.drops))
        return self.plans.written(plan if self.mode == "on" else replace(plan, drops=(), shut_down=()))

    def _shutting(self, location: Location, drop: Drop) -> Drop:
        """`drop` with what is known of the batches of windows that it drops."""
        before, shut = self._shut.get(location, (None, ()))
        return replace(drop, shut=shut) if isinstance(drop, WindowDrop) and before == drop.grid else drop

    def divided(self, written: str) -> Divided:
        """A record's plan, cut between gate and lanes."""
        found = self._divided.pop(written, None)
        if found is None:
            plan = self.plans.read(written)
            mine, left = at_gate(self._staged, plan)
            filters = Ordered(self.ordering.filters, plan, self.ordering.cadence)
            thinner = Thinner(mine, len(self._staged.entries))
            found = Divided(plan, thinner, self.plans.written(filters.left(left)), filters)
        self._divided[written] = found
        if len(self._divided) > LATELY:
            self._divided.pop(next(iter(self._divided)))
        return found

    def after(self, done: Done) -> Snapshot:
        """Counts a batch and lets the loop choose the next plan."""
        divided = self.divided(done.record.plan)
        delays = delays_of(done.attempts, time.time_ns() // 1000 - self.skew_us) if done.timed else ()
        self._totals.add(done.attempts)
        self._hear(divided.plan, done.attempts)
        if done.gate is not None:
            self._totals.dropped_at_gate(done.attempts, divided.gate.drops, done.gate)
        read = done.record.source is not None
        took_s = sum(done.seconds.values()) if read else None
        batch = BatchStatistics(
            done.record.batch, 0, done.seconds, done.processor_s, delays, self.mode, took_s, done.control_s
        )
        snapshot = self._totals.snapshot(time.monotonic(), done.record.progress, batch, divided.plan.shut_down, read)
        gate_s = done.seconds.get("gate") if read else None
        snapshot = replace(snapshot, profiles=self.ordering.measured(done.attempts, self.plans, gate_s))
        snapshot = self.loop.accounted(snapshot)
        self._warn(snapshot)
        self._latest = snapshot
        self.events.snapshot(snapshot, self.mode, divided.plan)
        self.accounts.snapshot(snapshot, self.mode)
        self._step(snapshot, (read or self.timely) and self.mode != "off")
        return snapshot

    def _warn(self, snapshot: Snapshot) -> None:
        """Says once that the machine is overloaded, where nobody will do something about it."""
        why = None if snapshot.overload is None else snapshot.overload.why
        if why and not self.timely and not self._warned:
            self._warned = True
            self.say(f"overloaded: {why}; a query WITH (delay = '2 seconds') is answered in time, by shedding load")

    def _hear(self, plan: Plan, attempts: Sequence[Attempt]) -> None:
        """Remembers which windows the lanes are dropping; of a group that several lanes drop, nothing is known."""
        told: dict[Location, list[Shut]] = {}
        for named, batches in ((named, batches) for a in attempts for *named, batches in a.counters["shut"]):
            told.setdefault(location_of(named, self.plans), []).extend(Shut(*b) for b in batches)
        grids = {at: d.grid for at, d in plan.drops if isinstance(d, WindowDrop)}
        self._shut = {at: (grids[at], once(batches)) for at, batches in told.items() if at in grids}

    def _step(self, snapshot: Snapshot, asked: bool) -> None:
        """Batches without rows say nothing about load, and the loop does not hear of them."""
        if not asked:
            self.log.append(snapshot)
            return
        before = len(self.loop.log)
        self.loop.step(snapshot)
        self._tell(before)

    def _tell(self, before: int) -> None:
        """Passes on what the loop has logged since."""
        for event in self.loop.log[before:]:
            self.log.append(event)
            if isinstance(event, Decision):
                self.events.decision(event)
            elif isinstance(event, Gain):
                self.events.gain(event)
        if self.log.maxlen is not None:
            self.loop.log.clear()

    def _look_for_mode(self) -> None:
        if self._file is None:
            return
        try:
            changed = self._file.stat().st_mtime_ns
        except FileNotFoundError:
            return
        if changed != self._changed:
            self._changed = changed
            wanted = self._file.read_text(encoding="utf-8").strip()
            if wanted in MODES:
                self.mode = wanted
            else:
                self.events.note("mode refused", mode=wanted, known=MODES)

    def close(self) -> None:
        """Ends the logs' files."""
        self.events.close()
        self.accounts.close()


def _mode_file(checkpoint: Folder) -> Path | None:
    """The file by which somebody outside switches modes; looked for where looking costs nothing."""
    system, path = checkpoint.open()
    return Path(path) / "mode" if isinstance(system, fs.LocalFileSystem) else None
