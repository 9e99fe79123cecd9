"""Which operators run on which node: the description that distributed load shedding plans for.

A node is one running pipeline with its own capacity. Operators are black boxes with a cost and a selectivity; an
operator that reads several streams is a Union of them. A stream that several consumers read splits; every operator
that nobody reads is a query end. Tuples may be dropped where they enter (`inputs`) and on the branches of a split,
except branches that meet again downstream.

>>> topology = Topology(
...     nodes=(Node("A", 1.0), Node("B", 1.0)),
...     inputs=(Input("r1", "A"), Input("r2", "A")),
...     operators=(Operator("a1", "A", 1.0, inputs=("r1",)), Operator("a2", "A", 2.0, inputs=("r2",)),
...                Operator("b1", "B", 3.0, inputs=("a1",)), Operator("b2", "B", 1.0, inputs=("a2",))))
>>> [str(arc) for arc in arcs(topology)]
['r1->a1', 'r2->a2', 'a1->b1', 'a2->b2', 'b1->b1', 'b2->b2']

Reference: Tatbul, sections 5.1.4, 5.2 and table 5.2 (c: cost, s: selectivity, zeta: capacity).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.cluster.loss import LossFunction


@dataclass(frozen=True, slots=True)
class Node:
    """A running pipeline. `capacity` is its zeta: the processing seconds per second it may spend."""

    name: str
    capacity: float


@dataclass(frozen=True, slots=True)
class Input:
    """A stream from outside. It arrives at `node`; None means the node of its only or first consumer."""

    name: str
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """A box on `node`: `cost` seconds per input tuple, `selectivity` output tuples per input tuple."""

    name: str
    node: str
    cost: float
    selectivity: float = 1.0
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A query end: the output of the operator `source`, worth `weight` per tuple, or by its loss function."""

    name: str
    source: str
    weight: float = 1.0
    loss: LossFunction | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes, the inputs that reach them, the operators they run, and the query ends."""

    nodes: tuple[Node, ...]
    inputs: tuple[Input, ...]
    operators: tuple[Operator, ...]
    queries: tuple[Query, ...] = ()


@dataclass(frozen=True, slots=True)
class Arc:
    """One consumer of one stream. `producer_node` and `consumer_node` differ where the arc joins two nodes."""

    stream: str
    consumer: str
    producer_node: str
    consumer_node: str
    to_query: bool

    def __str__(self) -> str:
        return f"{self.stream}->{self.consumer}"


@dataclass(frozen=True, slots=True)
class Location:
    """Where a drop may stand: an input (`arc` is None) or one branch of a split. `name` is what plans call it."""

    name: str
    node: str
    stream: str
    arc: Arc | None = None


def query_ends(topology: Topology) -> tuple[Query, ...]:
    """The declared queries, and one of weight 1 for every operator that nobody reads."""
    read = {stream for operator in topology.operators for stream in operator.inputs}
    read |= {query.source for query in topology.queries}
    return topology.queries + tuple(Query(o.name, o.name) for o in topology.operators if o.name not in read)


def arrival_nodes(topology: Topology) -> dict[str, str]:
    """The node at which each input arrives."""
    first: dict[str, str] = {}
    for operator in topology.operators:
        for stream in operator.inputs:
            first.setdefault(stream, operator.node)
    return {i.name: i.node if i.node is not None else first[i.name] for i in topology.inputs}


def arcs(topology: Topology) -> tuple[Arc, ...]:
    """Every (stream, consumer) pair: operators first, in their order, then query ends."""
    home = arrival_nodes(topology) | {o.name: o.node for o in topology.operators}
    inner = tuple(Arc(stream, o.name, home[stream], o.node, False) for o in topology.operators for stream in o.inputs)
    return inner + tuple(Arc(q.source, q.name, home[q.source], home[q.source], True) for q in query_ends(topology))


def consumers(topology: Topology) -> dict[str, list[Arc]]:
    """The arcs that leave each stream."""
    leaving: dict[str, list[Arc]] = defaultdict(list)
    for arc in arcs(topology):
        leaving[arc.stream].append(arc)
    return leaving


def operator_order(topology: Topology) -> tuple[Operator, ...]:
    """The operators, each after everything it reads. A topology must be free of cycles (`checks.checked`)."""
    by_name = {o.name: o for o in topology.operators}
    done: dict[str, Operator] = {}
    waiting = list(reversed(topology.operators))
    while waiting:
        operator = waiting[-1]
        before = [by_name[s] for s in operator.inputs if s in by_name and s not in done]
        if before:
            waiting += reversed(before)
        else:
            done.setdefault(waiting.pop().name, operator)
    return tuple(done.values())


def locations(topology: Topology) -> tuple[Location, ...]:
    """The drop locations, upstream before downstream: inputs, then the branches of each split (Tatbul, section 5.2).

    Branches that meet again downstream are not a split case (section 5.2.2) and carry no drop.
    """
    home = arrival_nodes(topology)
    leaving = consumers(topology)
    reach = _reach(topology, leaving)
    found = [Location(i.name, home[i.name], i.name) for i in topology.inputs]
    for stream in [i.name for i in topology.inputs] + [o.name for o in operator_order(topology)]:
        branches = leaving[stream]
        for arc in branches if len(branches) > 1 else ():
            others = [reach[_target(b)] for b in branches if b is not arc]
            if not any(reach[_target(arc)] & other for other in others):
                found.append(Location(str(arc), arc.producer_node, stream, arc))
    return tuple(found)


def _target(arc: Arc) -> tuple[bool, str]:
    return arc.to_query, arc.consumer


def _reach(topology: Topology, leaving: Mapping[str, list[Arc]]) -> dict[tuple[bool, str], frozenset[tuple[bool, str]]]:
    """Per target of an arc: itself and every operator and query end behind it."""
    reach = {(True, q.name): frozenset({(True, q.name)}) for q in query_ends(topology)}
    for operator in reversed(operator_order(topology)):
        behind = (reach[_target(arc)] for arc in leaving[operator.name])
        reach[False, operator.name] = frozenset({(False, operator.name)}).union(*behind)
    return reach


def node_edges(topology: Topology) -> tuple[tuple[str, str], ...]:
    """The (upstream, downstream) pairs of nodes that streams join, without repetition."""
    crossing = ((a.producer_node, a.consumer_node) for a in arcs(topology) if a.producer_node != a.consumer_node)
    return tuple(dict.fromkeys(crossing))


def node_order(topology: Topology) -> tuple[str, ...]:
    """The nodes, each after the nodes that feed it."""
    edges = node_edges(topology)
    placed: list[str] = []
    waiting = [n.name for n in topology.nodes]
    while waiting:
        ready = [n for n in waiting if not any(down == n and up in waiting for up, down in edges)]
        placed += ready
        waiting = [n for n in waiting if n not in ready]
    return tuple(placed)
