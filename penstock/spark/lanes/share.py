"""One lane's share of a network: its fragments, what waits for them, and what one batch makes of them.

A pure state machine: the state after a batch follows from the state before, the rows and the progress. It holds nothing
that cannot be pickled, and knows neither Spark nor files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa

from penstock.lane.arrow import table_of
from penstock.lane.routing import Router
from penstock.lane.runtime import Lane
from penstock.lane.sweep import Sweeper, of_train
from penstock.operators.base import Context
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train, merge_trains
from penstock.plan.network import Network, Query
from penstock.plan.node import Kind
from penstock.plan.nodes import Source, Table
from penstock.plan.schema import Schema
from penstock.settings import Settings
from penstock.spark.entries import Entry
from penstock.spark.lanes.moments import Moments
from penstock.spark.lanes.pane_stand import PaneStand
from penstock.spark.lanes.waiting import Waiting
from penstock.spark.lanes.wire import packed, unpacked
from penstock.spark.plans import Plans
from penstock.spark.stages import Staged
from penstock.stats.batches import Points


@dataclass(slots=True)
class Made:
    """What a stage made: `results` by query; `handed` for (lane, entry) of later stages; `progress` of what is handed
    on; `due`, when results were due; `entries`, the rows that came in by each entry; `seen`, the largest timestamp that
    came in on each stream."""

    results: dict[str, pa.Table] = field(default_factory=dict)
    handed: dict[tuple[int, int], pa.Table] = field(default_factory=dict)
    progress: dict[str, int] = field(default_factory=dict)
    due: dict[str, Points] = field(default_factory=dict)
    entries: dict[int, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)

    def count(self, entry: Entry, rows: int, last: int) -> None:
        """Takes note of rows that came in, of which the last is stamped `last`."""
        self.entries[entry.number] = self.entries.get(entry.number, 0) + rows
        if isinstance(entry.leaf, Source):
            self.seen[entry.leaf.name] = max(last, self.seen.get(entry.leaf.name, last))


class Share:
    """Lane number `lane` of `staged`, the network that bears the name `network` in the checkpoint."""

    def __init__(
        self,
        staged: Staged,
        lane: int,
        settings: Settings | None = None,
        network: str = "",
        dictionaries: Dictionaries | None = None,
    ) -> None:
        self.staged = staged
        self.lane = lane
        self.settings = settings or Settings()
        self.network = network
        self.dictionaries = dictionaries or Dictionaries()
        self._sweeper = Sweeper(self.dictionaries)
        self._queries = {q.name: q for q in staged.network.queries}
        self._lanes = {i: self._started(i) for i in range(len(staged.fragments)) if lane in staged.lanes_of(i)}
        self._waiting = {e.number: Waiting(e.leaf.schema, self._late(e)) for e in staged.entries}
        self._panes = {p.entry.number: PaneStand(p, self._late(p.source)) for p in staged.panes}
        for source in {p.source.number for p in staged.panes}:
            next(s for s in self._panes.values() if s.panes.source.number == source).first = True
        self.plans = Plans(staged.network)
        self._plan: str | None = ""
        self._moments = Moments(staged.network, self.settings.skew_us)
        context = Context(self.dictionaries)
        self._routers = {
            e.number: Router(e.leaf.schema, e.inlet.route, self.settings.key_groups, staged.lanes, context)
            for e in staged.entries
        }

    def _started(self, fragment: int) -> Lane:
        queries = tuple(Query(o.name, o.root) for o in self.staged.fragments[fragment].outlets)
        part = Network(queries=queries, sharing=self.staged.network.sharing)
        return Lane(part, optimized=False, dictionaries=self.dictionaries, settings=self.settings)

    def _late(self, entry: Entry) -> str:
        return next((s.late for s in self.staged.network.streams if s.name == entry.leaf.name), "keep")

    def turned(self, staged: Staged, network: str) -> Share:
        """This share as it goes on under a script that has changed to `staged`: what runs there and here keeps its
        state."""
        after = Share(staged, self.lane, self.settings, network, self.dictionaries)
        for number, fresh in after._lanes.items():
            kept = self._lanes.get(number)
            if kept is not None:
                for gone in {o.name for o in self.staged.fragments[number].outlets} - {
                    o.name for o in staged.fragments[number].outlets
                }:
                    kept.remove(gone)
            after._lanes[number] = kept or fresh
        after._waiting |= {n: w for n, w in self._waiting.items() if n in after._waiting}
        after._panes |= {n: s for n, s in self._panes.items() if n in after._panes}
        after._moments.after(self._moments)
        after._plan = None
        return after

    def adopt(self, plan: str) -> None:
        """Makes a written plan hold from the next stage that is run on."""
        if plan != self._plan:
            self._plan = plan
            parts = self.staged.plans(self.plans.read(plan))
            for fragment, lane in self._lanes.items():
                lane.adopt(parts[fragment])

    def run(
        self, stage: int, rows: Iterable[pa.Table], progress: Mapping[str, int], until: Mapping[str, int] | None = None
    ) -> Made:
        """One stage of one batch: `rows` in, judged by `progress` of the leaves, and every fragment of the stage run up
        to there, or up to `until` where that is further."""
        made, reached = Made(), {**progress, **(until or {})}
        made.progress = self._passed_on(stage, reached)
        entries = self.staged.arriving(stage)
        for table in rows:
            for entry, train in unpacked(table, entries, self.dictionaries):
                if entry.number in self._panes:
                    self._take_panes(self._panes[entry.number], train, made)
                else:
                    self._take_in(entry, train, stage, progress, made)
        for fragment, lane in self._lanes.items():
            if self.staged.depths[fragment] == stage:
                self._advance(fragment, lane, reached)
                self._collect(fragment, lane, made)
        if stage == self.staged.stages - 1:
            self._moments.passed(reached)
        self._sweep()
        return made

    def _passed_on(self, stage: int, reached: Mapping[str, int]) -> dict[str, int]:
        """How far the time of results has come that were handed on before, to stages after this one."""
        later = {e.leaf.name for e in self.staged.entries if self.staged.depths[e.fragment] > stage}
        return {name: reached[name] for name in sorted(later & reached.keys())}

    def _take_in(self, entry: Entry, train: Train, stage: int, progress: Mapping[str, int], made: Made) -> None:
        if stage == 0:
            made.count(entry, len(train), int(train.ts[-1]))
            self._moments.arrived(entry.leaf.name, train.ts, train.arrival)
        judged = stage == 0 and not isinstance(entry.leaf, Table)
        self._waiting[entry.number].add(train, progress[entry.leaf.name], judged=judged)

    def _take_panes(self, stand: PaneStand, train: Train, made: Made) -> None:
        """Partial results in the place of rows: they have been judged late or not at the gate."""
        source, (last, arrival) = stand.panes.source, stand.add(train)
        if stand.first:
            made.count(source, stand.rows(train), int(last[-1]))
            self._moments.arrived(source.leaf.name, last, arrival)

    def _advance(self, fragment: int, lane: Lane, progress: Mapping[str, int]) -> None:
        for entry in self.staged.entries:
            if entry.fragment == fragment:
                until = progress[entry.leaf.name]
                lane.push(entry.leaf.name, self._waiting[entry.number].release(until), until)
        for stand in self._panes.values():
            if stand.panes.source.fragment == fragment:
                stand.pour(lane, progress[stand.panes.source.leaf.name])
        lane.run()

    def _collect(self, fragment: int, lane: Lane, made: Made) -> None:
        for outlet in self.staged.fragments[fragment].outlets:
            trains = [t for t in lane.take(outlet.name) if len(t)]
            if outlet.name in self._queries:
                if trains:
                    self._deliver(outlet.name, trains, made)
            else:
                made.progress[outlet.name] = lane.progress(outlet.name)
                self._hand_on(outlet.name, outlet.root.kind, trains, made)

    def _deliver(self, query: str, trains: Sequence[Train], made: Made) -> None:
        made.results[query] = self._shown(query, trains)
        due = self._moments.due(query, made.results[query].column("_timestamp").to_numpy())
        if due is not None:
            made.due[query] = due

    def _shown(self, query: str, trains: Sequence[Train]) -> pa.Table:
        root = self._queries[query].root
        signed = root.kind is Kind.RELATION
        return pa.concat_tables(table_of(t, root.schema, self.dictionaries, signed=signed) for t in trains)

    def _hand_on(self, name: str, kind: Kind, trains: Sequence[Train], made: Made) -> None:
        if not trains:
            return
        whole = merge_trains([t.unplaced() if kind is Kind.RELATION else t for t in trains])
        for entry in self.staged.entries:
            if entry.leaf.name != name:
                continue
            parts = self._routers[entry.number].split(whole) if entry.inlet.route else self._at_home(entry, whole)
            for lane, part in enumerate(parts):
                if len(part):
                    made.handed[lane, entry.number] = packed(part, entry, self.dictionaries)

    def _at_home(self, entry: Entry, train: Train) -> list[Train]:
        return [train if lane == entry.home else train.slice(0, 0) for lane in range(self.staged.lanes)]

    def _sweep(self) -> None:
        if self._sweeper.due():
            waiting = (of_train(w.train, self._schema(n)) for n, w in self._waiting.items())
            stands = (of_train(s.waiting.train, s.panes.entry.leaf.schema) for s in self._panes.values())
            self._sweeper.sweep(chain(*(lane.held() for lane in self._lanes.values()), *waiting, *stands))

    def _schema(self, number: int) -> Schema:
        return self.staged.entries[number].leaf.schema

    def late(self) -> dict[str, tuple[int, int]]:
        """Late rows kept and dropped so far, by stream; a stream that several fragments read is counted in the
        first."""
        counts: dict[str, tuple[int, int]] = {}
        for entry in self.staged.entries:
            waiting = self._waiting[entry.number]
            stands = [s for s in self._panes.values() if s.first and s.panes.source == entry]
            kept = waiting.late_kept + sum(s.late for s in stands if not s.drops)
            dropped = waiting.late_dropped + sum(s.late for s in stands if s.drops)
            counts.setdefault(entry.leaf.name, (kept, dropped))
        return counts

    def held(self) -> dict[str, int]:
        """Rows, and panes, that wait for their instant, by stream."""
        held = {e.leaf.name: len(self._waiting[e.number]) for e in self.staged.entries_of(0)}
        for stand in self._panes.values():
            held[stand.panes.source.leaf.name] += len(stand.waiting)
        return held

    def lanes(self) -> Mapping[int, Lane]:
        """The lane of each fragment that runs here."""
        return self._lanes

    @property
    def closed(self) -> bool:
        """True where nothing waits any more."""
        stands = [s.waiting for s in self._panes.values()]
        return not any(len(w) for w in (*self._waiting.values(), *stands))
