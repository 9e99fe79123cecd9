"""One instance of the problem, solved: the linear programs of section 5.2 through HiGHS.

Maximise the score over prefix variables X_d (the share of all tuples kept down to location d), subject to one load
constraint per node (5.1, 5.4, 5.9), 0 <= X_d <= the prefix before it (5.5 to 5.7), and 0 <= X <= 1 at the inputs
(5.2, 5.10). We solve for the flows r X: then Unions need no extra variables, because a flow below a Union is what
passes, whichever stream it came from.

Reference: Tatbul, sections 5.2.1, 5.2.2 and 5.4 (where GLPK solves them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from penstock.cluster.flows import Floats, FlowModel


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The best plan for one observation of the rates: flows and shares kept at each location, the score, and per
    input its price.

    The price is the score that one more tuple per second would bring: the dual value of the input's prefix constraint.
    """

    flows: Floats
    keeps: Floats
    score: float
    prices: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Maximise `objective @ flows` where `constraints @ flows <= bounds(rates)` and flows >= 0."""

    objective: Floats
    constraints: Floats
    capacities: Floats

    def bounds(self, rates: Floats) -> Floats:
        """Right-hand sides: the capacities, then what each location is offered from outside."""
        offered = np.zeros(len(self.objective))
        offered[: len(rates)] = rates
        return np.concatenate([self.capacities, offered])


def program(model: FlowModel) -> Program:
    """The linear program of a model: the load constraints, then one prefix constraint per location."""
    prefixes = np.eye(len(model.locations)) - model.gains
    return Program(model.scores, np.vstack([model.loads, prefixes]), model.capacities)


def solve(model: FlowModel, rates: Floats) -> Solution:
    """The optimum at `rates`.

    >>> from penstock.cluster.flows import compile_flows
    >>> from penstock.cluster.topology import Input, Node, Operator, Topology
    >>> one = Topology((Node("A", 1.0),), (Input("r", "A"),), (Operator("f", "A", 4.0, 1.0, ("r",)),))
    >>> solve(compile_flows(one), np.array([1.0])).keeps
    array([0.25])
    """
    lp = program(model)
    aim = lp.objective
    unit = _units(model, rates)
    rows = lp.constraints * unit
    size = np.abs(rows).max(axis=1)
    size[size == 0] = 1.0
    worth = float(np.abs(aim * unit).max()) or 1.0
    best, duals = maximum(aim * unit / worth, rows / size[:, None], lp.bounds(rates) / size)
    flows = best * unit
    offering = slice(len(model.nodes), len(model.nodes) + len(rates))
    prices = np.maximum(duals[offering] * worth / size[offering], 0.0)
    return Solution(flows, model.keeps(flows, rates), float(aim @ flows), prices)


def _units(model: FlowModel, rates: Floats) -> Floats:
    """The size in which to count each flow: what would reach it unshed, a silent input taken for the slowest other.

    No unit is below what flows into it, or HiGHS takes a flow's own coefficient for zero beside those of its sources.
    """
    least = float(np.min(rates[rates > 0], initial=np.inf))
    unshed = model.unshed(np.where(rates > 0, rates, least if np.isfinite(least) else 1.0))
    return np.where(unshed > 0, unshed, 1.0)


def maximum(aim: Floats, rows: Floats, right: Floats, tops: Floats | None = None) -> tuple[Floats, Floats]:
    """The x with 0 <= x <= tops and rows @ x <= right that maximises aim @ x, and the dual values of the rows, by
    HiGHS.
    """
    limits = [(0.0, top) for top in (np.full(len(aim), np.inf) if tops is None else tops).tolist()]
    found = linprog(
        -aim,
        A_ub=rows,
        b_ub=right,
        bounds=limits,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.x is None:
        raise ArithmeticError(f"HiGHS found no plan: {found.message}")
    return np.clip(found.x, 0.0, None), -np.asarray(found.ineqlin.marginals)
