"""A whole run: sources opened, the gate in place, batches until the sources end or somebody says stop."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.steer import Wishes, steer_run
from penstock.control.targets import targets
from penstock.errors import PenstockError
from penstock.plan.network import Network, StreamDefinition
from penstock.plan.nodes import Table
from penstock.plan.secrets import resolve
from penstock.plan.windows import BEGIN
from penstock.settings import Settings
from penstock.spark.batch import BatchReport
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.errors import explained
from penstock.spark.gate import gate
from penstock.spark.intake import Intake
from penstock.spark.packages import formats_of, session_settings
from penstock.spark.pipeline import Pipeline
from penstock.spark.recovery import kept_network, unfinished
from penstock.spark.session import JavaLog, cache_folder, cores, open_session
from penstock.spark.sinks import open_sink
from penstock.spark.sinks.sink import Sink
from penstock.spark.sizes import Sizes
from penstock.spark.sources import open_relation, open_stream
from penstock.spark.sources.replay import feeding, halt
from penstock.spark.sources.vanishing import Vanishing
from penstock.spark.stages import staged
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.files import Folder
from penstock.spark.state.lock import Lock
from penstock.spark.steering import Steering

LOOK_S = 0.05
"""How often a run looks for batches to follow up and for the end."""
AROUND_S = 2.0
"""How often it looks for sources that have gone."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run. `master` None is where spark-submit says, else all cores of this machine. `until_idle` ends when the
    sources have nothing more, `close` then closes all windows too. Rows that cannot be read go to `dead_letters`, or to
    the folder of that name in the checkpoint. Where a query declares a delay, `controller` and the policy that `shed`
    names keep it, in `mode` "on", "monitor" or "off"."""

    master: str | None = None
    checkpoint: str = "checkpoint"
    until_idle: bool = False
    close: bool = False
    trigger_s: float = 0.0
    dead_letters: str | None = None
    packages: tuple[str, ...] = ()
    mode: str = "on"
    controller: str | None = None
    shed: Mapping[str, Any] | None = None
    seed: int = 0
    rows_as_json: bool = False
    log: JavaLog = field(default_factory=JavaLog)
    settings: Settings = field(default_factory=Settings)
    extra: Mapping[str, str] | None = None


class Run:
    """A running application. `report` is called after each batch."""

    def __init__(self, network: Network, options: RunOptions, report: Callable[[BatchReport], None]) -> None:
        _refuse_unfed(network)
        lock = Lock(Folder(options.checkpoint).absolute)
        self.options = options
        self._secrets = secrets_of(network)
        extra = {**session_settings(formats_of(network), options.packages), **(options.extra or {})}
        prompt = bool(targets(network))
        self.spark = open_session("penstock", options.master, cache_folder(), extra, options.log, prompt)
        self._finish_before(network, lock)
        self.checkpoint = Checkpoint(options.checkpoint, network, cores(self.spark), lock=lock)
        self.staged = staged(self.checkpoint.registered, self.checkpoint.lanes)
        sinks = self._sinks(network, self.checkpoint.run)
        self._report = report
        self._failure: BaseException | None = None
        self._looked_s = float("-inf")
        read = [s for s in self.staged.network.streams if s.name in _leaves(self)]
        self._vanishing = Vanishing(self.spark, read, options.checkpoint)
        formats = {s.source.format.lower() for s in network.streams if s.source is not None}
        self._paced = options.until_idle and "replay" in formats
        self._work = f"{options.checkpoint}/sources"
        self._stopping = threading.Event()
        own = self.checkpoint.folder.sub("dead-letters").name
        letters = DeadLetters(self.checkpoint.run, options.dead_letters or own)
        steering = self._steering()
        self.pipeline = Pipeline(
            self.spark, self.staged, self.checkpoint, sinks, self._relations, options.settings, steering,
            letters=letters, intake=self._intake(steering),
        )  # fmt: skip

    def _sinks(self, network: Network, run: str) -> dict[str, Sink]:
        as_json = self.options.rows_as_json
        return {q.name: open_sink(self.spark, q, run, as_json=as_json) for q in network.queries}

    def _finish_before(self, network: Network, lock: Lock) -> None:
        """Where a run was killed over a batch that Spark had finished, and the script has changed since, works that
        batch off under the old one."""
        begun = unfinished(Folder(self.options.checkpoint))
        if begun is None or begun == network:
            return
        kept_network(self.options.checkpoint)
        checkpoint = Checkpoint(self.options.checkpoint, begun, cores(self.spark), lock=lock)
        cut = staged(checkpoint.registered, checkpoint.lanes)
        pipeline = Pipeline(self.spark, cut, checkpoint, self._sinks(begun, checkpoint.run))
        pipeline.steering.close()
        checkpoint.end_servers()

    def _steering(self) -> Steering:
        """What chooses the plans. With `until_idle` nobody waits for an answer, and nothing is shed."""
        options = self.options
        wishes = Wishes(options.shed, options.settings.filters, options.controller, seed=options.seed)
        waited_for = not options.until_idle or self._paced
        loop = steer_run(self.staged.network, wishes, self.staged.lanes, options.settings, waited_for)
        return Steering(self.staged, loop, self.checkpoint.folder, options.settings, options.mode)

    def _intake(self, steering: Steering) -> Intake | None:
        if not steering.timely:
            return None
        target_s = min(targets(self.staged.network).values())
        return Intake(Sizes(self.spark, self.staged, self.checkpoint.run, [s.name for s in self._read()]), target_s)

    def _read(self) -> list[StreamDefinition]:
        """The streams whose sources are opened, in the order in which the gate puts them together."""
        return [self.staged.network.stream(name) for name in self.checkpoint.registered.read]

    def go(self) -> None:
        """Runs to the end: of the sources with `until_idle`, else until `stop`."""
        try:
            with explained("the run", self._secrets):
                self._stream()
            if self.options.until_idle and not self._stopping.is_set():
                self.pipeline.follow_up()
                if self.options.close:
                    self.pipeline.advance()
            self._tell()
        finally:
            self.pipeline.close()
            self.pipeline.steering.close()
            self.leave()

    def stop(self) -> None:
        """Ends the run after the batch that is under way."""
        self._stopping.set()

    @property
    def described(self) -> dict[str, str | int]:
        """What runs, for a log."""
        return {"spark": self.spark.version, "lanes": self.staged.lanes, "run": self.checkpoint.run}

    def leave(self) -> None:
        """Lets the lanes' processes end and others use the checkpoint: what to do before a process ends at once."""
        self.checkpoint.end_servers()
        self.checkpoint.unlock()

    def _stream(self) -> None:
        query = self._start()
        try:
            while query.isActive and not self._stopping.wait(LOOK_S):
                if not query.status["isTriggerActive"] and (self._paced or not self.options.until_idle):
                    self.pipeline.follow_up()
                self._tell()
                self._look_around()
                if self._paced and not feeding(self._work):
                    with suppress(StreamingQueryException):
                        query.processAllAvailable()
                    break
            failure = self._failure or (None if self._stopping.is_set() else query.exception())
            if failure is not None:
                raise failure
            self.pipeline.settle()
        finally:
            query.stop()
            halt(self._work)

    def _look_around(self) -> None:
        """What is done now and then: the lock is kept, and sources are looked for that have gone."""
        now = time.monotonic()
        if now - self._looked_s < AROUND_S:
            return
        self._looked_s = now
        self.checkpoint.beat()
        self._vanishing.folders()

    def _start(self) -> StreamingQuery:
        frames = {s.name: open_stream(self.spark, s, work=self._work) for s in self._read()}
        rows = gate(self.staged, frames, self.pipeline.steering.ordering.entries)
        writer = rows.writeStream.foreachBatch(self._on_batch).queryName(self.checkpoint.run)
        writer = writer.option("checkpointLocation", f"{self.options.checkpoint}/spark")
        if self.options.until_idle and not self._paced:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self.options.trigger_s} seconds").start()

    def _on_batch(self, rows: DataFrame, source: int) -> None:
        """What Spark calls; of a failure it would pass on no more than a text. A batch that comes after the run was to
        stop is left to the next run."""
        if self._stopping.is_set():
            raise InterruptedError("the run is ending")
        try:
            self._vanishing.files()
            self.pipeline.on_batch(rows, source)
        except BaseException as error:
            self._failure = error
            raise

    def _relations(self) -> DataFrame | None:
        """The rows of loaded relations, on their way to the lanes."""
        loaded = {
            r.name: _standing(open_relation(self.spark, r))
            for r in self.staged.network.relations
            if r.source is not None and r.name in _leaves(self)
        }
        return gate(self.staged, loaded) if loaded else None

    def _tell(self) -> None:
        reports = self.pipeline.reports
        for report in reports[:]:
            del reports[0]
            self._report(report)


