"""Connects the window drops of a running graph: each with its decider, with the aggregates below that have to know of
what is dropped, and with the results below that tell when more may go.

A decider stays while its drop changes its rates and batches. One that comes to a network in which windows were dropped
before knows nothing of what queries have lost, and waits for a result of each group. The batches that aggregates were
told of stay: their tuples are gone. So no query loses more in a row than it allows because a plan has changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.lane.contexts import ORIGIN
from penstock.lane.graph import Graph
from penstock.lane.partition import is_exchange
from penstock.lane.queue import Arc
from penstock.lane.slot import Feed, Slot
from penstock.operators import registry
from penstock.operators.base import Context, Operator
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.drops import window_kernel as kernel
from penstock.operators.drops.window_decider import Decider, Watched
from penstock.operators.drops.window_decoder import Decoder, Skips
from penstock.operators.drops.window_drop import RunningWindowDrop
from penstock.operators.drops.window_groups import group_of, groups_of
from penstock.operators.window_aggregate import WindowAggregateOperator
from penstock.operators.window_clock import TupleClock
from penstock.plan.drops import Location, Shut
from penstock.plan.network import Network
from penstock.plan.node import Kind, Node, walk
from penstock.plan.nodes import Filter, Map, Source, WindowAggregate
from penstock.plan.window_reach import Below, Needs, Reach, Way, reach, size_of
from penstock.plan.windows import BEGIN, SlideRows
from penstock.stats.snapshot import DropStatistics


class Placed(NamedTuple):
    """A window drop in its place on the graph."""

    name: Hashable
    target: Slot | Feed | Arc
    location: Location
    running: RunningWindowDrop


class Pace(NamedTuple):
    """Windows whose fate hangs on results that were delivered: the lane comes to their starts one after another on
    these streams."""

    origin: int
    slide: int
    streams: frozenset[str]


@dataclass(slots=True)
class Chain:
    """Operators that only choose and compute: which elements they let through."""

    operators: Sequence[Operator]

    def __call__(self, train: Train) -> Array:
        """The positions of the elements that come out."""
        passing = train.numbered()
        for operator in self.operators:
            passing = operator.process([passing], kernel.NEVER)
        return passing.arrival


@dataclass(slots=True)
class Survivors:
    """For each way the chain before its first aggregate; None where nothing stops there."""

    chains: Sequence[Chain | None]

    def __call__(self, train: Train) -> Array:
        """Ways x elements: what reaches the first aggregate."""
        passed = np.ones((len(self.chains), len(train)), np.bool_)
        for row, chain in zip(passed, self.chains, strict=True):
            if chain is not None:
                row[:] = False
                row[chain(train)] = True
        return passed


@dataclass(slots=True)
class Hearing:
    """Tells a decider of the results of its query number `query`, which start `behind` later than at its place."""

    decider: Decider
    query: int
    behind: int

    def __call__(self, names: Array, starts: Array, stamps: Array) -> None:
        """These were delivered."""
        self.decider.hear(self.query, names, starts - self.behind, stamps)


class Windows:
    """The window drops of a graph; `paces` are those that wait for delivered results."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._deciders: dict[Hashable, Decider] = {}
        self._skips: dict[tuple[Hashable, Hashable, tuple[str, ...]], Skips] = {}
        self._used = False
        self._placed: list[Placed] = []
        self._counting: dict[Hashable, tuple[Decider, list[Slot]]] = {}
        self.paces: tuple[Pace, ...] = ()
        self.shut_down: tuple[str, ...] = ()

    def connect(self, placed: Iterable[Placed]) -> None:
        """Connects these drops, and no others."""
        listed = list(placed)
        if not listed and not self._deciders and not self.paces:
            return
        stay = {each.running.drop.link or each.name for each in listed}
        for decider, slots in self._counting.values():
            _return_counts(decider, slots)
        self._counting.clear()
        self._deciders = {name: d for name, d in self._deciders.items() if name in stay}
        self._placed = listed
        for decider in self._deciders.values():
            decider.told.clear()
        for slot in self._graph.order:
            if slot.decoder is not None:
                slot.decoder.heard.clear()
        running = (t.query for name, t in self._graph.taps.items() if name not in self.shut_down)
        network = Network(queries=tuple(running))
        self.paces = tuple(p for each in listed for p in self._connected(each, network))
        self._used = self._used or any(not each.running.drop.idle for each in listed)

    def _connected(self, placed: Placed, network: Network) -> list[Pace]:
        found = reach(network, placed.location)
        if found.why is not None or any(is_exchange(n.query) for n in found.needs):
            return []
        if set(found.keys) != set(placed.running.drop.keys):
            return []
        slots = _downstream(placed.target)
        if found.rows and any(slot.key.birth > ORIGIN for slot in slots):
            return []
        known = placed.running.drop.link or placed.name
        before = self._deciders.get(known)
        decider = self._decider(placed, found)
        if found.rows:
            tops = [s for s in slots if any(s.key.node == b.aggregate for b in found.below)]
            self._counting[known] = decider, tops
            decider.names_below = {b.aggregate: _named(b, found, placed) for b in found.below}
            if decider is not before:
                _take_counts(decider, tops)
        for below in found.below:
            for slot in slots:
                if slot.key.node == below.aggregate:
                    size = size_of(below.aggregate)
                    names = _named(below, found, placed)
                    skips = self._skipping(placed, decider, slot, size, names, below.shifts)
                    decider.told.append(skips.tell)
        for number, needs in enumerate(found.needs):
            if needs.swallows:
                self._listen(placed, decider, number, needs, slots)
        placed.running.connect(decider, self._survivors(found))
        later = [n for n in found.needs if n.swallows and not placed.running.drop.idle]
        roots = [self._graph.taps[n.query].query.root for n in later]
        streams = frozenset(n.name for n in walk(*roots) if isinstance(n, Source))
        return [Pace(decider.drop.origin, decider.drop.slide, streams)] if later else []

    def _decider(self, placed: Placed, found: Reach) -> Decider:
        drop = placed.running.drop
        name = drop.link or placed.name
        decider = self._deciders.get(name)
        if decider is None or decider.drop.grid != drop.grid:
            latest = max([kernel.NEVER, *(s.latest for s in self._skips.values())])
            decider = self._deciders[name] = Decider(drop, latest if self._used else None)
        span = decider.watched.span
        placed.running.watched = decider.watched = _watched(found.needs)
        if drop.link:
            decider.watched.span = max(span, decider.watched.span)
        decider.adopt(drop, placed.location.node, _progress(placed.target))
        return decider

    def _skipping(self, placed: Placed, decider: Decider, slot: Slot, size: int, names: tuple[str, ...],
                  shifts: Sequence[tuple[int, int]]) -> Skips:  # fmt: skip
        if slot.decoder is None:
            slot.decoder = _decoder(slot, size)
        key = (placed.name, slot.key, names)
        if key not in self._skips:
            self._skips[key] = Skips(slot.key.node, names, shifts, self._graph.contexts.fresh())
            slot.decoder.skips.append(self._skips[key])
            self._skips[key].tell(*decider.recent())
        return self._skips[key]

    def _listen(self, placed: Placed, decider: Decider, number: int, needs: Needs, slots: Sequence[Slot]) -> None:
        way = needs.ways[0]
        top = next(i for i, (n, _) in enumerate(way.steps) if n == needs.top)
        chain = self._chain([n for n, _ in way.steps[top + 1 :]])
        hearing = Hearing(decider, number, _behind(needs))
        for slot in slots:
            if slot.key.node == needs.top and slot.decoder is not None:
                mine = next(s for (name, key, _), s in self._skips.items() if name == placed.name and key == slot.key)
                slot.decoder.heard.append((chain, mine, hearing))

    def _survivors(self, found: Reach) -> Survivors | None:
        chains = [self._chain(_stateless(way)) for needs in found.needs for way in needs.ways]
        return Survivors(chains) if any(c is not None for c in chains) else None

    def _chain(self, nodes: Iterable[Node]) -> Chain | None:
        """What these let through, worked out beside the operators that run: counts of rows set aside are not theirs."""
        working = [n for n in nodes if isinstance(n, Filter | Map)]
        if not working:
            return None
        context = Context(self._graph.contexts.dictionaries)
        return Chain([registry.build(n, context) for n in working])

    def statistics(self) -> tuple[DropStatistics, ...]:
        """Windows that came to the aggregates' ends, and those that were not delivered."""
        return tuple(
            DropStatistics(Location(slot.key.node), "window", slot.decoder.rows_in, slot.decoder.dropped)
            for slot in self._graph.order
            if slot.decoder is not None and slot.decoder.dropped
        )

    def shut(self) -> tuple[tuple[Location, list[Shut]], ...]:
        """Of each drop the batches that go now, as far as that is known (see `Decider.shut`)."""
        found = []
        for each in self._placed:
            decider = self._deciders.get(each.running.drop.link or each.name)
            if decider is not None and (shut := decider.shut(_progress(each.target))):
                found.append((each.location, shut))
        return tuple(found)


