"""A network on several lanes: each runs its share of the keys, what needs everything together runs on the first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain

from penstock.errors import PenstockError, unknown
from penstock.lane.partition import Fragment, Inlet, Outlet, partition
from penstock.lane.routing import Router
from penstock.lane.runtime import Lane
from penstock.lane.sweep import Sweeper, Typed
from penstock.operators.base import Context
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train, merge_trains
from penstock.plan.drops import Location
from penstock.plan.network import Network, Query
from penstock.plan.node import Kind
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.settings import Settings
from penstock.stats.accounts import Delivered
from penstock.stats.snapshot import DropStatistics, FilterProfile, QueueStatistics, Snapshot, StreamStatistics


@dataclass(slots=True)
class _Running:
    """A fragment with its lanes, and what splits each of its leaves among them."""

    fragment: Fragment
    lanes: list[Lane]
    routers: list[tuple[Inlet, Router]]

    def push(self, name: str, train: Train, progress: int) -> None:
        for inlet, router in self.routers:
            if inlet.leaf.name == name:
                for lane, part in zip(self.lanes, router.split(train), strict=True):
                    lane.push(name, part, progress)


class Lanes:
    """`count` lanes that run `network` together; results do not depend on how many there are.

    The keyword arguments are those of `Lane`. Between fragments results are put in the total order and routed anew.
    """

    def __init__(
        self,
        network: Network,
        count: int,
        *,
        scheduler: str = "fifo",
        train_rows: int | None = None,
        optimized: bool = True,
        settings: Settings | None = None,
    ) -> None:
        if not isinstance(count, int) or count < 1:
            raise PenstockError(f"lanes = {count!r}: there must be one at least")
        self.dictionaries = Dictionaries()
        self.partition = partition(optimize(network) if optimized else network)
        self._sweeper = Sweeper(self.dictionaries)
        self._settings = settings or Settings()
        self._fragments: list[_Running] = []
        for fragment in self.partition.fragments:
            part = Network(queries=tuple(Query(o.name, o.root) for o in fragment.outlets), sharing=network.sharing)
            self._fragments.append(self._start(fragment, part, count if fragment.spread else 1, scheduler, train_rows))
        self._home = {o.name: running for running in self._fragments for o in running.fragment.outlets}
        self._queries = [q.name for q in network.queries]

    def _start(self, fragment: Fragment, part: Network, count: int, scheduler: str, train_rows: int | None) -> _Running:
        lanes = [
            Lane(part, scheduler=scheduler, train_rows=train_rows, optimized=False, dictionaries=self.dictionaries,
                 settings=self._settings)
            for _ in range(count)
        ]  # fmt: skip
        groups, context = self._settings.key_groups, Context(self.dictionaries)
        routers = [(i, Router(i.leaf.schema, i.route, groups, count, context)) for i in fragment.inlets]
        return _Running(fragment, lanes, routers)

    def push(self, name: str, train: Train, progress: int) -> None:
        """Gives a stream or relation a train and its progress."""
        for running in self._fragments:
            running.push(name, train, progress)

    def run(self) -> None:
        """Processes everything that can be processed, fragment after fragment."""
        for running in self._fragments:
            for lane in running.lanes:
                lane.run()
            for outlet in running.fragment.outlets:
                if outlet.name not in self._queries:
                    self._exchange(outlet, running)

    def adopt(self, plan: Plan) -> None:
        """Makes `plan` hold on all lanes from the next train on."""
        for running, part in zip(self._fragments, self.partition.plans(plan), strict=True):
            for lane in running.lanes:
                lane.adopt(part)

    def profiled(self) -> tuple[FilterProfile, ...]:
        """What was measured of filters since this was asked the last time, by the nodes of the whole network."""
        outer = {inner: node for node, inner in self.partition.inner.items()}
        found = chain.from_iterable(lane.profiled() for lane in self._all())
        return tuple(replace(p, node=outer.get(p.node, p.node)) for p in found)

    def _exchange(self, outlet: Outlet, running: _Running) -> None:
        """Hands a result on in the total order; row numbers of one lane's stores mean nothing on another."""
        progress = min(lane.progress(outlet.name) for lane in running.lanes)
        trains = self._collected(outlet.name, running)
        if outlet.root.kind is Kind.RELATION:
            trains = [train.unplaced() for train in trains]
        self.push(outlet.name, merge_trains(trains) if trains else Train.empty(outlet.root.schema), progress)

    def _collected(self, name: str, running: _Running) -> list[Train]:
        return [train for lane in running.lanes for train in lane.take(name)]

    def take(self, query: str) -> list[Train]:
        """What `query` has produced on all lanes since it was last asked, in the order of time."""
        if query not in self._queries:
            raise PenstockError(unknown("query", query, self._queries))
        trains = self._collected(query, self._home[query])
        return [merge_trains([t.unplaced() for t in trains])] if trains else []

    def sweep(self, *outside: Typed, force: bool = False) -> int:
        """Gives back the codes of values that nobody holds, where a dictionary has grown enough or by `force`."""
        if not (force or self._sweeper.due()):
            return 0
        return self._sweeper.sweep(chain(chain.from_iterable(lane.held() for lane in self._all()), outside))

    def _all(self) -> list[Lane]:
        return [lane for running in self._fragments for lane in running.lanes]

    def snapshot(self, streams: Iterable[StreamStatistics] = ()) -> Snapshot:
        """What was counted so far, over all lanes."""
        looked = [[lane.snapshot() for lane in running.lanes] for running in self._fragments]
        parts = list(chain.from_iterable(looked))
        aside: dict[str, int] = {}
        for function, rows in chain.from_iterable(p.set_aside for p in parts):
            aside[function] = aside.get(function, 0) + rows
        return replace(
            parts[0] if parts else Snapshot(1, 0.0),
            operators=tuple(chain.from_iterable(p.operators for p in parts)),
            streams=tuple(streams),
            queues=QueueStatistics(
                sum(p.queues.queued for p in parts), sum(p.queues.largest for p in parts),
                sum(p.queues.average for p in parts),
            ),
            store_bytes=sum(p.store_bytes for p in parts),
            set_aside=tuple(sorted(aside.items())),
            drops=_drops(looked),
            shut_down=tuple(dict.fromkeys(chain.from_iterable(p.shut_down for p in parts))),
            values=tuple(chain.from_iterable(p.values for p in parts)),
            delivered=self._delivered(parts),
        )  # fmt: skip

    def _delivered(self, parts: Iterable[Snapshot]) -> tuple[Delivered, ...]:
        """What the queries were given, all lanes together."""
        found: dict[str, Delivered] = {}
        for each in chain.from_iterable(p.delivered for p in parts):
            if each.query in self._queries:
                found[each.query] = found[each.query] + each if each.query in found else each
        return tuple(found.values())


def _drops(looked: Iterable[Iterable[Snapshot]]) -> tuple[DropStatistics, ...]:
    """What all drops did, from what the lanes of each fragment say. One before several fragments meets the same rows in
    each, and counts in the one that gets most."""
    found: dict[tuple[Location, str], tuple[int, int]] = {}
    for lanes in looked:
        mine: dict[tuple[Location, str], tuple[int, int]] = {}
        for d in chain.from_iterable(s.drops for s in lanes):
            came, went = mine.get((d.location, d.reason), (0, 0))
            mine[d.location, d.reason] = came + d.rows_in, went + d.dropped
        found |= {key: max(counts, found.get(key, (0, 0))) for key, counts in mine.items()}
    return tuple(DropStatistics(*key, *counts) for key, counts in found.items())
