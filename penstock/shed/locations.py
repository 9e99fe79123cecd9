"""Candidate drop locations (Tatbul 3.4.1): of all arcs those at which a drop can be worth its place.

A drop saves most as early as it may stand: at an input, or right behind a split, where it spares the other branches.
Where the rules (`penstock.shed.allowed`) forbid that, it is the first arc behind the operator that stands in the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.plan.drops import Location
from penstock.plan.node import Node
from penstock.plan.nodes import Source
from penstock.shed.allowed import Allowed
from penstock.stats.load import Arc, LoadModel


def branches(load: LoadModel) -> Mapping[Node, tuple[Location, ...]]:
    """The arcs behind each node, those to results included."""
    found: dict[Node, list[Location]] = {n: [_arc(n, a) for a in load.takers.get(n, ())] for n in load.nodes}
    for query in load.network.queries:
        found[query.root].append(Location(query.root, query=query.name))
    return {node: tuple(arcs) for node, arcs in found.items()}


def _arc(node: Node, arc: Arc) -> Location:
    return Location(node, arc[0], arc[1])


def candidates(load: LoadModel, allowed: Allowed) -> Iterator[Location]:
    """The locations, inputs first.

    A drop on the only arc behind a node and one behind the node itself are the same; the latter name is used.
    """
    arcs = branches(load)
    for node in load.nodes:
        split = len(arcs[node]) > 1
        before_it = not isinstance(node, Source) and all(
            allowed.why_not(Location(below, node, i)) is None for i, below in enumerate(node.inputs)
        )
        if not before_it and allowed.why_not(Location(node)) is None:
            yield Location(node)
        if split:
            yield from (arc for arc in arcs[node] if allowed.why_not(arc) is None)