def _named(below: Below, found: Reach, placed: Placed) -> tuple[str, ...]:
    """The columns of an aggregate that carry the drop's keys, in the drop's order."""
    return tuple(below.names[found.keys.index(key)] for key in placed.running.drop.keys)


def _take_counts(decider: Decider, slots: Sequence[Slot]) -> None:
    """The tuples of each group that the aggregates have counted so far."""
    for slot in slots[:1]:
        names, ids, counts = _counts(decider, slot)
        if len(ids):
            decider.count_from(names, counts[ids])


def _return_counts(decider: Decider, slots: Sequence[Slot]) -> None:
    """Aggregates go on counting where the drop has come to: what it dropped last has not reached them."""
    for slot in slots:
        names, ids, counts = _counts(decider, slot)
        if len(ids):
            counts[ids] = np.maximum(counts[ids], decider.counted(names))


def _counts(decider: Decider, slot: Slot) -> tuple[Array, Array, Array]:
    """The groups of an aggregate over rows, their places in its counts, and the counts."""
    operator, node = slot.operator, slot.key.node
    assert isinstance(operator, WindowAggregateOperator)
    assert isinstance(operator.clock, TupleClock)
    assert isinstance(node, WindowAggregate)
    assert isinstance(node.window, SlideRows)
    counts = operator.clock.counts
    if not node.window.by:
        return np.zeros(1, np.int64) + group_of((), ()), np.zeros(1, np.int64), counts
    ids = operator.partitions.live()
    types = [node.input.schema.type_of(b) for b in node.window.by]
    columns = operator.partitions.columns(ids, types)
    order = [node.window.by.index(name) for name in decider.names_below[node]]
    keyed = Train([columns[i] for i in order], np.zeros(len(ids), np.int64))
    return groups_of(keyed, range(len(order)), [types[i] for i in order], slot.context), ids, counts


