"""Planning for total utility, from a piece-wise linear loss function per query end.

A query's utility depends on the share of its answer that is delivered, so the natural plan is a set of shares to
keep: shares that fit at the top of a region fit everywhere below it. Within a region from q to p:

- the plan made at p scores at least the utility of its delivered shares, each taken at the worst rates of the region;
- no plan scores more than the program at q's loads allows, each query's share counted with the largest part that each
  input can have in it. Where a query has one input, both parts are 1.

Both bounds meet as regions shrink. The program is linear because the loss functions are concave; its variables are
the prefix variables of each input apart, which a Union makes it need.

Reference: Tatbul, sections 5.2 and 5.4.1, with the loss-tolerance QoS of section 2.1.4 in place of throughput; the
bounds are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.cluster.central import CentralPlanner
from penstock.cluster.flows import Floats, FlowModel
from penstock.cluster.limits import space_top
from penstock.cluster.loss import LossFunction
from penstock.cluster.lp import maximum
from penstock.cluster.regions import Corner, Regions, Solve, Space, divided
from penstock.cluster.topology import Topology, query_ends

LINEAR = LossFunction(((0.0, 0.0), (1.0, 1.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Utility:
    """The utility objective: one loss function per query end; an end that declares none loses in proportion."""

    model: FlowModel
    functions: tuple[LossFunction, ...]

    def best(self, rates: Floats) -> Floats:
        """The flows of the best plan at `rates`."""
        prefixes, _ = self.program(rates, rates)
        flows: Floats = prefixes @ rates
        return flows

    def value(self, flows: Floats, rates: Floats) -> float:
        """The sum of weighted utilities."""
        offered = self.model.total_delivered @ rates
        delivered = self.model.delivered @ flows
        return self.utility(np.divide(delivered, offered, out=np.ones_like(offered), where=offered > 0))

    def utility(self, shares: Floats) -> float:
        """The weighted utility of these delivered shares."""
        pairs = zip(self.model.weights.tolist(), self.functions, shares.tolist(), strict=True)
        return float(sum(weight * function.utility(min(share, 1.0)) for weight, function, share in pairs))

    def parts(self, low: Floats, high: Floats) -> Floats:
        """Per query end and input, the largest part that the input can have in the query's answer."""
        gain = self.model.total_delivered
        most, least = gain * high, gain * low
        others = least.sum(axis=1, keepdims=True) - least
        whole = most + others
        return np.asarray(np.divide(most, whole, out=np.zeros_like(whole), where=whole > 0))

    def program(self, low: Floats, high: Floats) -> tuple[Floats, float]:
        """The prefix variables per location and input at loads `low`, and a score that no plan between the two exceeds.

        The variables are the prefixes of the first input, of the second, and so on, then how far each linear piece is
        filled.
        """
        model, inputs, count = self.model, len(low), len(self.model.locations)
        ends, slopes, widths = self._pieces()
        parts, gain = self.parts(low, high), model.total_delivered
        share = np.divide(parts, gain, out=np.zeros_like(gain), where=gain > 0)
        offered = parts.sum(axis=1) > 0
        chains = np.kron(np.eye(inputs), np.eye(count) - model.gains)
        loads = np.hstack([model.loads * rate for rate in low])
        sharing = np.hstack([model.delivered * share[:, [i]] for i in range(inputs)])
        filled = np.equal.outer(np.arange(len(model.ends)), ends).astype(float)
        idle = np.zeros((len(chains) + len(loads), len(slopes)))
        rows = np.vstack([np.hstack([np.vstack([chains, loads]), idle]), np.hstack([-sharing, filled])])
        right = np.concatenate([np.eye(inputs, count).ravel(), model.capacities, np.where(offered, 0.0, 1.0)])
        aim = np.concatenate([np.zeros(inputs * count), slopes])
        best, _ = maximum(aim, rows, right, np.concatenate([np.full(inputs * count, np.inf), widths]))
        base = self.utility(np.zeros(len(model.ends)))
        return best[: inputs * count].reshape(inputs, count).T, base + float(aim @ best)

    def _pieces(self) -> tuple[list[int], Floats, list[float]]:
        """Query end, weighted slope and width of every linear piece."""
        found = [(q, weight * slope, width)
                 for q, (weight, function) in enumerate(zip(self.model.weights.tolist(), self.functions, strict=True))
                 for slope, width in function.pieces()]  # fmt: skip
        return [q for q, _, _ in found], np.array([slope for _, slope, _ in found]), [width for _, _, width in found]

    def least(self, keeps: Floats, low: Floats, high: Floats) -> float:
        """The lowest utility of these shares kept, over all rates between the two."""
        inputs = len(low)
        through = np.stack(
            [self.model.delivered @ self.model.flows(keeps, np.eye(inputs)[i]) for i in range(inputs)], axis=1
        )
        gain = self.model.total_delivered
        kept = np.divide(through, gain, out=np.ones_like(gain), where=gain > 0)
        return self.utility(np.array([_least_share(kept[q], gain[q] * low, gain[q] * high) for q in range(len(kept))]))


