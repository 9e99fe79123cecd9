"""D-FIT's answers: every node selects from its own table, for the rates that really reach it.

Reference: Tatbul, sections 5.3 (distributed approach), 5.5 and 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.cluster.exchange import Exchange
from penstock.cluster.flows import FlowModel
from penstock.cluster.messages import Version
from penstock.cluster.peer import Agreement
from penstock.cluster.pivots import Dictionary
from penstock.cluster.replay import replay
from penstock.cluster.selecting import best_flows, flow_dictionary
from penstock.cluster.selection import Selection, as_drops, as_rates
from penstock.cluster.topology import Topology, node_order


@dataclass(frozen=True, slots=True, eq=False)
class DistributedPlanner:
    """The planner of the distributed approach: `select` asks the nodes from the root of the tree to its leaves."""

    topology: Topology
    model: FlowModel
    tableau: Dictionary
    exchange: Exchange
    epsilon: float
    order: tuple[str, ...]
    method: str = "d-fit"

    @property
    def bound(self) -> float:
        """What pruning may have cost at most, plus the tolerance for what was not sent."""
        return max(peer.fit.error for peer in self.exchange.peers.values()) + self.exchange.agreement.tolerance

    @property
    def entries(self) -> int:
        """The table rows that parents hold of their children."""
        return sum(len(held.table) for peer in self.exchange.peers.values() for held in peer.held.values())

    def select(self, rates: Mapping[str, float] | Sequence[float]) -> dict[str, dict[str, float]]:
        """Per node, the share to drop at each of its locations, with every node told the rates below it."""
        given = as_rates(self.model.inputs, rates)
        named = dict(zip(self.model.inputs, given.tolist(), strict=True))
        self._tell(named)
        return steady_state(self.exchange, self.order, named)

    def _tell(self, rates: Mapping[str, float]) -> None:
        self.exchange.measure(rates)
        for name in reversed(self.order):
            peer = self.exchange.peers[name]
            for parent in peer.fragment.upstream:
                turn = Version(peer.epoch, peer.sequence)
                self.exchange.peers[parent].reported[name] = (turn, peer.rates_below())

    def choose(self, rates: Mapping[str, float] | Sequence[float]) -> Selection:
        """What `select` does, with the score, and the optimum that only a coordinator knows."""
        given = as_rates(self.model.inputs, rates)
        drops = self.select(rates)
        score = replay(self.topology, dict(zip(self.model.inputs, given.tolist(), strict=True)), drops).score
        optimum = float(self.model.scores @ best_flows(self.model, self.tableau, given))
        return Selection("local tables", drops, score, max(score, optimum))


def steady_state(exchange: Exchange, order: Sequence[str], rates: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """The drops of all nodes once each has answered the rates that reach it, upstream first."""
    arriving: dict[str, float] = dict(rates)
    drops: dict[str, dict[str, float]] = {}
    for name in order:
        peer = exchange.peers[name]
        local = peer.select({stream: arriving[stream] for stream in peer.fragment.entries})
        places = [(name, place) for place in peer.flows.places]
        drops |= as_drops((name,), places, local.keeps)
        arriving |= local.sent
    return drops


def distributed_planner(topology: Topology, model: FlowModel, epsilon: float, tolerance: float) -> DistributedPlanner:
    """D-FIT over links that deliver at once, run until no message is left."""
    exchange = Exchange(topology, Agreement(epsilon, tolerance, float("inf")))
    exchange.settle()
    return DistributedPlanner(topology, model, flow_dictionary(model), exchange, epsilon, node_order(topology))