def _decoder(slot: Slot, size: int) -> Decoder:
    """A decoder behind `slot`; windows over rows tell it their numbers."""
    window = slot.key.node.window  # type: ignore[attr-defined]
    if not isinstance(window, SlideRows):
        return Decoder(size)
    assert isinstance(slot.operator, WindowAggregateOperator)
    slot.operator.numbers_windows = True
    return Decoder(size, (window.origin, window.slide))


def _watched(needs: Sequence[Needs]) -> Watched:
    ways: list[tuple[int, int, int, int]] = []
    levels: list[tuple[int, int, int]] = []
    later = 0
    for number, need in enumerate(needs):
        later |= need.swallows << number
        for way in need.ways:
            first = len(levels)
            levels += [_level(a.window) for a in way.aggregates]
            ways.append((number, first, len(levels), _behind(need)))
    span = max(need.size + _behind(need) + size_of(need.top) for need in needs)
    return Watched(np.array(ways, np.int64).reshape(-1, 4), np.array(levels, np.int64).reshape(-1, 3), later,
                   (1 << len(needs)) - 1, span)  # fmt: skip


def _level(window: object) -> tuple[int, int, int]:
    size = window.count if isinstance(window, SlideRows) else window.size  # type: ignore[attr-defined]
    return int(window.origin), int(window.slide), int(size)  # type: ignore[attr-defined]


