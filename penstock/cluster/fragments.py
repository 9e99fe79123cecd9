"""The share of a topology that one node runs, as that node sees it: all it needs to make its feasible input table.

Reference: Tatbul, sections 5.3 (each node works from its local catalog) and 5.5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.cluster.topology import (
    Arc,
    Operator,
    Topology,
    arrival_nodes,
    consumers,
    locations,
    operator_order,
    query_ends,
)


@dataclass(frozen=True, slots=True)
class Fragment:
    """The operators of `node`, each after those it reads, the streams that enter it, and where its own streams lead.

    `entries` are inputs from outside and arcs from upstream nodes, each with the arcs that it feeds; those in `free`
    can be thinned further up without thinning anything else; `branches` names the splits' branches that may be
    dropped here; `weights` are those of the query ends here; `upstream` and `downstream` are the neighbours.
    """

    node: str
    capacity: float
    operators: Mapping[str, Operator]
    entries: Mapping[str, tuple[Arc, ...]]
    external: frozenset[str]
    free: frozenset[str]
    leaving: Mapping[str, tuple[Arc, ...]]
    branches: tuple[str, ...]
    weights: Mapping[str, float]
    upstream: tuple[str, ...]
    downstream: tuple[str, ...]


def fragments(topology: Topology) -> dict[str, Fragment]:
    """The fragment of every node."""
    leaving = consumers(topology)
    home = arrival_nodes(topology)
    places = [p for p in locations(topology) if p.arc is not None]
    flowing = [arc for branches in leaving.values() for arc in branches]
    crossing = [arc for arc in flowing if arc.producer_node != arc.consumer_node]
    free = _free(topology, {p.name for p in places})
    found = {}
    for node in topology.nodes:
        mine = {o.name: o for o in operator_order(topology) if o.node == node.name}
        external = [i.name for i in topology.inputs if home[i.name] == node.name]
        into = [arc for arc in crossing if arc.consumer_node == node.name]
        found[node.name] = Fragment(
            node.name, node.capacity, mine,
            {name: tuple(leaving[name]) for name in external} | {str(arc): (arc,) for arc in into},
            frozenset(external),
            frozenset(external) | {str(arc) for arc in into if str(arc) in free},
            {name: tuple(leaving[name]) for name in mine},
            tuple(p.name for p in places if p.node == node.name),
            {q.name: q.weight for q in query_ends(topology) if q.source in mine},
            tuple(dict.fromkeys(arc.producer_node for arc in into)),
            tuple(dict.fromkeys(a.consumer_node for a in crossing if a.producer_node == node.name)),
        )  # fmt: skip
    return found


def _free(topology: Topology, located: set[str]) -> set[str]:
    """The arcs whose flow alone can be thinned by drops at or above them."""
    leaving = consumers(topology)
    reads = {o.name: [f"{stream}->{o.name}" for stream in o.inputs] for o in topology.operators}
    free = set(located)
    for stream in [i.name for i in topology.inputs] + [o.name for o in operator_order(topology)]:
        if len(leaving[stream]) == 1 and all(arc in free for arc in reads.get(stream, ())):
            free.add(str(leaving[stream][0]))
    return free
