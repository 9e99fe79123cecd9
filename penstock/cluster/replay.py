"""What happens when drops stand in a topology: tuple rates pushed operator by operator, with no matrix and no solver.

The planners are judged by this walk; it shares nothing with them but the topology.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.cluster.topology import Arc, Topology, arrival_nodes, consumers, operator_order, query_ends

Drops: TypeAlias = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Load per node, tuples per second at each query end, and the score (weights, or utilities of loss functions)."""

    loads: Mapping[str, float]
    delivered: Mapping[str, float]
    score: float

    def overloaded(self, topology: Topology, tolerance: float = 1e-9) -> list[str]:
        """The nodes whose load exceeds their capacity."""
        return [n.name for n in topology.nodes if self.loads[n.name] > n.capacity * (1 + tolerance) + tolerance * 1e-3]


def replay(topology: Topology, rates: Mapping[str, float], drops: Drops) -> Outcome:
    """The steady state under `drops`: per node, the share dropped at each named input or arc (0 where none is named).

    An arc between two nodes may be dropped from on either side of it.

    >>> from penstock.cluster.topology import Input, Node, Operator
    >>> one = Topology((Node("A", 1.0),), (Input("r", "A"),), (Operator("f", "A", 2.0, 0.5, ("r",)),))
    >>> replay(one, {"r": 1.0}, {"A": {"r": 0.5}})
    Outcome(loads={'A': 1.0}, delivered={'f': 0.25}, score=0.25)
    """
    home = arrival_nodes(topology)
    passing = {name: rates[name] * (1 - drops.get(home[name], {}).get(name, 0.0)) for name in home}
    leaving = consumers(topology)
    arriving: dict[tuple[bool, str], float] = {}
    for name in home:
        _deliver(passing[name], leaving[name], drops, arriving)
    loads = dict.fromkeys((n.name for n in topology.nodes), 0.0)
    for operator in operator_order(topology):
        rate = arriving.get((False, operator.name), 0.0)
        loads[operator.node] += rate * operator.cost
        _deliver(rate * operator.selectivity, leaving[operator.name], drops, arriving)
    delivered = {q.name: arriving.get((True, q.name), 0.0) for q in query_ends(topology)}
    return Outcome(loads, delivered, _score(topology, rates, delivered, drops))


def _deliver(rate: float, branches: list[Arc], drops: Drops, arriving: dict[tuple[bool, str], float]) -> None:
    for arc in branches:
        kept = 1.0
        for node in {arc.producer_node, arc.consumer_node}:
            kept *= 1 - drops.get(node, {}).get(str(arc), 0.0)
        target = (arc.to_query, arc.consumer)
        arriving[target] = arriving.get(target, 0.0) + rate * kept


def _score(topology: Topology, rates: Mapping[str, float], delivered: Mapping[str, float], drops: Drops) -> float:
    ends = query_ends(topology)
    if all(q.loss is None for q in ends):
        return sum(q.weight * delivered[q.name] for q in ends)
    offered = replay(topology, rates, {}).delivered if drops else delivered
    shares = {q.name: delivered[q.name] / offered[q.name] if offered[q.name] > 0 else 1.0 for q in ends}
    return sum(q.weight * q.loss.utility(shares[q.name]) for q in ends if q.loss is not None)
