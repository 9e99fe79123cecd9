"""Slots and the arcs between them: equal nodes once, or one copy of everything for each query (Babu 2.3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.lane.clock import Clock
from penstock.lane.contexts import ORIGIN, Birth, Contexts, memoryless
from penstock.lane.queue import Arc
from penstock.lane.slot import Feed, Key, Slot
from penstock.operators.base import Context, Operator
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.plan.latency import latency_of
from penstock.plan.network import Query
from penstock.plan.node import Kind, Node, walk
from penstock.plan.nodes import Delay, Source, Table
from penstock.plan.windows import BEGIN

Build = Callable[[Node, Context], Operator]
Producer = Slot | Feed


@dataclass(slots=True)
class Tap:
    """Where a query's result is collected, from its birth on."""

    query: Query
    birth: Birth
    owner: str | None
    arc: Arc
    producer: Producer

    def take(self) -> list[Train]:
        """What has been collected and not yet taken."""
        if self.birth > ORIGIN and older(self.producer):
            self.arc.drop_before(self.birth.instant)
        return self.arc.take_all()


class Graph:
    """The running operators of all queries, wired by queues.

    `order` lists the slots inputs first. There is one slot for each `Key`, so two queries that have an equal node, the
    same birth and no owner have one slot for it. `given` holds what was given to the relations that it names: a query
    that comes later reads it from the beginning.
    """

    def __init__(self, build: Build, clock: Clock, dictionaries: Dictionaries) -> None:
        self.build = build
        self.clock = clock
        self.contexts = Contexts(dictionaries)
        self.feeds: dict[Source | Table, Feed] = {}
        self.slots: dict[Key, Slot] = {}
        self.taps: dict[str, Tap] = {}
        self.order: list[Slot] = []
        self.progress: dict[str, int] = {}
        self.given: dict[str, list[Train]] = {}

    def push(self, name: str, train: Train, progress: int, number: int) -> None:
        """Gives a stream or relation a train, made from input `number`, and its progress."""
        self.progress[name] = progress
        if name in self.given and len(train):
            self.given[name].append(train)
        for node, feed in self.feeds.items():
            if node.name == name:
                feed.put(train, progress, number)

    def add(self, queries: Iterable[Query], birth: Birth, shared: bool) -> None:
        """Makes what `queries` need that is not there yet, and collects their results from `birth` on."""
        added = list(queries)
        stated = _stated_costs(added)
        for query in added:
            owner = None if shared else query.name
            for node in walk(query.root):
                if node not in stated:
                    self._ensure(_key(node, birth, owner), stated)
            producer = self._producer(query.root, birth, owner)
            self.taps[query.name] = Tap(query, birth, owner, self._connect(producer, query.root, None), producer)
        self._number()

    def ran(self, queries: Iterable[Query], birth: Birth) -> bool:
        """True where an operator that these queries would share has already run past what they have to see."""
        keys = {_key(n, birth, None) for q in queries for n in walk(q.root) if not memoryless(n)}
        return any(k in self.slots and self.slots[k].done > BEGIN for k in keys)

    def _ensure(self, key: Key, stated: frozenset[Node]) -> None:
        if key in self.slots or isinstance(key.node, Source | Table):
            return
        inputs, delay_s = key.node.inputs, 0.0
        below = inputs[0]
        if isinstance(key.node, Delay):
            delay_s = key.node.cost_s
        elif isinstance(below, Delay) and below in stated:
            inputs, delay_s = below.inputs, below.cost_s
        slot = self.slots[key] = Slot(key, self.contexts.of(key.owner, key.birth), self.clock, delay_s)
        slot.producers = [self._producer(i, key.birth, key.owner) for i in inputs]
        slot.inputs = [self._connect(p, i, slot) for p, i in zip(slot.producers, inputs, strict=True)]
        self._start(slot)

    def _start(self, slot: Slot) -> None:
        """Builds the operator; one that keeps its only input's rows waits until that input has come to its birth, so
        that its rows bear the same numbers in the store as everybody's."""
        self._prepare(slot)
        if slot.key.birth > ORIGIN and any(map(older, slot.producers)):
            slot.unborn = slot.key.birth.instant
        if slot.unborn is None or len(slot.inputs) > 1:
            self._install(slot)

    def _prepare(self, slot: Slot) -> None:
        for stream in slot.key.node.inputs:
            if stream.kind is Kind.STREAM and not memoryless(slot.key.node):
                self.contexts.prepare(slot.key.owner, slot.key.birth, stream)

    def _install(self, slot: Slot) -> None:
        slot.install(self.build(slot.key.node, slot.context))

    def bear(self, slot: Slot) -> None:
        """Starts a waiting slot if its older inputs have come to its birth: it sees nothing of theirs from before."""
        early = [a for p, a in zip(slot.producers, slot.inputs, strict=True) if older(p)]
        if all(arc.progress >= slot.key.birth.instant for arc in early):
            for arc in early:
                arc.drop_before(slot.key.birth.instant)
            if slot.operator is None:
                self._prepare(slot)
                self._install(slot)
            slot.unborn = None

    def _producer(self, node: Node, birth: Birth, owner: str | None) -> Producer:
        if isinstance(node, Source | Table):
            return self._feed(node)
        return self.slots[_key(node, birth, owner)]

    def _feed(self, node: Source | Table) -> Feed:
        if node not in self.feeds:
            log = self.given.get(node.name, []) if isinstance(node, Table) else []
            self.feeds[node] = Feed(Key(node), self.progress.get(node.name, BEGIN), log)
        return self.feeds[node]

    def _connect(self, producer: Producer, node: Node, consumer: Slot | None) -> Arc:
        """A new queue behind `producer`, which computes `node`; behind a relation it starts with what was given."""
        arc = Arc(node.schema, consumer)
        if isinstance(producer, Feed):
            for train in producer.log:
                arc.put(train, len(train), 0)
        arc.progress = producer.progress if isinstance(producer, Feed) else producer.done
        producer.outputs.append(arc)
        return arc

    def untap(self, name: str) -> None:
        """Ends the query `name`; its slots stay until `prune`."""
        tap = self.taps.pop(name)
        tap.producer.outputs.remove(tap.arc)

    def prune(self) -> list[Slot]:
        """Takes out the slots whose results nobody takes, and says which."""
        gone: list[Slot] = []
        while dead := [s for s in self.slots.values() if not s.outputs]:
            for slot in dead:
                self._unhook(slot)
            gone += dead
        self._number()
        return gone

    def _unhook(self, slot: Slot) -> None:
        del self.slots[slot.key]
        for producer, arc in zip(slot.producers, slot.inputs, strict=True):
            producer.outputs.remove(arc)

    def _number(self) -> None:
        self.order = list(_ordered(self.slots.values()))
        for position, slot in enumerate(self.order):
            slot.position = position
        self._declare()

    def _declare(self) -> None:
        """Tells each slot for which latency QoS it works."""
        declared = {t.arc: found for t in self.taps.values() if (found := latency_of(t.query)) is not None}
        for slot in reversed(self.order):
            own = [declared[arc] for arc in slot.outputs if arc in declared]
            slot.latencies = tuple(dict.fromkeys([*own, *(q for taker in slot.takers for q in taker.latencies)]))


