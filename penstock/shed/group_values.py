"""Semantic drops before aggregates: whole groups go, those that are worth least first.

A drop before an aggregate leaves results that are no part of the answer, whatever it drops by, but for the columns by
which the aggregate groups. A query that values such a column gets what Tatbul's 3.7 gives others, as windows: the p of
a group (4.10.1) is that of its class, and the classes are the ranges of the valued column that are worth alike. What is
delivered is exact, and a group that is worth more comes back when load falls, with its first whole window.

| paper | here |
|---|---|
| f_i, u_i | the share of the results in a class, and what one is worth |
| the loss function derived in 3.7.1 | `Groups.loss`, over the share of windows that are kept |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from penstock.plan.drops import Location
from penstock.plan.expressions import Expression
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.nodes import Source, WindowAggregate
from penstock.plan.window_reach import Reach, reach
from penstock.shed.graph import Graph
from penstock.shed.grid import in_ranges
from penstock.shed.predicates import by_ranges
from penstock.shed.qos import qos
from penstock.shed.ranges import Attribute, attributes
from penstock.shed.shares import Floats
from penstock.stats.load import LoadModel, takers


@dataclass(frozen=True, slots=True)
class Groups:
    """Classes of groups, the least worth first: the condition on a place's columns, the share of the place's tuples and
    the part of all results' worth that each has."""

    conditions: tuple[Expression, ...]
    tuples: tuple[float, ...]
    worth: tuple[float, ...]

    def loss(self, most: float) -> Graph:
        """What is left of the worth where so many of the windows are kept, and none goes with a p over `most`."""
        kept = [1.0, *(1 - most * gone for gone in accumulate(self.tuples))]
        left = [1.0, *(1 - most * gone for gone in accumulate(self.worth))]
        points = {0.0: 0.0} | dict(zip(reversed(kept), reversed(left), strict=True))
        return Graph(tuple(sorted((max(0.0, x), max(0.0, y)) for x, y in points.items())))

    def rates(self, rate: float, most: float) -> tuple[tuple[Expression, float], ...]:
        """The p of each class that makes `rate` of all windows go."""
        found, left = [], rate
        for condition, share in zip(self.conditions, self.tuples, strict=True):
            p = min(most, max(0.0, left / share)) if share > 0 else most * (left > 0)
            found.append((condition, p))
            left -= share * p
        return tuple(found)


def groups_at(load: LoadModel, location: Location, found: Reach) -> Groups | None:
    """The classes of the groups of the one query below a place; None where it values no column that it groups by."""
    attribute = _valued(load.network, location.node, found)
    if attribute is None:
        return None
    root = load.network.query(found.needs[0].query).root
    columns = dict(attribute.columns)
    column = columns[location.node]
    utilities = np.array([attribute.utility(found.needs[0].query, k) for k in range(attribute.ranges)])
    tuples, results = (_shares(load, attribute, node, columns[node]) for node in (location.node, root))
    worth = results * utilities
    if not worth.sum() > 0:
        return None
    classes = [(utilities == u).astype(np.float64) for u in np.unique(utilities)]
    t = location.node.schema.type_of(column)
    return Groups(
        tuple(by_ranges(attribute, column, t, mine, None).keep for mine in classes),
        tuple(float(tuples @ mine) for mine in classes),
        tuple(float(worth @ mine / worth.sum()) for mine in classes),
    )


@lru_cache(maxsize=16)
def group_valuing(network: Network) -> frozenset[str]:
    """The queries that value a column by which they group, and have a place for window drops to themselves. Those that
    bound their gaps keep to that."""
    alone = {}
    for at in places(network):
        found = reach(network, at)
        if found.why is None and _valued(network, at.node, found) is not None:
            alone[found.needs[0].query] = at
    return frozenset(q.name for q in network.queries if q.name in alone and qos(q).max_gap is None)


def places(network: Network) -> Iterator[Location]:
    """Where windows may be dropped: behind streams, on the arcs behind them, and on those into aggregates."""
    arcs = takers(network.nodes())
    for node in network.nodes():
        if isinstance(node, Source):
            yield Location(node)
        for consumer, i in arcs.get(node, ()):
            if isinstance(node, Source) or isinstance(consumer, WindowAggregate):
                yield Location(node, consumer, i)


@lru_cache(maxsize=16)
def _attributes(network: Network) -> tuple[Attribute, ...]:
    return attributes(network, [qos(q) for q in network.queries])


def _valued(network: Network, node: Node, found: Reach) -> Attribute | None:
    """What the one query below a place values, where it is a key of its groups."""
    if len(found.needs) != 1 or found.rows:
        return None
    mine = (a for a in _attributes(network) if found.needs[0].query in a.queries)
    attribute = next(mine, None)
    return attribute if attribute is not None and dict(attribute.columns).get(node) in found.keys else None


def _shares(load: LoadModel, attribute: Attribute, node: Node, column: str) -> Floats:
    """How what `node` yields divides into the ranges; evenly where nothing is known."""
    seen = load.values.get((node, column))
    known = seen is not None and seen.whole.rows > 0
    counts = in_ranges(attribute, seen.whole.counts) if seen is not None and known else np.ones(attribute.ranges)
    shares: Floats = counts / counts.sum()
    return shares
