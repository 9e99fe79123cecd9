"""Switching sharing on and off while a network runs (Babu 2.3.1): operators move, results do not notice."""

from __future__ import annotations

from penstock.lane.contexts import ORIGIN, Birth, Contexts, Scope, memoryless
from penstock.lane.graph import Graph
from penstock.lane.queue import Arc
from penstock.lane.slot import Feed, Slot
from penstock.lane.transplant import copied, moved, stubs
from penstock.operators.base import Context
from penstock.operators.columns.store import Store
from penstock.plan.node import Node


def separate(graph: Graph) -> None:
    """Gives every query operators and stores of its own, with the state that the shared ones have."""
    for name, tap in graph.taps.items():
        if tap.owner is None:
            _copy_for(graph, name)
    discard(graph)


def _copy_for(graph: Graph, name: str) -> None:
    tap = graph.taps[name]
    mine = _under(graph, tap.producer)
    for birth in {s.key.birth for s in mine}:
        _copy_stores(graph.contexts, birth, name)
    twins: dict[int, Slot | Feed] = {}
    for slot in mine:
        twins[id(slot)] = _twin(graph, slot, name, twins)
    tap.producer.outputs.remove(tap.arc)
    tap.producer, tap.owner = twins.get(id(tap.producer), tap.producer), name
    tap.producer.outputs.append(tap.arc)


def _copy_stores(contexts: Contexts, birth: Birth, owner: str) -> None:
    for stream, store in contexts.of(None, birth).stores.items():
        there = contexts.of(owner, ORIGIN if memoryless(stream) else birth).stores
        if stream not in there:
            there[stream] = copied(store)
        contexts.of(owner, birth).stores[stream] = there[stream]


def _under(graph: Graph, producer: Slot | Feed) -> list[Slot]:
    """The slots that `producer` stands on and it itself, inputs first."""
    found: set[int] = set()
    stack = [producer]
    while stack:
        top = stack.pop()
        if isinstance(top, Slot) and id(top) not in found:
            found.add(id(top))
            stack.extend(top.producers)
    return [s for s in graph.order if id(s) in found]


def _twin(graph: Graph, slot: Slot, owner: str, twins: dict[int, Slot | Feed]) -> Slot:
    """A slot like `slot`, with its state and what waits before it, behind the twins of its producers."""
    key = slot.key._replace(owner=owner)
    twin = graph.slots[key] = Slot(key, graph.contexts.of(owner, key.birth), slot.clock, slot.delay_s)
    twin.done, twin.unborn = slot.done, slot.unborn
    twin.decoder = None if slot.decoder is None else slot.decoder.with_skips_of(slot.decoder)
    twin.producers = [twins.get(id(p), p) for p in slot.producers]
    for producer, arc in zip(twin.producers, slot.inputs, strict=True):
        twin.inputs.append(arc.copy(twin))
        producer.outputs.append(twin.inputs[-1])
    if slot.operator is not None:
        twin.install(moved(slot.operator, slot.context, twin.context))
    return twin


def unite(graph: Graph) -> None:
    """Runs equal operators once: of copies that have the same node and birth, and so the same state, one stays, on
    shared stores. Operators of queries that were added at different times have seen different pasts and stay apart.
    Every operator must have processed what it can."""
    for slot in list(graph.order):
        if slot.key.owner is not None:
            _unite(graph, slot)
    for tap in graph.taps.values():
        tap.owner = None
    discard(graph)
    _join_contexts(graph)


def _unite(graph: Graph, slot: Slot) -> None:
    key = slot.key._replace(owner=None)
    twin = graph.slots.get(key)
    if twin is None:
        del graph.slots[slot.key]
        slot.key = key
        graph.slots[key] = slot
        return
    if slot.decoder is not None:
        twin.decoder = slot.decoder.with_skips_of(twin.decoder)
    for arc in slot.outputs:
        _rehang(graph, arc, twin)
    slot.outputs = []


def _rehang(graph: Graph, arc: Arc, producer: Slot) -> None:
    producer.outputs.append(arc)
    slot = arc.consumer
    if isinstance(slot, Slot):
        slot.producers = [producer if a is arc else p for p, a in zip(slot.producers, slot.inputs, strict=True)]
    for tap in graph.taps.values():
        if tap.arc is arc:
            tap.producer = producer


def _join_contexts(graph: Graph) -> None:
    """Moves all operators to shared contexts, one for each birth, whose stores reach back as far as anybody's."""
    stores: dict[tuple[Birth, Node], Store] = {}
    joined: dict[Scope, Context] = {}
    for (_, birth), context in graph.contexts.items():
        target = joined.setdefault((None, birth), graph.contexts.fresh())
        for stream in context.stores:
            base = ORIGIN if memoryless(stream) else birth
            if (base, stream) not in stores:
                stores[base, stream] = copied(_fullest(graph.contexts, base, stream))
            target.stores[stream] = stores[base, stream]
    for slot in graph.slots.values():
        target = joined[None, slot.key.birth]
        if slot.operator is not None:
            slot.install(moved(slot.operator, slot.context, target))
        slot.context = target
    graph.contexts.replace(joined)


def _fullest(contexts: Contexts, base: Birth, stream: Node) -> Store:
    """Of the stores of `stream` that number its rows alike, the one that reaches back furthest."""
    alike = [
        context.stores[stream]
        for (_, birth), context in contexts.items()
        if stream in context.stores and (birth == base or memoryless(stream))
    ]
    return min(alike, key=lambda store: store.base)


def discard(graph: Graph) -> None:
    """Ends the use that operators which nobody needs made of the stores, and the stores that nobody uses."""
    for slot in graph.prune():
        if slot.operator is not None:
            for stub in stubs(slot.operator, slot.context):
                stub.close()
    graph.contexts.forget_unused()
