"""The driver's side of a run: a plan record, the lanes' work, a commit record, the sinks; again for every batch.

Spark's offset log decides what a batch of rows contains. Batches here are numbered on their own, since there are
batches without rows: one follows where time that has passed can close something. What has a commit record has
happened; a batch that Spark gives again after a crash is passed over if it has one.

Where answers are wanted in time and the driver has the rows, Spark may go on a little before the lanes are through:
what lies between two batches, and the gate's part of the next, then passes while they work. The rows are durable by
then (`penstock.spark.state.inbox`), and batches are committed one after the other as ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.plan.network import Query
from penstock.plan.windows import BEGIN, END
from penstock.settings import Settings
from penstock.spark.batch import Batch, BatchReport, last_attempts, report_of
from penstock.spark.counting import durable, waits_of
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.functions import OnError
from penstock.spark.intake import Intake
from penstock.spark.lanes.courier import Errand
from penstock.spark.lanes.exchange import Taken, exchange
from penstock.spark.lanes.keeper import dead_letters_of, results_of
from penstock.spark.lanes.protocol import Request
from penstock.spark.passage import Passage, dropped
from penstock.spark.processor import OwnTime, ProcessorMeter
from penstock.spark.stages import Staged
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.inbox import Inbox, Letter
from penstock.spark.state.records import CommitRecord, PlanRecord
from penstock.spark.steering import Done, Steering


class Publisher(Protocol):
    """Where a query's results go. `publish` may be called again for the same batch, and must then change nothing."""

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Delivers what `query` has to say in `batch`."""


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
        settings = settings or Settings()
        self.steering = steering or Steering(staged, None, checkpoint.folder, settings)
        self._timed = timed
        self._intake = intake
        self._came: Mapping[str, int] = {}
        self._letters = letters or DeadLetters(checkpoint.run)
        self._on_error = OnError(staged.network)
        self._processor = ProcessorMeter(spark)
        self._controlling = OwnTime()
        self._exchange = exchange(spark, staged.lanes)
        self._passage = Passage(staged, settings, self.steering.plans, self._exchange)
        self._inbox = Inbox(checkpoint.folder)
        self._lock = threading.Lock()
        self._steered = threading.Lock()
        self._threads = ThreadPoolExecutor(3, "penstock-batch")
        self._under_way: Batch | None = None
        self._last = checkpoint.last()
        self._resumed = self._last is not None
        if self._last is not None:
            self._publish(self._last)
            before = checkpoint.records.plan(self._last.batch)
            same = before is not None and before.network == checkpoint.network
            self.steering.resume(before.plan if before is not None and same else "")
        self._take_up()

    @property
    def network(self) -> str:
        """The fingerprint under which the checkpoint has the network."""
        return self.checkpoint.network

    def _take_up(self) -> None:
        """Works off the batch that a run before was killed over after Spark had gone on."""
        number = self._number()
        self._inbox.clear(number - 1)
        letter = self._inbox.get(number)
        if letter is None:
            return
        plan, written = self._plan(number, letter.source, None)
        written.result()
        now, reached = time.perf_counter(), {**plan.progress, **letter.until}
        batch = Batch(plan, self.steering.divided(plan.plan), now, reached, Taken(letter.rows), letter.until,
                      dropped=letter.dropped, planned=now, ready=now)  # fmt: skip
        self._work(batch)
        batch.check()

    def on_batch(self, rows: DataFrame, source: int) -> None:
        """One batch of rows from the sources, through the gate already: what Spark calls."""
        with self._lock:
            self._reap()
            if source <= self._given:
                return
            before = self._under_way
            batch = self._prepared(source, rows, before)
            if before is not None:
                before.committed.wait()
                before.check()
            if self._intake is not None and batch.until and self._intake.worth_overlapping(batch.rows):
                self._overlap(batch, before)
                return
            self._finish()
            self._work(batch)
            batch.check()
            if self._intake is not None:
                if self._last is not None and self._progress() != dict(self._last.progress):
                    self._run()
                self._intake.ended()

    def _overlap(self, batch: Batch, before: Batch | None) -> None:
        """Lets the lanes begin, and Spark go on a little before they end."""
        assert self._intake is not None and batch.plan.source is not None
        self._under_way = batch
        self._threads.submit(self._work, batch, before)
        letter = Letter(batch.plan.batch, batch.plan.source, batch.taken.rows or (), batch.until, batch.dropped)
        if self._last is not None:
            self._inbox.clear(self._last.batch)
        self._inbox.put(letter)
        batch.committed.wait(self._intake.hold_s(batch.rows))
        if batch.committed.is_set():
            batch.check()
        self._intake.ended()

    def follow_up(self) -> bool:
        """A batch without rows, where time has passed since the last one that can close something; False where not."""
        with self._lock:
            self._reap()
            due = self._under_way is None and self._last is not None and self._progress() != dict(self._last.progress)
            if due:
                self._run()
            return due

    def advance(self, until: int = END) -> None:
        """A batch without rows that takes all streams' time to `until`; at the end of time, all time windows close."""
        with self._lock:
            self._finish()
            self._run(until)

    def settle(self) -> None:
        """Returns once no batch is under way."""
        with self._lock:
            self._finish()

    def close(self) -> None:
        """Waits for what is under way, whatever becomes of it: until then the checkpoint is in use."""
        with self._lock:
            if self._under_way is not None:
                self._under_way.ended.wait()
            self._threads.shutdown()

    @property
    def _given(self) -> int:
        """The last number of Spark's that was taken."""
        if self._under_way is not None and self._under_way.plan.source is not None:
            return self._under_way.plan.source
        return -1 if self._last is None else self._last.last_source

    def _finish(self) -> None:
        """Waits for the batch that is under way."""
        if self._under_way is not None:
            self._under_way.ended.wait()
            self._reap()

    def _reap(self) -> None:
        """Hears of the batch that was under way, if it has ended."""
        batch = self._under_way
        if batch is not None and batch.ended.is_set():
            self._under_way = None
            batch.check()

    def _run(self, until: int | None = None) -> None:
        """A batch without rows."""
        batch = self._prepared(None, None, None, until)
        self._work(batch)
        batch.check()

    def _number(self) -> int:
        """That of the next batch."""
        if self._under_way is not None:
            return self._under_way.plan.batch + 1
        return 0 if self._last is None else self._last.batch + 1

    def _prepared(self, source: int | None, rows: DataFrame | None, before: Batch | None,
                  until: int | None = None) -> Batch:  # fmt: skip
        """The next batch as far as it comes without the lanes; `before` may still be in them."""
        started = time.perf_counter()
        with self._steered:
            if rows is not None and self._intake is not None:
                with self._controlling:
                    self.steering.foresee(self._intake.coming(rows, self._resumed, self._busy_s(before)))
            number = self._number()
            plan, written = self._plan(number, source, until)
            divided = self.steering.divided(plan.plan)
            if rows is not None:
                self.steering.ordering.calibrate(rows)
        batch = Batch(plan, divided, started, dict(plan.progress), overlapped=before is not None)
        if number in {g.first for g in self.checkpoint.registered.generations}:
            loaded = self._loaded(number)
            rows = loaded if rows is None else rows if loaded is None else rows.unionByName(loaded, True)
        batch.planned = time.perf_counter()
        self._passage.take(batch, rows)
        written.result()
        batch.ready = time.perf_counter()
        if source is not None and self._intake is not None:
            arrived = self._passage.reach(batch)
            with self._steered:
                self._intake.prepared(batch.ready - batch.started, arrived)
        return batch

    def _busy_s(self, before: Batch | None) -> float | None:
        """How long the lanes will still be busy with the batch before; None where they are not."""
        if before is None or self._intake is None:
            return None
        return max(0.0, before.begun + self._intake.works_s(before.rows) - time.perf_counter())

    def _work(self, batch: Batch, before: Batch | None = None) -> None:
        """The lanes' part of a batch and all that follows; `before` has to end before it is committed."""
        try:
            batch.begun = time.perf_counter()
            batch.attempts = tuple(sorted(self._exchange.run(batch.taken, self._errands(batch)), key=lambda a: a.lane))
            self._on_error.judge(batch.attempts)
            batch.worked = time.perf_counter()
            if before is not None:
                before.ended.wait()
                before.check()
            self._commit(batch)
            batch.committed.set()
            self._deliver(batch)
        except BaseException as failure:
            batch.failure = failure
        finally:
            batch.committed.set()
            batch.ended.set()

    def _commit(self, batch: Batch) -> None:
        plan = batch.plan
        given = plan.source if plan.source is not None else -1 if self._last is None else self._last.last_source
        commit = CommitRecord(plan.batch, plan.source, durable(batch.attempts), self._seen(batch), batch.reached, given)
        self.checkpoint.records.put_commit(commit)
        self._last = batch.commit = commit

    def _deliver(self, batch: Batch) -> None:
        """Hands on what a committed batch has to say, and learns from it."""
        assert batch.commit is not None
        committed = time.perf_counter()
        self._publish(batch.commit)
        seconds = batch.seconds(committed)
        waits = waits_of(batch.attempts, time.time_ns() // 1000) if self._timed else {}
        report = report_of(batch.commit, seconds, waits)
        went, processor_s = dropped(batch), self._processor.read(batch.attempts)
        control_s = self._controlling.read()
        done = Done(batch.plan, batch.attempts, went, seconds, processor_s, self._timed, control_s)
        with self._steered, self._controlling:
            report.snapshot = self.steering.after(done)
            batch.done = time.perf_counter()
            self._learn(batch, report, seconds)
        self.reports.append(report)
        self.checkpoint.clean(batch.commit)

    def _learn(self, batch: Batch, report: BatchReport, seconds: Mapping[str, float]) -> None:
        self._passage.learn(batch)
        if self._intake is None or report.snapshot is None:
            return
        rows = {s.name: s.rows for s in report.snapshot.streams}
        came_by = {name: n - self._came.get(name, 0) for name, n in rows.items()}
        self._came = rows
        if batch.plan.source is None:
            self._intake.more(sum(seconds.values()) - seconds["lanes"])
            return
        took_s = batch.done - batch.begun if batch.overlapped else sum(seconds.values())
        self._intake.done(came_by, took_s, seconds["lanes"], batch.rows, batch.overlapped)
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

    def _plan(self, number: int, source: int | None, until: int | None) -> tuple[PlanRecord, Future[None]]:
        """The batch's plan record: the one that a run before a crash has made, or a new one; and when it is durable,
        which the gate does not wait for."""
        kept = self.checkpoint.records.plan(number)
        if kept is not None and (kept.source, kept.network) == (source, self.network):
            return kept, self._threads.submit(lambda: None)
        progress = self._progress() if until is None else self._taken_to(until)
        plan = PlanRecord(number, source, self.network, progress, self.staged.lanes, self.steering.written())
        return plan, self._threads.submit(self.checkpoint.records.put_plan, plan)

    def _taken_to(self, until: int) -> dict[str, int]:
        return {name: max(progress, until) for name, progress in self._progress().items()}

    def _progress(self) -> dict[str, int]:
        """How far each stream's time has come, by what the batches before have seen; relations are complete at once."""
        if self._under_way is not None:
            return dict(self._under_way.reached)
        last = self._last
        before: Mapping[str, int] = {} if last is None else last.progress
        seen: Mapping[str, int] = {} if last is None else last.seen
        progress = {r.name: END for r in self.staged.network.relations}
        for stream in self.staged.network.streams:
            reached = seen[stream.name] - self._passage.skew_us(stream) if stream.name in seen else BEGIN
            progress[stream.name] = max(reached, before.get(stream.name, BEGIN))
        return progress

    def _errands(self, batch: Batch) -> list[Errand]:
        before, last = last_attempts(self._last), self.staged.stages - 1
        return [Errand(self._request(batch, stage), before, stage == last) for stage in range(last + 1)]

    def _request(self, batch: Batch, stage: int) -> Request:
        plan = batch.plan
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
            until=batch.until,
            plan=batch.divided.lanes,
            functions=self.checkpoint.functions,
        )

    def _seen(self, batch: Batch) -> dict[str, int]:
        seen = {} if self._last is None else dict(self._last.seen)
        for attempt in batch.attempts:
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