def _least_share(kept: Floats, low: Floats, high: Floats) -> float:
    """The least mean of `kept` under weights between `low` and `high`: the worst kept get the most weight."""
    order = np.argsort(kept)
    weights = [np.where(np.isin(np.arange(len(kept)), order[:n]), high, low) for n in range(1, len(kept) + 1)]
    return min((float(w @ kept / w.sum()) for w in weights if w.sum() > 0), default=1.0)


@dataclass(frozen=True, slots=True, eq=False)
class KeptShares:
    """Plans as shares to keep, by region; what the division left open beyond `epsilon` is solved when it is asked
    for.
    """

    regions: Regions
    objective: Utility
    epsilon: float

    def _leaf(self, rates: Floats) -> int:
        leaf = self.regions.find(rates) if (rates <= self.regions.tops).all() else -1
        return leaf if leaf < 0 or self.regions.errors[leaf] <= self.epsilon else -1

    def flows(self, rates: Floats) -> Floats:
        """The flows at the region's shares."""
        leaf = self._leaf(rates)
        if leaf < 0 or self.regions.plans[leaf] < 0:
            return self.objective.best(rates)
        plan = self.regions.plans[leaf]
        model = self.objective.model
        return model.flows(model.keeps(self.regions.flows[plan], self.regions.anchors[plan]), rates)

    def name(self, rates: Floats) -> str:
        """The plan's number."""
        leaf = self._leaf(rates)
        return "program" if leaf < 0 else f"plan {self.regions.plans[leaf]}"


def utility_planner(
    topology: Topology, model: FlowModel, epsilon: float, most_plans: int, most: Floats | None
) -> CentralPlanner:
    """Solver for loss functions."""
    functions = tuple(q.loss or LINEAR for q in query_ends(topology))
    objective = Utility(model, functions)
    loads = model.total_loads

    def corner(point: Floats) -> Corner:
        prefixes, score = objective.program(point, point)
        return score, prefixes @ point, np.ones(len(point))

    def error(solve: Solve, low: Floats, high: Floats) -> float:
        keeps = model.keeps(solve(high)[1], high)
        most_score = objective.program(low, high)[1]
        return max(0.0, 1.0 - objective.least(keeps, low, high) / most_score) if most_score > 0 else 0.0

    def feasible(point: Floats) -> bool:
        return bool((loads @ point <= model.capacities).all())

    space = Space(
        space_top(model, np.full(len(model.inputs), np.inf), most), feasible, corner, error, anchored_high=True
    )
    regions = divided(space, epsilon, most_plans)
    chooser = KeptShares(regions, objective, epsilon)
    bound = min(regions.bound, epsilon)
    return CentralPlanner("solver", topology, model, objective, chooser, epsilon, bound, len(regions.anchors))
