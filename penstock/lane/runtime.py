"""A running query network: trains go in, operators run, results come out (Babu 2.2.5, 2.3).

The invariant: an operator takes from its input queues all elements of the instants before u, u being the least progress
of these queues (or an earlier instant, where a train would be too long), and then the progress of its result is u.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from math import ceil, inf

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.lane import sharing
from penstock.lane.agenda import Agenda
from penstock.lane.arrangement import Arrangement
from penstock.lane.clock import Clock, WallClock
from penstock.lane.contexts import Birth
from penstock.lane.delivered import Deliveries
from penstock.lane.graph import Build, Graph
from penstock.lane.observe import Observer
from penstock.lane.probes import Probes
from penstock.lane.schedulers import scheduler as named_scheduler
from penstock.lane.slot import NUMBERS_HZ
from penstock.lane.sweep import Sweeper, Typed, held
from penstock.lane.valves import Valves
from penstock.lane.window_wiring import Held, next_slice
from penstock.operators import registry
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.store import Store
from penstock.operators.columns.train import Train
from penstock.operators.window_aggregate import WindowAggregateOperator
from penstock.plan.drops import Location, Shut, WindowDrop
from penstock.plan.network import Network, Query
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Source
from penstock.plan.rewrites import optimize_node
from penstock.plan.running import Plan
from penstock.plan.windows import BEGIN, END
from penstock.settings import Settings
from penstock.stats.snapshot import FilterProfile, Snapshot, StreamStatistics


class Lane:
    """The operators of `network`, and everything that flows between them.

    `scheduler` is a name of `penstock.lane.schedulers`; "fifo" without `train_rows` runs each operator once over all
    that came in, inputs first, which is the same order at the least cost. `optimized` says whether plans are rewritten
    first. `network.sharing` says whether equal operators run once. Several lanes may have `dictionaries` in common:
    then whoever runs them sweeps these.
    """

    def __init__(
        self,
        network: Network,
        *,
        scheduler: str = "fifo",
        train_rows: int | None = None,
        clock: Clock | None = None,
        optimized: bool = True,
        build: Build = registry.build,
        dictionaries: Dictionaries | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.network = replace(network, queries=())
        self.clock: Clock = clock or WallClock()
        self._settings = settings or Settings()
        self._scheduler = named_scheduler(scheduler)
        self._whole = scheduler == "fifo" and train_rows is None
        self._train_rows = train_rows or self._settings.train_rows
        self._optimized = optimized
        self._graph = Graph(build, self.clock, Dictionaries() if dictionaries is None else dictionaries)
        self._graph.given.update({relation.name: [] for relation in network.relations})
        self._sweeper = Sweeper(self.dictionaries)
        self._inputs = 0
        self.observer = Observer(self._graph, self.clock)
        self._valves = Valves(self._graph)
        self._probes = Probes(self._graph, self.clock)
        self._deliveries = Deliveries()
        self._arrangement = Arrangement(self._graph)
        self._shut_down: tuple[str, ...] = ()
        self._held: list[Held] = []
        self.add(*network.queries)

    @property
    def dictionaries(self) -> Dictionaries:
        """What the trains of this lane are encoded with."""
        return self._graph.contexts.dictionaries

    def push(self, name: str, train: Train, progress: int) -> None:
        """Gives the stream or relation `name` a train in the total order, and the promise that nothing stamped before
        `progress` follows it."""
        self._inputs = max(self._inputs + 1, round(self.clock.now() * NUMBERS_HZ))
        if self._valves.windows.paces or self._held:
            self._held.append(Held(name, train, progress, self._inputs))
        else:
            self._graph.push(name, train, progress, self._inputs)

    def pour(self, node: Node, train: Train, rows: int) -> None:
        """Gives the windowed aggregate `node` partial results that stand for `rows` rows of its input, stamped before
        the progress that is pushed along: see `WindowAggregateOperator.pour`."""
        for slot in self._graph.order:
            if slot.key.node == node and isinstance(slot.operator, WindowAggregateOperator):
                slot.operator.pour(train)
                slot.rows_in += rows

    def run(self) -> None:
        """Processes everything that can be processed."""
        while self._let_in():
            self._run()
        self._run()
        self.observer.look()
        self._probes.round()

    def _let_in(self) -> bool:
        """Comes to the next windows whose fate hangs on results; False where nothing waits that can be let in."""
        known = self._graph.progress
        now, self._held = next_slice(self._held, self._valves.windows.paces, known)
        moved = False
        for each in now:
            moved = moved or len(each.train) > 0 or each.progress > known.get(each.name, BEGIN)
            self._graph.push(each.name, each.train, max(each.progress, known.get(each.name, BEGIN)), each.number)
        return moved

    def _run(self) -> None:
        for birth in sorted({s.unborn for s in self._graph.order if s.unborn is not None}):
            self._drain(birth)
            self._bear(birth)
        self._drain(END)

    def adopt(self, plan: Plan) -> None:
        """Makes `plan`, over the network that runs here, hold from the next train on."""
        if any(isinstance(drop, WindowDrop) and drop.rows for _, drop in plan.drops):
            self._run()
        self._valves.set(plan.drops, plan.shut_down)
        self._probes.set(plan.watched)
        self._arrangement.set(plan)
        self._shut_down = plan.shut_down

    def shut(self) -> tuple[tuple[Location, list[Shut]], ...]:
        """Where windows are dropped now: the groups, and the instants of which every tuple of theirs goes."""
        return self._valves.windows.shut()

    def _bear(self, birth: int) -> None:
        for slot in self._graph.order:
            if slot.unborn == birth:
                self._graph.bear(slot)
        self._arrangement.renew()

    def _drain(self, cap: int) -> None:
        if self._whole:
            for slot in self._graph.order:
                until = min(slot.reach, cap)
                if until > slot.done and slot.unborn is None:
                    slot.advance(until)
        else:
            agenda = self._agenda(cap)
            while self._next(agenda, cap):
                pass

    def _agenda(self, cap: int) -> Agenda:
        self._scheduler.plan(self._graph.order)
        self.observer.look()
        return Agenda(self._graph.order, self._scheduler, cap, self._settings.queue_rows)

    def step(self) -> bool:
        """Lets the scheduler run one operator on one train; False where none has anything to do."""
        return self._next(self._agenda(END), END) or (self._let_in() and self.step())

    def work(self, until_s: float, whole: bool = False) -> bool:
        """Lets operators run until the clock shows `until_s`; False where none has anything to do before. Whether the
        last train is cut short at that time, or ended as a whole."""
        agenda = self._agenda(END)
        while self.clock.now() < until_s:
            if not self._next(agenda, END, inf if whole else until_s - self.clock.now()):
                if not self._let_in():
                    return False
                agenda = self._agenda(END)
        return True

    def _next(self, agenda: Agenda, cap: int, left_s: float = inf) -> bool:
        """One operator on one train; of rows that state what they cost no more than begin within `left_s`."""
        if came := agenda.settle():
            self.observer.moved(came)
        slot = agenda.next()
        if slot is not None:
            rows = self._train_rows
            if slot.delay_s and slot.delay_s * rows > left_s:
                rows = max(1, ceil(left_s / slot.delay_s))
            before = slot.around
            slot.advance(slot.cut(rows, min(slot.reach, cap)))
            agenda.ran(slot)
            self.observer.moved(slot.around - before)
        return slot is not None

    def take(self, query: str) -> list[Train]:
        """The trains of result that `query` has produced since they were last taken."""
        tap = self._graph.taps.get(query)
        if tap is None:
            raise PenstockError(unknown("query", query, list(self._graph.taps)))
        taken = tap.take()
        if query in self._shut_down:
            return []
        self._deliveries.count(tap.query, taken)
        return taken

    def progress(self, query: str) -> int:
        """The instant before which the result of `query` is complete."""
        return self._graph.taps[query].arc.progress

    def add(self, *queries: Query, at: int = BEGIN) -> int:
        """Adds queries; of streams they see what is stamped from the returned instant on: `at`, or the first instant
        that none of these streams has passed yet. Queries that are added together share what they can with one another.
        """
        graph = self._graph
        taken = [q.name for q in queries if q.name in graph.taps]
        if taken:
            raise PenstockError(Diagnostic(f"a query named '{taken[0]}' is already running"))
        read = {n.name for q in queries for n in walk(q.root) if isinstance(n, Source)}
        birth = Birth(max([at, *(p for name, p in graph.progress.items() if name in read)]))
        added = [replace(q, root=optimize_node(q.root)) for q in queries] if self._optimized else list(queries)
        while graph.ran(added, birth):
            birth = birth._replace(serial=birth.serial + 1)
        graph.add(added, birth, self.network.sharing)
        self._renew()
        return birth.instant

    def remove(self, query: str) -> None:
        """Ends a query: what only it needed goes, with its state; what others use stays as it is."""
        if query not in self._graph.taps:
            raise PenstockError(unknown("query", query, list(self._graph.taps)))
        self._graph.untap(query)
        sharing.discard(self._graph)
        self._renew()

    def share(self, on: bool) -> None:
        """Switches sharing (Babu 2.3.1): off gives each query operators and stores of its own, on unites equal ones."""
        if on == self.network.sharing:
            return
        self.run()
        (sharing.unite if on else sharing.separate)(self._graph)
        self._renew()
        self.network = replace(self.network, sharing=on)

    @property
    def counting_s(self) -> float:
        """Processor time that counting the values of watched columns took."""
        return self._probes.spent_s

    def _renew(self) -> None:
        self._valves.renew()
        self._probes.renew()
        self._arrangement.renew()

    def snapshot(self, streams: Iterable[StreamStatistics] = ()) -> Snapshot:
        """Everything that was counted so far, with what the input manager says of the streams."""
        looked = self.observer.snapshot(streams)
        return replace(looked, drops=self._valves.statistics(), shut_down=self._shut_down,
                       values=self._probes.histograms(), delivered=self._deliveries.read())  # fmt: skip

    def profiled(self) -> tuple[FilterProfile, ...]:
        """What was measured of filters since this was asked the last time, as the plan wants it."""
        return self._arrangement.profiled()

    def sweep(self, *outside: Typed, force: bool = False) -> int:
        """Gives back the codes of values that nobody holds, where a dictionary has grown enough or by `force`.

        `outside` is what the caller still holds: rows that wait to be put in order.
        """
        if not (force or self._sweeper.due()):
            return 0
        return self._sweeper.sweep(chain(self.held(), outside))

    def stores(self) -> list[Store]:
        """The stores under the windows."""
        return self._graph.contexts.stores()

    def held(self) -> Iterator[Typed]:
        """Every vector that operators, stores, queues and results not yet taken hold, with its type."""
        return held(self._graph)
