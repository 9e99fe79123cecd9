"""The drops of a plan in their places on a running graph: valves behind operators and on the arcs between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from penstock.lane.graph import Graph
from penstock.lane.queue import Arc
from penstock.lane.slot import Feed, Slot
from penstock.lane.window_wiring import Placed as WindowsPlaced
from penstock.lane.window_wiring import Windows
from penstock.operators.base import Context
from penstock.operators.drops import Valve
from penstock.operators.drops.window_drop import RunningWindowDrop
from penstock.plan.drops import Location, Placed
from penstock.plan.node import Node
from penstock.stats.snapshot import DropStatistics


class _Place(NamedTuple):
    """Something that a valve can be put on, once for each copy that runs, and the locations that name it."""

    name: Hashable
    target: Slot | Feed | Arc
    locations: tuple[Location, ...]
    context: Context


class Valves:
    """The valves of a graph. One whose drops stay stays itself; what went through the others is remembered."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._placed: tuple[Placed, ...] = ()
        self._valves: dict[Hashable, Valve] = {}
        self._rows_in: Counter[tuple[Location, str]] = Counter()
        self._dropped: Counter[tuple[Location, str]] = Counter()
        self.windows = Windows(graph)

    def set(self, placed: Sequence[Placed], shut_down: Sequence[str] = ()) -> None:
        """Puts these drops in their places, and takes away those that are not among them; queries that are `shut_down`
        wait for no results."""
        if tuple(placed) != self._placed or tuple(shut_down) != self.windows.shut_down:
            self._placed = tuple(placed)
            self.windows.shut_down = tuple(shut_down)
            self.renew()

    def renew(self) -> None:
        """Puts the drops in their places anew: operators may have come or gone."""
        if not (self._placed or self._valves):
            return
        before, self._valves = self._valves, {}
        windows: list[WindowsPlaced] = []
        for place in _places(self._graph):
            mine = [p for p in self._placed if p[0] in place.locations]
            old = before.get(place.name)
            if old is not None and old.placed == mine != []:
                del before[place.name]
                valve: Valve | None = old
            elif old is not None:
                valve = Valve.after(old, mine, place.context)
            else:
                valve = Valve(mine, place.context) if mine else None
            place.target.valve = valve
            if valve is not None:
                self._valves[place.name] = valve
                running = ((at, r) for at, r in valve.running if isinstance(r, RunningWindowDrop))
                windows += [WindowsPlaced(place.name, place.target, at, r) for at, r in running]
        self.windows.connect(windows)
        for valve in before.values():
            self._count(valve, self._rows_in, self._dropped)

    @staticmethod
    def _count(valve: Valve, rows_in: Counter[tuple[Location, str]], dropped: Counter[tuple[Location, str]]) -> None:
        for location, reason, came, went in valve.counts():
            rows_in[location, reason] += came
            dropped[location, reason] += went

    def statistics(self) -> tuple[DropStatistics, ...]:
        """What went into every drop so far, and what stayed there."""
        rows_in, dropped = self._rows_in.copy(), self._dropped.copy()
        for valve in self._valves.values():
            self._count(valve, rows_in, dropped)
        counted = tuple(DropStatistics(*key, came, dropped[key]) for key, came in rows_in.items())
        return (*counted, *self.windows.statistics())


def _places(graph: Graph) -> Iterator[_Place]:
    anywhere = graph.contexts.fresh()
    for node, feed in graph.feeds.items():
        yield _Place(feed.key, feed, (Location(node),), anywhere)
    for slot in graph.order:
        yield _Place(slot.key, slot, (Location(slot.key.node),), slot.context)
        for number, arc in enumerate(slot.inputs):
            yield _Place((slot.key, number), arc, _locations(slot, number), slot.context)
    for name, tap in graph.taps.items():
        yield _Place(name, tap.arc, (Location(tap.query.root, query=name),), anywhere)


def _locations(slot: Slot, number: int) -> tuple[Location, ...]:
    """What the arc into input `number` of `slot` is called; a delay box that states the slot's cost lies on it."""
    node: Node = slot.key.node
    below = node.inputs[number]
    arc = Location(below, node, number)
    if slot.producers[number].key.node == below:
        return (arc,)
    return (Location(below.inputs[0], below), Location(below), arc)
