"""A whole run in process: arrivals in batches through the input manager into the lanes, results out as rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol

from penstock.lane.events import Arrival, skew_us
from penstock.lane.input_manager import InputManager
from penstock.lane.reference import Element
from penstock.lane.rows import rows_of, train_of
from penstock.lane.sweep import Typed, of_train
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.plan.network import Network, RelationDefinition, StreamDefinition
from penstock.plan.nodes import RStream
from penstock.plan.running import Plan
from penstock.plan.windows import BEGIN, END
from penstock.stats.snapshot import FilterProfile, Snapshot, StreamStatistics


class Engine(Protocol):
    """One lane or several: what a run needs of it."""

    @property
    def dictionaries(self) -> Dictionaries:
        """What its trains are encoded with."""

    def push(self, name: str, train: Train, progress: int) -> None:
        """Gives a stream or relation a train and its progress."""

    def run(self) -> None:
        """Processes everything that can be processed."""

    def take(self, query: str) -> list[Train]:
        """What a query has produced since it was last asked."""

    def sweep(self, *outside: Typed, force: bool = False) -> int:
        """Gives back the codes of values that nobody holds."""

    def snapshot(self, streams: Iterable[StreamStatistics] = ()) -> Snapshot:
        """What was counted so far."""

    def adopt(self, plan: Plan) -> None:
        """Makes a plan over its network hold from the next train on."""

    def profiled(self) -> tuple[FilterProfile, ...]:
        """What was measured of filters since this was asked the last time."""


class Steering(Protocol):
    """What chooses the plans: the loop of `penstock.control`."""

    @property
    def plan(self) -> Plan:
        """The plan in force."""

    def step(self, snapshot: Snapshot) -> Plan:
        """The plan to run from now on."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run: `given` in arrival order, cut into batches of `sizes` rows (see `cuts`), up to `until`.

    Between batches, `heartbeats` tell every stream that nothing before its next timestamps follows. `sweeps` forces the
    dictionaries to be swept after every batch.
    """

    network: Network
    streams: Sequence[StreamDefinition]
    relations: Sequence[RelationDefinition]
    given: Sequence[Arrival]
    sizes: int | Sequence[int] | None = None
    until: int = END
    heartbeats: bool = True
    sweeps: bool = False

    def ends(self) -> tuple[int, ...]:
        """The instants to which time goes when everything has come: right after the last arrival, where something is
        due at instants at which nothing comes, then to the end."""
        ticking = any(isinstance(n, RStream) and n.boundaries for n in self.network.nodes())
        after = max((a.ts for a in self.given), default=BEGIN) + 1
        return (after, self.until) if ticking and after < self.until else (self.until,)


@dataclass(slots=True)
class Outcome:
    """Each query's elements in emission order, and a snapshot after each batch."""

    elements: dict[str, list[Element]] = field(default_factory=dict)
    log: list[Snapshot] = field(default_factory=list)


def run(job: Job, engine: Engine, steering: Steering | None = None) -> Outcome:
    """Runs `job` on `engine`, under the plans that `steering` chooses."""
    session = Session(job, engine, steering)
    for batch in cuts(job.given, job.sizes):
        session.batch(batch)
    session.end()
    return session.outcome


def cuts(given: Sequence[Arrival], sizes: int | Sequence[int] | None) -> Iterator[Sequence[Arrival]]:
    """The batches: each of `sizes` rows, or of these sizes one after another and what is left, or all.

    >>> [[len(batch) for batch in cuts(range(7), sizes)] for sizes in (3, [1, 0, 2], None)]
    [[3, 3, 1], [1, 0, 2, 4], [7]]
    """
    place = 0
    if isinstance(sizes, int):
        sizes = [sizes] * ((len(given) - 1) // sizes)
    for size in sizes or ():
        yield given[place : place + size]
        place += size
    yield given[place:]


class Session:
    """A run, batch by batch. `queries` are those whose results are collected, with their columns."""

    def __init__(self, job: Job, engine: Engine, steering: Steering | None = None) -> None:
        self.job = job
        self.engine = engine
        self.steering = steering
        if steering is not None:
            engine.adopt(steering.plan)
        self.queries = {q.name: q.root.schema for q in job.network.queries}
        self.outcome = Outcome({name: [] for name in self.queries})
        self.definitions = {s.name: s for s in [*job.streams, *(_updates(r, job.given) for r in job.relations)]}
        self.manager = InputManager(self.definitions.values())
        self._taken = 0
        self._ends = job.ends()

    def batch(self, batch: Sequence[Arrival]) -> None:
        """One batch in, and its results out."""
        self._taken += len(batch)
        self.load(batch)
        for name, listed in by_name(a for a in batch if a.ts > BEGIN).items():
            self.manager.arrive(name, self.train(name, listed))
        if self.job.heartbeats:
            self._beat(self.job.given[self._taken :])
        self._flow()

    def load(self, batch: Sequence[Arrival]) -> None:
        """Gives relations the rows that stand from the beginning."""
        for name, listed in by_name(a for a in batch if a.ts == BEGIN).items():
            self.engine.push(name, self.train(name, listed), BEGIN + 1)

    def train(self, name: str, listed: Sequence[Arrival]) -> Train:
        """Arrivals of one stream or relation as a train."""
        rows, ts, seq = [a.row for a in listed], [a.ts for a in listed], [a.seq for a in listed]
        return train_of(self.definitions[name].schema, rows, ts, seq, self.engine.dictionaries)

    def _beat(self, rest: Sequence[Arrival]) -> None:
        coming = by_name(rest)
        for name in self.definitions:
            self.manager.heartbeat(name, min((a.ts for a in coming.get(name, ())), default=self._ends[0]))

    def end(self) -> None:
        """Time comes to its end."""
        for instant in self._ends:
            for name in self.definitions:
                self.manager.heartbeat(name, instant)
            self._flow()

    def _flow(self) -> None:
        for name, train, progress in self.manager.release():
            self.engine.push(name, train, progress)
        self.engine.run()
        self.collect()
        self.sweep()
        snapshot = replace(self.engine.snapshot(self.manager.statistics()), profiles=self.engine.profiled())
        self.outcome.log.append(snapshot)
        if self.steering is not None:
            self.engine.adopt(self.steering.step(snapshot))

    def collect(self) -> list[tuple[str, Train]]:
        """Takes the queries' new results; they are kept as elements."""
        found = []
        for query, schema in self.queries.items():
            kept = self.outcome.elements.setdefault(query, [])
            for train in self.engine.take(query):
                rows = rows_of(train, schema, self.engine.dictionaries)
                kept.extend(map(Element, train.ts.tolist(), train.sign.tolist(), rows))
                found.append((query, train))
        return found

    def sweep(self) -> None:
        """Gives back the codes of values that nobody holds."""
        waiting = chain.from_iterable(of_train(t, schema) for t, schema in self.manager.waiting())
        self.engine.sweep(*waiting, force=self.job.sweeps)


def by_name(given: Iterable[Arrival]) -> dict[str, list[Arrival]]:
    """The arrivals of each stream and relation."""
    groups: defaultdict[str, list[Arrival]] = defaultdict(list)
    for arrival in given:
        groups[arrival.name].append(arrival)
    return groups


def _updates(relation: RelationDefinition, given: Iterable[Arrival]) -> StreamDefinition:
    """The rows that a relation is given on the way, as a stream that waits for them to be in order."""
    skew = skew_us(a.ts for a in given if a.name == relation.name)
    return StreamDefinition(relation.name, relation.schema, within_us=min(skew, END))