def secrets_of(network: Network) -> dict[str, str]:
    """All that no message may say: the secret options of sources and sinks, resolved as far as they can be."""
    read = [s.source for s in network.streams] + [r.source for r in network.relations]
    named = read + [q.sink for q in network.queries]
    found: dict[str, str] = {}
    for number, connector in enumerate(c for c in named if c is not None):
        for name, value in connector.options:
            with suppress(PenstockError):
                found[f"{number}.{name}"] = str(resolve({name: value}, os.environ)[name])
    return found


def _leaves(run: Run) -> set[str]:
    return {e.leaf.name for e in run.staged.entries_of(0)}


def _standing(rows: DataFrame) -> DataFrame:
    """Rows of a relation, there from the beginning."""
    begin = F.lit(BEGIN).cast("bigint")
    return rows.withColumns({"_ts": begin, "_arrival": begin})


def _refuse_unfed(network: Network) -> None:
    """Refuses a network with a leaf that nothing feeds."""
    fed = {s.name for s in network.streams if s.source} | {r.name for r in network.relations if r.source}
    leaves = [n for n in network.nodes() if not n.inputs]
    hungry = [n for n in leaves if getattr(n, "name", "") not in fed]
    mistakes = [f"{n.label} has no source: say where it comes from with FROM" for n in hungry]
    if not network.queries:
        mistakes.append("there is no query to run")
    if leaves and all(isinstance(n, Table) for n in leaves):
        mistakes.append("there is no stream to run on: every input is a loaded relation")
    if mistakes:
        raise PenstockError(*mistakes)
