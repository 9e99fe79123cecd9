"""A topology as matrices over the flows that its drop locations let pass.

| paper          | here                  | meaning                                                        | unit |
|----------------|-----------------------|----------------------------------------------------------------|------|
| r_j            | `rates`               | rate on the input arcs                                         | 1/s  |
| prefix variable| `flows[d]` / rate     | what passes location d (r times the prefix variable)           | 1/s  |
| x_j            | `keeps[d]`            | share kept at d of what reaches it                             | 1    |
| c_ij s_j^i     | `loads[i, d]`         | load on node i per tuple past d, up to the next locations      | s    |
| s_j            | `scores[d]`           | score per tuple past d, up to the next locations               | 1    |
| zeta_i         | `capacities[i]`       | capacity of node i                                             | s/s  |

Everything between two locations is linear, Unions included, so for any query network: what reaches location d is
`rates[d] + gains[d] @ flows`, loads are `loads @ flows`, and the score is `scores @ flows`.

Reference: Tatbul, sections 5.2.1 and 5.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.cluster.topology import (
    Location,
    Topology,
    arcs,
    consumers,
    locations,
    operator_order,
    query_ends,
)

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FlowModel:
    """Drop locations (the first `len(inputs)` are the inputs), and what a tuple past each of them does.

    `total_loads` and `total_delivered` are per tuple of each input when nothing is dropped; the latter are the total
    selectivities.
    """

    inputs: tuple[str, ...]
    nodes: tuple[str, ...]
    locations: tuple[Location, ...]
    ends: tuple[str, ...]
    capacities: Floats
    gains: Floats
    loads: Floats
    delivered: Floats
    weights: Floats
    closure: Floats
    scores: Floats
    total_loads: Floats
    total_delivered: Floats

    def unshed(self, rates: Floats) -> Floats:
        """The flows when nothing is dropped."""
        return self.closure[:, : len(self.inputs)] @ rates

    def reaching(self, flows: Floats, rates: Floats) -> Floats:
        """What reaches each location, given what passes the ones before it."""
        reaching = self.gains @ flows
        reaching[: len(rates)] += rates
        return reaching

    def keeps(self, flows: Floats, rates: Floats) -> Floats:
        """The share kept at each location: back-substitution from prefix variables (section 5.2.2)."""
        return shares(flows, self.reaching(flows, rates))

    def flows(self, keeps: Floats, rates: Floats) -> Floats:
        """What passes each location when these shares are kept."""
        passing = np.zeros(len(self.locations))
        for d in range(len(passing)):
            offered = self.gains[d] @ passing + (rates[d] if d < len(rates) else 0.0)
            passing[d] = keeps[d] * offered
        return passing


def compile_flows(topology: Topology) -> FlowModel:
    """The matrices of a topology that has been checked."""
    places = locations(topology)
    ends = query_ends(topology)
    nodes = tuple(n.name for n in topology.nodes)
    gains, loads, delivered = _propagate(topology, places, nodes, tuple(q.name for q in ends))
    closure = np.maximum(np.linalg.inv(np.eye(len(places)) - gains), 0.0)
    unshed = closure[:, : len(topology.inputs)]
    weights = np.array([q.weight for q in ends], dtype=float)
    return FlowModel(
        tuple(i.name for i in topology.inputs), nodes, places, tuple(q.name for q in ends),
        np.array([n.capacity for n in topology.nodes], dtype=float), gains, loads, delivered, weights, closure,
        weights @ delivered, loads @ unshed, delivered @ unshed,
    )  # fmt: skip


@njit(cache=True)
def shares(passing: Floats, reaching: Floats) -> Floats:
    """The share of what reaches each place that passes it; 1 where nothing arrives."""
    kept = np.ones(passing.size)
    for d in range(passing.size):
        if passing[d] < reaching[d]:
            kept[d] = max(passing[d], 0.0) / reaching[d]
    return kept


def _propagate(
    topology: Topology, places: tuple[Location, ...], nodes: tuple[str, ...], ends: tuple[str, ...]
) -> tuple[Floats, Floats, Floats]:
    """Gains, loads and deliveries per unit past each location, summed over every path up to the next locations."""
    order = operator_order(topology)
    unit: list[Floats] = list(np.eye(len(places)))
    branch = {str(p.arc): d for d, p in enumerate(places) if p.arc is not None}
    source = {p.stream: d for d, p in enumerate(places) if p.arc is None}
    gains, loads = np.zeros((len(places), len(places))), np.zeros((len(nodes), len(places)))
    delivered = np.zeros((len(ends), len(places)))
    passing = {stream: unit[d] for stream, d in source.items()}
    incoming = {o.name: [a for a in arcs(topology) if not a.to_query and a.consumer == o.name] for o in order}
    leaving = consumers(topology)

    def across(stream: str, name: str) -> Floats:
        return unit[branch[name]] if name in branch else passing[stream]

    for operator in order:
        total = np.sum([across(a.stream, str(a)) for a in incoming[operator.name]], axis=0)
        loads[nodes.index(operator.node)] += operator.cost * total
        passing[operator.name] = operator.selectivity * total
    for stream, through in passing.items():
        for arc in leaving[stream]:
            if str(arc) in branch:
                gains[branch[str(arc)]] += through
            if arc.to_query:
                delivered[ends.index(arc.consumer)] += across(stream, str(arc))
    return gains, loads, delivered