def _behind(needs: Needs) -> int:
    """By how much the windows of the last aggregate start later than their tuples pass the place."""
    return int(needs.top.window.origin) - needs.origin


def _stateless(way: Way) -> list[Node]:
    """What a tuple passes before anything that keeps tuples."""
    nodes: list[Node] = []
    for node in way.before:
        if node.kind is Kind.RELATION:
            break
        nodes.append(node)
    return nodes


def _downstream(target: Slot | Feed | Arc) -> list[Slot]:
    """The slots below a place."""
    stack = [target] if isinstance(target, Arc) else list(target.outputs)
    found: list[Slot] = []
    seen: set[int] = set()
    while stack:
        slot = stack.pop().consumer
        if isinstance(slot, Slot) and id(slot) not in seen:
            seen.add(id(slot))
            found.append(slot)
            stack.extend(slot.outputs)
    return found


def _progress(target: Slot | Feed | Arc) -> int:
    return target.done if isinstance(target, Slot) else target.progress


@dataclass(slots=True)
class Held:
    """A train that was pushed, and waits for its turn."""

    name: str
    train: Train
    progress: int
    number: int


def next_slice(
    held: Sequence[Held], paces: Sequence[Pace], known: Mapping[str, int]
) -> tuple[list[Held], list[Held]]:
    """What is let in next, and what waits: pushed trains are cut at the starts of windows that hold something, and at
    their ends, so that before such a window all results of what is stamped before it are made. `known` is how far each
    stream has come in the lane; streams that a paced query reads together advance together."""
    ripe, later = _ripe(held, paces, known)
    boundary = min((b for pace in paces if (b := _next(pace, ripe, known)) is not None), default=None)
    if boundary is None:
        return ripe, later
    now: list[Held] = []
    rest: list[Held] = []
    for each in ripe:
        _cut(each, boundary, now, rest)
    return now, [*rest, *later]


def _ripe(held: Sequence[Held], paces: Sequence[Pace], known: Mapping[str, int]) -> tuple[list[Held], list[Held]]:
    reached = dict(known)
    for each in held:
        reached[each.name] = max(reached.get(each.name, BEGIN), each.progress)
    limits = {s: min(reached.get(other, BEGIN) for other in pace.streams) for pace in paces for s in pace.streams}
    now: list[Held] = []
    later: list[Held] = []
    for each in held:
        _cut(each, limits.get(each.name, each.progress), now, later)
    return now, later


def _cut(each: Held, instant: int, now: list[Held], later: list[Held]) -> None:
    before, after = each.train.before(instant)
    progress = min(each.progress, instant)
    now.append(Held(each.name, before, progress, each.number))
    if len(after) or each.progress > progress:
        later.append(Held(each.name, after, each.progress, each.number))


def _next(pace: Pace, ripe: Sequence[Held], known: Mapping[str, int]) -> int | None:
    """The start of the window of `pace` with the first tuple that waits or, there already, its end."""
    firsts = [int(h.train.ts[0]) for h in ripe if h.name in pace.streams and len(h.train)]
    if not firsts:
        return None
    start = pace.origin + (min(firsts) - pace.origin) // pace.slide * pace.slide
    return start if start > min(known.get(s, BEGIN) for s in pace.streams) else start + pace.slide