def older(producer: Producer) -> bool:
    """True where what `producer` yields is the same for queries of all births: each sees it from its own on."""
    return producer.key.birth == ORIGIN and not isinstance(producer.key.node, Table)


def _key(node: Node, birth: Birth, owner: str | None) -> Key:
    return Key(node, ORIGIN if memoryless(node) else birth, owner)


def _ordered(slots: Iterable[Slot]) -> Iterator[Slot]:
    """`slots`, producers before consumers, otherwise as they were made."""
    seen: set[int] = set()
    for slot in slots:
        stack = [slot]
        while stack:
            missing = [p for p in stack[-1].producers if isinstance(p, Slot) and id(p) not in seen]
            if missing:
                stack.extend(missing)
                continue
            top = stack.pop()
            if id(top) not in seen:
                seen.add(id(top))
                yield top


def _stated_costs(queries: list[Query]) -> frozenset[Node]:
    """The delay boxes with one taker that has no other input and is no delay box: they state that taker's cost."""
    takers: Counter[Node] = Counter()
    own: set[Node] = {q.root for q in queries}
    for node in walk(*(q.root for q in queries)):
        takers.update(node.inputs)
        if len(node.inputs) > 1 or isinstance(node, Delay):
            own.update(node.inputs)
    return frozenset(n for n, k in takers.items() if isinstance(n, Delay) and k == 1 and n not in own)
