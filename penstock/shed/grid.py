"""Cells: how flows divide by the values that queries care for (Tatbul 3.7.1, for whole networks).

Each connected part of the network has a grid of its own, the ranges of its attributes multiplied; what an attribute
says of a flow is learnt where it is watched, and handed on where an operator keeps rows. Attributes are taken for
independent of each other.

What is counted is what would be there without drops (`penstock.stats.values`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np

from penstock.plan.drops import Location
from penstock.plan.network import Network
from penstock.plan.node import Node, walk
from penstock.shed.flows import Cells
from penstock.shed.ranges import Attribute
from penstock.shed.shares import Floats
from penstock.stats.load import LoadModel

MOST: Final = 128
"""Grids have no more cells than these; attributes that fewer queries value are left out, and a drop is as good as a
random one to those queries."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The cells of a connected part of the network: all combinations of the ranges of `attributes`."""

    nodes: frozenset[Node]
    attributes: tuple[Attribute, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Ranges of each attribute."""
        return tuple(a.ranges for a in self.attributes)

    @property
    def size(self) -> int:
        """How many cells there are: one where nothing is valued."""
        return int(np.prod(self.shape, dtype=np.int64)) if self.attributes else 1

    def tells(self, node: Node) -> bool:
        """True where a row of `node` says in which cell it is."""
        return bool(self.attributes) and all(node in dict(a.columns) for a in self.attributes)


def grids(network: Network, attributes: Sequence[Attribute]) -> tuple[Grid, ...]:
    """The grid of each connected part of `network`."""
    found = []
    for nodes in _connected(network):
        mine = [a for a in attributes if a.columns and a.columns[0][0] in nodes]
        mine.sort(key=lambda a: -len(a.queries))
        chosen: list[Attribute] = []
        for attribute in mine:
            if Grid(nodes, (*chosen, attribute)).size <= MOST:
                chosen.append(attribute)
        found.append(Grid(nodes, tuple(chosen)))
    return tuple(found)


def _connected(network: Network) -> list[frozenset[Node]]:
    parts: list[set[Node]] = []
    for query in network.queries:
        mine = set(walk(query.root))
        for part in [p for p in parts if p & mine]:
            parts.remove(part)
            mine |= part
        parts.append(mine)
    return [frozenset(p) for p in parts]


def cells_of(load: LoadModel, grids_: Sequence[Grid]) -> Cells:
    """The cells of the whole network: those of its grids under the same numbers, for they never meet."""
    count = max((g.size for g in grids_), default=1)
    parts: dict[Node, Floats] = {}
    worth: dict[str, Floats] = {}
    for grid in grids_:
        by_attribute = [range_parts(load, a, grid.nodes) for a in grid.attributes]
        for node in load.nodes:
            if node in grid.nodes:
                mine = reduce(np.multiply.outer, (p[node] for p in by_attribute), np.ones(1)).reshape(-1)
                parts[node] = np.concatenate([mine, np.zeros(count - len(mine))])
        for number, attribute in enumerate(grid.attributes):
            for query in attribute.queries:
                worth[query] = _worth(load, grid, number, query, parts)
    return Cells(count, parts, {q: w for q, w in worth.items() if np.isfinite(w).all()})


def _worth(load: LoadModel, grid: Grid, number: int, query: str, parts: Mapping[Node, Floats]) -> Floats:
    """n_i: each cell's share of the utility of the query's results (Tatbul table 3.2)."""
    attribute = grid.attributes[number]
    of_range = np.array([attribute.utility(query, k) for k in range(attribute.ranges)])
    shape = [1] * len(grid.shape)
    shape[number] = -1
    utilities = np.broadcast_to(of_range.reshape(shape), grid.shape).reshape(-1)
    mine = parts[load.network.query(query).root]
    weighted: Floats = np.concatenate([utilities, np.zeros(len(mine) - len(utilities))]) * mine
    return weighted / weighted.sum() if weighted.sum() else np.full(len(mine), np.nan)


def range_parts(load: LoadModel, attribute: Attribute, nodes: frozenset[Node]) -> dict[Node, Floats]:
    """For each node the share of its rows in each range of `attribute`."""
    columns = dict(attribute.columns)
    flows: dict[Node, Floats] = {}
    for node in load.nodes:
        if node in nodes:
            flows[node] = _flow(load, attribute, columns, node, flows)
    return {node: _normal(flow) for node, flow in flows.items()}


def _flow(
    load: LoadModel, attribute: Attribute, columns: Mapping[Node, str], node: Node, flows: Mapping[Node, Floats]
) -> Floats:
    """Rows a second in each range behind `node`."""
    seen = load.values.get((node, columns[node])) if node in columns else None
    rate = load.rate(Location(node))
    if seen is not None:
        return _normal(in_ranges(attribute, seen.whole.counts)) * max(rate, 1e-12)
    if not node.inputs:
        return np.full(attribute.ranges, max(rate, 1e-12) / attribute.ranges)
    carrying = [n for n in node.inputs if n in columns] or node.inputs
    into: Floats = np.sum([flows[n] for n in carrying], axis=0)
    return into


def _normal(flow: Floats) -> Floats:
    total = flow.sum()
    return flow / total if total else np.full(len(flow), 1 / len(flow))


def in_ranges(attribute: Attribute, counts: Sequence[float]) -> Floats:
    """A histogram over the finer bins of `attribute` as one over its ranges."""
    if attribute.categories:
        return np.array(counts)
    bounds = np.array(attribute.bounds)
    of_bin = np.searchsorted(bounds, np.array([-np.inf, *attribute.bins]), side="right")
    found: Floats = np.bincount(of_bin, weights=np.array(counts[:-1]), minlength=attribute.ranges).astype(np.float64)
    found[-1] += counts[-1]
    return found
