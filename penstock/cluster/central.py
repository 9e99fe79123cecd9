"""C-FIT's and Solver's answers at one place: a coordinator that selects for all nodes.

Reference: Tatbul, sections 5.3 (centralized approach) and 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.cluster.fit import Fit, assembled, node_fit, widened
from penstock.cluster.flows import Floats, FlowModel
from penstock.cluster.fragments import fragments
from penstock.cluster.messages import ordered
from penstock.cluster.mixing import Mixer
from penstock.cluster.objective import Objective
from penstock.cluster.regions import Regions
from penstock.cluster.rows import Rows
from penstock.cluster.selection import Selection, as_drops, as_rates, overloaded, within_capacity
from penstock.cluster.topology import Topology, node_order


class Chooser(Protocol):
    """Where the plans of a central planner come from."""

    def flows(self, rates: Floats) -> Floats:
        """What passes each drop location at rates that overload some node."""
        ...

    def name(self, rates: Floats) -> str:
        """The id of the plan that `flows` uses."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CentralPlanner:
    """The planner of the centralized approach: `select` is what the coordinator sends to the nodes.

    `bound` is the largest share of the optimum that a selected plan may miss (its expected share for Solver-W);
    `entries` counts the plans or table rows made in advance.
    """

    method: str
    topology: Topology
    model: FlowModel
    objective: Objective
    chooser: Chooser
    epsilon: float
    bound: float
    entries: int
    places: tuple[tuple[str, str], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", tuple((p.node, p.name) for p in self.model.locations))

    def select(self, rates: Mapping[str, float] | Sequence[float]) -> dict[str, dict[str, float]]:
        """Per node, the share to drop at each of its locations; nothing where no node is overloaded."""
        given = as_rates(self.model.inputs, rates)
        if not overloaded(self.model, given):
            return {node: {} for node in self.model.nodes}
        return self._drops(self._flows(given), given)

    def choose(self, rates: Mapping[str, float] | Sequence[float]) -> Selection:
        """What `select` does, with the plan's id, its score, and the optimum there."""
        given = as_rates(self.model.inputs, rates)
        if not overloaded(self.model, given):
            score = self.objective.value(self.model.unshed(given), given)
            return Selection("none", {node: {} for node in self.model.nodes}, score, score)
        flows = self._flows(given)
        score, optimum = (self.objective.value(f, given) for f in (flows, self.objective.best(given)))
        return Selection(self.chooser.name(given), self._drops(flows, given), score, max(score, optimum))

    def _flows(self, rates: Floats) -> Floats:
        return within_capacity(self.model, self.chooser.flows(rates), rates)

    def _drops(self, flows: Floats, rates: Floats) -> dict[str, dict[str, float]]:
        return as_drops(self.model.nodes, self.places, self.model.keeps(flows, rates))


def node_fits(topology: Topology, epsilon: float) -> dict[str, Fit]:
    """The tables of all nodes, leaves first: the centralized version of table merging and propagation (section
    5.5.3).
    """
    parts, tables = fragments(topology), dict[str, Fit]()
    for name in reversed(node_order(topology)):
        children = {child: tables[child] for child in parts[name].downstream}
        tables[name] = ordered(node_fit(parts[name], children, epsilon))
    return tables


def whole_fit(topology: Topology, epsilon: float) -> Fit:
    """One table over all inputs: the tables of the nodes that nothing feeds, side by side."""
    parts, tables = fragments(topology), node_fits(topology, epsilon)
    nodes = tuple(n.name for n in topology.nodes)
    roots = [tables[name] for name in nodes if not parts[name].upstream]
    branches = tuple(dict.fromkeys(b for table in roots for b in table.branches))
    rows = dict[str, Rows]()
    for table in roots:
        for stream in table.streams:
            rows.setdefault(stream, widened(table, stream, nodes, branches))
    capacities = np.array([n.capacity for n in topology.nodes], dtype=float)
    return assembled({i.name: rows[i.name] for i in topology.inputs}, nodes, capacities, branches, frozenset(rows))


@dataclass(frozen=True, slots=True, eq=False)
class FromFit:
    """Plans from a feasible input table. A table that had to be thinned beyond epsilon leaves the choice to the
    program itself.
    """

    fit: Fit
    mixer: Mixer
    model: FlowModel
    objective: Objective
    columns: NDArray[np.intp]
    exact: bool

    def flows(self, rates: Floats) -> Floats:
        """The flows of the best mix of rows."""
        if not self.exact:
            return self.objective.best(rates)
        weights = self.mixer.mix(rates)
        passing = np.empty(len(self.model.locations))
        passing[: len(rates)] = np.bincount(self.fit.stream_of, weights, len(rates))
        passing[self.columns] = weights @ self.fit.rows.plans
        return passing

    def name(self, rates: Floats) -> str:
        """The rows that are mixed."""
        if not self.exact:
            return "program"
        return "rows " + "+".join(str(k) for k in np.flatnonzero(self.mixer.mix(rates) > 0))


@dataclass(frozen=True, slots=True, eq=False)
class FromRegions:
    """Plans from a division of the rate space; what the division left open beyond `epsilon` is solved when it is
    asked for.
    """

    regions: Regions
    saturated: NDArray[np.bool_]
    model: FlowModel
    objective: Objective
    epsilon: float
    closed: bool

    def _leaf(self, rates: Floats) -> int:
        """The leaf whose plan may be used, or -1."""
        beyond = (rates > self.regions.tops) & ~self.saturated
        leaf = -1 if beyond.any() else self.regions.find(rates)
        return leaf if leaf < 0 or self.closed or self.regions.errors[leaf] <= self.epsilon else -1

    def flows(self, rates: Floats) -> Floats:
        """The flows of the region's plan: scaling down to the plan point is part of the shares kept (section 5.4.1)."""
        leaf = self._leaf(rates)
        if leaf < 0:
            return self.objective.best(rates)
        plan = self.regions.plans[leaf]
        if plan < 0:
            return self.model.unshed(np.minimum(rates, self.regions.tops))
        flows: Floats = self.regions.flows[plan]
        return flows

    def name(self, rates: Floats) -> str:
        """The plan's number."""
        leaf = self._leaf(rates)
        return "program" if leaf < 0 else f"plan {self.regions.plans[leaf]}"
