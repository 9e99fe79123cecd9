"""The driver's side of a run: a plan record, the lanes' work, a commit record, the sinks; again for every batch.

Spark's offset log decides what a batch of rows contains. Batches here are numbered on their own, since there are
batches without rows: one follows where time that has passed can close something. What has a commit record has
happened; a batch that Spark gives again after a crash is passed over if it has one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.plan.network import Query, StreamDefinition
from penstock.plan.windows import BEGIN, END
from penstock.settings import Settings
from penstock.spark.counting import durable, waits_of
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.drops import Counted, Thinner, place_in
from penstock.spark.filters import of_no_entry
from penstock.spark.functions import OnError
from penstock.spark.intake import Intake, latest
from penstock.spark.lanes.courier import Errand
from penstock.spark.lanes.exchange import exchange
from penstock.spark.lanes.keeper import dead_letters_of, results_of
from penstock.spark.lanes.protocol import Request
from penstock.spark.pane_choice import PaneChoice
from penstock.spark.pane_gate import PaneGate
from penstock.spark.panes import Panes
from penstock.spark.processor import ProcessorMeter
from penstock.spark.stages import Staged
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.records import Attempt, CommitRecord, PlanRecord
from penstock.spark.steering import Done, Steering
from penstock.stats.batches import Waits
from penstock.stats.snapshot import Snapshot


class Publisher(Protocol):
    """Where a query's results go. `publish` may be called again for the same batch, and must then change nothing."""

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Delivers what `query` has to say in `batch`."""


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


class Pipeline:
    """Runs a staged network's batches over `checkpoint`, one at a time, whoever asks for them."""

    def __init__(
        self,
        spark: SparkSession,
        staged: Staged,
        checkpoint: Checkpoint,
        publishers: Mapping[str, Publisher],
        relations: Callable[[], DataFrame | None] = lambda: None,
        settings: Settings | None = None,
        steering: Steering | None = None,
        timed: bool = True,
        intake: Intake | None = None,
        letters: DeadLetters | None = None,
    ) -> None:
        self.spark = spark
        self.staged = staged
        self.checkpoint = checkpoint
        self.publishers = publishers
        self.reports: list[BatchReport] = []
        self._relations = relations
        self._settings = settings or Settings()
        self.steering = steering or Steering(staged, None, checkpoint.folder, self._settings)
        self._timed = timed
        self._intake = intake
        self._came: Mapping[str, int] = {}
        self._letters = letters or DeadLetters(checkpoint.run)
        self._on_error = OnError(staged.network)
        self._processor = ProcessorMeter(spark)
        self._panes = PaneChoice(staged, self._settings)
        self._pane_gate = PaneGate(staged)
        self._exchange = exchange(spark, staged.lanes)
        self._lock = threading.Lock()
        self._last = checkpoint.last()
        self._resumed = self._last is not None
        if self._last is not None:
            self._publish(self._last)
            before = checkpoint.records.plan(self._last.batch)
            same = before is not None and before.network == checkpoint.network
            self.steering.resume(before.plan if before is not None and same else "")

    @property
    def network(self) -> str:
        """The fingerprint under which the checkpoint has the network."""
        return self.checkpoint.network

    def on_batch(self, rows: DataFrame, source: int) -> None:
        """One batch of rows from the sources, through the gate already: what Spark calls."""
        with self._lock:
            if self._last is not None and source <= self._last.last_source:
                return
            started = time.perf_counter()
            if self._intake is not None:
                self.steering.foresee(self._intake.coming(rows, self._resumed))
            self._run(source, rows, started=started)
            if self._intake is not None:
                if self._last is not None and self._progress() != dict(self._last.progress):
                    self._run(None, None)
                self._intake.ended()

    def follow_up(self) -> bool:
        """A batch without rows, where time has passed since the last one that can close something; False where not."""
        with self._lock:
            due = self._last is not None and self._progress() != dict(self._last.progress)
            if due:
                self._run(None, None)
            return due

    def advance(self, until: int = END) -> None:
        """A batch without rows that takes all streams' time to `until`; at the end of time, all time windows close."""
        with self._lock:
            self._run(None, None, until)

    def settle(self) -> None:
        """Returns once no batch is under way."""
        with self._lock:
            return

    def _run(self, source: int | None, rows: DataFrame | None, until: int | None = None,
             started: float | None = None) -> None:  # fmt: skip
        started = time.perf_counter() if started is None else started
        number = 0 if self._last is None else self._last.batch + 1
        plan = self._plan(number, source, until)
        if number in {g.first for g in self.checkpoint.registered.generations}:
            loaded = self._loaded(number)
            rows = loaded if rows is None else rows if loaded is None else rows.unionByName(loaded, True)
        planned = time.perf_counter()
        reached = dict(plan.progress)
        attempts, dropped = self._lanes(plan, rows, reached)
        self._on_error.judge(attempts)
        worked = time.perf_counter()
        given = source if source is not None else -1 if self._last is None else self._last.last_source
        commit = CommitRecord(number, source, durable(attempts), self._seen(attempts), reached, given)
        self.checkpoint.records.put_commit(commit)
        self._last = commit
        committed = time.perf_counter()
        self._publish(commit)
        published = time.perf_counter()
        seconds = {"plan": planned - started, **_parts(worked - planned, attempts), "commit": committed - worked,
                   "sinks": published - committed}  # fmt: skip
        report = _report(commit, seconds, waits_of(attempts, time.time_ns() // 1000) if self._timed else {})
        done = Done(plan, attempts, dropped, seconds, self._processor.read(attempts), self._timed)
        report.snapshot = self.steering.after(done)
        self._learn(source, report.snapshot, seconds)
        self.reports.append(report)
        self.checkpoint.clean(commit)

    def _learn(self, source: int | None, snapshot: Snapshot, seconds: Mapping[str, float]) -> None:
        if self._intake is not None:
            rows = {s.name: s.rows for s in snapshot.streams}
            came = {name: n - self._came.get(name, 0) for name, n in rows.items()}
            self._came = rows
            if source is None:
                self._intake.more(sum(seconds.values()) - seconds["lanes"])
            else:
                self._intake.done(came, sum(seconds.values()), seconds["lanes"])
                self.steering.skew_us = round(self._intake.skew_s * 1e6)
                for notice in self._intake.notices():
                    self.steering.say(notice)

    def _loaded(self, number: int) -> DataFrame | None:
        """The rows of loaded relations for the queries whose first batch this is."""
        loaded = self._relations()
        if loaded is None or number == 0:
            return loaded
        fresh = [e for e in self.staged.entries_of(0) if e.since == number]
        return loaded.where(F.col("_entry").isin([e.number for e in fresh])) if fresh else None

    def _plan(self, number: int, source: int | None, until: int | None) -> PlanRecord:
        """The batch's plan record: the one that a run before a crash has made, or a new one."""
        kept = self.checkpoint.records.plan(number)
        if kept is not None and (kept.source, kept.network) == (source, self.network):
            return kept
        progress = self._progress() if until is None else self._taken_to(until)
        plan = PlanRecord(number, source, self.network, progress, self.staged.lanes, self.steering.written())
        self.checkpoint.records.put_plan(plan)
        return plan

    def _taken_to(self, until: int) -> dict[str, int]:
        return {name: max(progress, until) for name, progress in self._progress().items()}

    def _progress(self) -> dict[str, int]:
        """How far each stream's time has come, by what the batches before have seen; relations are complete at once."""
        last = self._last
        before: Mapping[str, int] = {} if last is None else last.progress
        seen: Mapping[str, int] = {} if last is None else last.seen
        progress = {r.name: END for r in self.staged.network.relations}
        for stream in self.staged.network.streams:
            reached = seen[stream.name] - self._skew_us(stream) if stream.name in seen else BEGIN
            progress[stream.name] = max(reached, before.get(stream.name, BEGIN))
        return progress

    def _skew_us(self, stream: StreamDefinition) -> int:
        return self._settings.skew_us if stream.within_us is None else stream.within_us

    def _lanes(
        self, plan: PlanRecord, rows: DataFrame | None, reached: dict[str, int]
    ) -> tuple[tuple[Attempt, ...], Counted | None]:
        """The work of all lanes, stage after stage; and what the gate dropped before it. `reached` is taken on to where
        the batch's own rows take time, where answers are wanted in time and the rows are seen before the lanes."""
        divided = self.steering.divided(plan.plan)
        gate = divided.gate
        if rows is not None and plan.source is not None:
            self.steering.ordering.calibrate(rows)
        panes = () if rows is None else self._chosen(plan)
        rows = None if rows is None else divided.filters(self._panes.whole(rows, panes))
        arriving = None if rows is None else _numbered(rows, plan.batch if gate.drops or panes else None)
        before = {} if self._last is None else last_attempts(self._last)
        last = self.staged.stages - 1
        errands = [Errand(self._request(plan, stage), before, stage == last) for stage in range(last + 1)]
        given = None if arriving is None else self._paned(gate(arriving, plan.progress), panes, plan.progress)
        timely = self._intake is not None and plan.source is not None and not panes
        listed, work = self._exchange.run(given, errands, partial(self._reach, reached) if timely else None)
        attempts = tuple(sorted(listed, key=lambda a: a.lane))
        if rows is not None:
            self._panes.learn(_first(attempts, "rows_in"), _first(attempts, "crossed"), bool(panes), work)
        if arriving is None or work is None:
            return attempts, None
        return attempts, _dropped(gate, work, arriving, attempts, plan.progress)

    def _chosen(self, plan: PlanRecord) -> tuple[Panes, ...]:
        divided = self.steering.divided(plan.plan)
        left = self.steering.plans.read(divided.lanes).drops if divided.lanes else ()
        return self._panes.of([d.placed for d in divided.gate.drops], left)

    def _paned(self, rows: DataFrame, panes: tuple[Panes, ...], progress: Mapping[str, int]) -> DataFrame:
        return self._pane_gate(rows, panes, progress, self._panes.alone(panes)) if panes else rows

    def _reach(self, reached: dict[str, int], rows: Sequence[pa.RecordBatch]) -> Mapping[str, int]:
        skews = {s.name: self._skew_us(s) for s in self.staged.network.streams}
        entries = self.staged.entries_of(0)
        if self._intake is not None and (arrivals := latest(rows, entries, "_arrival")):
            self._intake.arrived(max(arrivals.values()))
        for stream, ts in latest(rows, entries).items():
            reached[stream] = max(reached[stream], ts - skews[stream])
        return reached

    def _request(self, plan: PlanRecord, stage: int) -> Request:
        return Request(
            checkpoint=self.checkpoint.folder.name,
            run=self.checkpoint.run,
            network=self.network,
            lane=-1,
            lanes=self.staged.lanes,
            batch=plan.batch,
            stage=stage,
            before=None,
            attempt="",
            progress=plan.progress,
            plan=self.steering.divided(plan.plan).lanes,
            functions=self.checkpoint.functions,
        )

    def _seen(self, attempts: Sequence[Attempt]) -> dict[str, int]:
        seen = {} if self._last is None else dict(self._last.seen)
        for attempt in attempts:
            for stream, ts in attempt.counters["seen"].items():
                seen[stream] = max(ts, seen.get(stream, ts))
        return seen

    def _publish(self, commit: CommitRecord) -> None:
        """Hands every query's committed rows to its sink, lane after lane."""
        found: dict[str, list[pa.Table]] = {}
        for attempt in commit.attempts:
            if attempt.queries:
                for query, table in results_of(self.checkpoint.lane(attempt), attempt).items():
                    found.setdefault(query, []).append(table)
        for name, tables in found.items():
            if name not in self.publishers:
                continue
            self.publishers[name].publish(commit.batch, self.staged.network.query(name), pa.concat_tables(tables))
        dead = [dead_letters_of(self.checkpoint.lane(a), a) for a in commit.attempts if a.counters["malformed"]]
        if dead:
            self._letters.add(commit.batch, pa.concat_tables(d for d in dead if d is not None))


def _numbered(rows: DataFrame, batch: int | None) -> DataFrame:
    """`rows` with their places in the batch, where the gate has not given them one for good; as couriers would place
    them in `batch`, where drops ask for it."""
    if "_seq" in rows.columns:
        return rows
    if "_row" not in rows.columns:
        rows = rows.withColumn("_row", F.monotonically_increasing_id())
    return rows if batch is None else rows.withColumn("_seq", place_in(batch, F.col("_row"))).drop("_row")


def _dropped(
    gate: Thinner, work: DataFrame, rows: DataFrame, attempts: Sequence[Attempt], progress: Mapping[str, int]
) -> Counted | None:
    """What the gate dropped of `rows`; where a task ran twice, Spark's counts do not fit, and it is counted again."""
    if not gate.drops:
        return None
    counted = gate.counted(work)
    first = [a.counters for a in attempts if a.lane.startswith("0.")]
    arrived = _first(attempts, "rows_in") + sum(n for c in first for _, _, n in c["malformed"]) + of_no_entry(attempts)
    return counted if counted is not None and counted.kept == arrived else gate.recounted(rows, progress)


def _first(attempts: Sequence[Attempt], name: str) -> int:
    """What the lanes of stage 0 counted."""
    return sum(a.counters[name] for a in attempts if a.lane.startswith("0."))


def _parts(job_s: float, attempts: Sequence[Attempt]) -> dict[str, float]:
    """The job's time: of the slowest lane its operators and its state, the rest is the gate's."""
    spent: dict[str, dict[str, float]] = {}
    for attempt in attempts:
        own = spent.setdefault(attempt.lane.partition(".")[2], {"lanes": 0.0, "state": 0.0})
        for part, seconds in attempt.counters["seconds"].items():
            own[part] += seconds
    slowest = max(spent.values(), key=lambda own: sum(own.values()), default={"lanes": 0.0, "state": 0.0})
    return {"gate": max(0.0, job_s - sum(slowest.values())), **slowest}


def last_attempts(commit: CommitRecord) -> dict[int, str]:
    """For each lane, the attempt of the last stage: what its state comes from."""
    placed = [(tuple(map(int, a.lane.split("."))), a.attempt) for a in commit.attempts]
    return {lane: attempt for (_, lane), attempt in sorted(placed)}


def _report(commit: CommitRecord, seconds: Mapping[str, float], waits: Mapping[str, Waits]) -> BatchReport:
    out: dict[str, int] = {}
    malformed: dict[tuple[str, str], int] = {}
    rows_in = 0
    for attempt in commit.attempts:
        counters: Mapping[str, Any] = attempt.counters
        rows_in += counters["rows_in"] if attempt.lane.startswith("0.") else 0
        for query, count in counters["rows_out"].items():
            out[query] = out.get(query, 0) + count
        for stream, reason, count in counters["malformed"]:
            malformed[stream, reason] = malformed.get((stream, reason), 0) + count
    return BatchReport(commit.batch, commit.source, rows_in, out, seconds, malformed, waits)
