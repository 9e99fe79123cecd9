"""One batch on its way: what it runs, when each part of it began and ended, and what is reported of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from penstock.spark.drops import Counted
from penstock.spark.lanes.exchange import Taken
from penstock.spark.state.records import Attempt, CommitRecord, PlanRecord
from penstock.spark.steering import Divided
from penstock.stats.batches import Waits
from penstock.stats.snapshot import Snapshot


@dataclass(slots=True)
class BatchReport:
    """What one batch was: its number, whether rows came, how long each part took, what came in and went out.

    malformed   rows that could not be read, by stream and reason
    waits       response times of each query's results, where arrivals are times of this machine's clock
    snapshot    all that is known of the run after it
    """

    batch: int
    source: int | None
    rows_in: int
    rows_out: Mapping[str, int]
    seconds: Mapping[str, float] = field(default_factory=dict)
    malformed: Mapping[tuple[str, str], int] = field(default_factory=dict)
    waits: Mapping[str, Waits] = field(default_factory=dict)
    snapshot: Snapshot | None = None


@dataclass(slots=True)
class Batch:
    """The instants are the process's own, in seconds: `started` with the decision what to drop, `planned` once it has a
    plan, `ready` once that is durable and its rows have left the gate, `begun` in the lanes, `worked` out of them,
    `done` once delivered.

    divided    its plan, cut between gate and lanes
    arriving   its rows as they come to the gate's drops
    taken      those that stay
    reached    how far it takes each stream's time
    until      the same, where its own rows take it there and answers are wanted in time
    paned      True where its rows were aggregated in panes
    dropped    what the gate dropped, where that is known before the lanes are
    failure    what it failed with
    """

    plan: PlanRecord
    divided: Divided
    started: float
    reached: dict[str, int]
    taken: Taken = field(default_factory=Taken)
    until: Mapping[str, int] = field(default_factory=dict)
    arriving: DataFrame | None = None
    paned: bool = False
    dropped: Counted | None = None
    attempts: tuple[Attempt, ...] = ()
    commit: CommitRecord | None = None
    failure: BaseException | None = None
    planned: float = 0.0
    ready: float = 0.0
    begun: float = 0.0
    worked: float = 0.0
    done: float = 0.0
    overlapped: bool = False
    committed: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def rows(self) -> int:
        """Rows for the lanes, where the driver has them."""
        return sum(b.num_rows for b in self.taken.rows or ())

    def check(self) -> None:
        """Raises what it failed with."""
        if self.failure is not None:
            raise self.failure

    def seconds(self, committed: float) -> dict[str, float]:
        """Where its time went, the time left out for which it waited for the batch before: of the lanes the slowest's
        operators and state; the rest of their time is the gate's. `committed` is when its record was durable."""
        lanes_s = self.worked - self.begun
        slowest = _slowest(self.attempts)
        gate_s = self.ready - self.planned + max(0.0, lanes_s - sum(slowest.values()))
        return {"plan": self.planned - self.started, "gate": gate_s, **slowest, "commit": committed - self.worked,
                "sinks": time.perf_counter() - committed}  # fmt: skip


def _slowest(attempts: Sequence[Attempt]) -> dict[str, float]:
    """The time of the slowest lane's operators and state."""
    spent: dict[str, dict[str, float]] = {}
    for attempt in attempts:
        own = spent.setdefault(attempt.lane.partition(".")[2], {"lanes": 0.0, "state": 0.0})
        for part, seconds in attempt.counters["seconds"].items():
            own[part] += seconds
    return max(spent.values(), key=lambda own: sum(own.values()), default={"lanes": 0.0, "state": 0.0})


def last_attempts(commit: CommitRecord | None) -> dict[int, str]:
    """For each lane, the attempt of the last stage: what its state comes from."""
    placed = [] if commit is None else [(tuple(map(int, a.lane.split("."))), a.attempt) for a in commit.attempts]
    return {lane: attempt for (_, lane), attempt in sorted(placed)}


def first_stage(attempts: Sequence[Attempt], name: str) -> int:
    """What the lanes of stage 0 counted."""
    return sum(a.counters[name] for a in attempts if a.lane.startswith("0."))


def report_of(commit: CommitRecord, seconds: Mapping[str, float], waits: Mapping[str, Waits]) -> BatchReport:
    """A committed batch's report."""
    out: dict[str, int] = {}
    malformed: dict[tuple[str, str], int] = {}
    for attempt in commit.attempts:
        counters: Mapping[str, Any] = attempt.counters
        for query, count in counters["rows_out"].items():
            out[query] = out.get(query, 0) + count
        for stream, reason, count in counters["malformed"]:
            malformed[stream, reason] = malformed.get((stream, reason), 0) + count
    rows_in = first_stage(commit.attempts, "rows_in")
    return BatchReport(commit.batch, commit.source, rows_in, out, seconds, malformed, waits)
