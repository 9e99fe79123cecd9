"""The four phases behind one interface: `plan` prepares, `select` answers.

1. Advance planning: `plan(topology, epsilon, method)`.
2. Load monitoring: the caller measures the input rates (for D-FIT, `Peer.measure` and beats).
3. Plan selection: `planner.select(rates)`, in microseconds.
4. Plan implementation: each node sets its drops to what `select` names for it.

| method     | planned by                                           | guarantee                             |
|------------|------------------------------------------------------|---------------------------------------|
| `c-fit`    | feasible input tables, made centrally                | within epsilon at every point         |
| `d-fit`    | the same tables, by messages between neighbours      | within epsilon plus the tolerance     |
| `solver`   | linear programs over a division of the rate space    | within epsilon at every point         |
| `solver-w` | the same, weighed by a workload                      | within epsilon in expectation         |

Epsilon is a percentage, as in the thesis.

Reference: Tatbul, sections 5.3 to 5.6 and table 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from penstock.cluster.central import CentralPlanner, FromFit, FromRegions, whole_fit
from penstock.cluster.checks import checked
from penstock.cluster.distributed import DistributedPlanner, distributed_planner
from penstock.cluster.flows import Floats, FlowModel, compile_flows
from penstock.cluster.limits import space_top, useful_rates
from penstock.cluster.lp import solve
from penstock.cluster.objective import throughput
from penstock.cluster.regions import Corner, Space, divided
from penstock.cluster.selection import Selection, as_rates
from penstock.cluster.topology import Topology, query_ends
from penstock.cluster.utility import utility_planner
from penstock.cluster.workload import Workload
from penstock.errors import Diagnostic, PenstockError, unknown

METHODS = ("c-fit", "d-fit", "solver", "solver-w")
# Programs that a division of the rate space may solve before it stops with the bound that it has: about ten seconds'
# worth.
MOST_PLANS = 5_000
# A region's programs for loss functions take about ten times as long.
UTILITY_EFFORT = 10


class Planner(Protocol):
    """What every method gives."""

    @property
    def bound(self) -> float:
        """The largest share of the optimum that a selected plan may miss."""
        ...

    def select(self, rates: Mapping[str, float] | Sequence[float]) -> dict[str, dict[str, float]]:
        """Per node, the share to drop at each of its locations."""
        ...

    def choose(self, rates: Mapping[str, float] | Sequence[float]) -> Selection:
        """What `select` does, with the plan's id, its score, and the optimum."""
        ...


def plan(
    topology: Topology,
    epsilon: float,
    method: str = "c-fit",
    *,
    workload: Workload | None = None,
    most_plans: int = MOST_PLANS,
    max_rates: Mapping[str, float] | None = None,
    tolerance: float = 0.0,
) -> CentralPlanner | DistributedPlanner:
    """Plan in advance for every overload of `topology`, to within `epsilon` percent of the best score.

    `workload` weighs the regions of solver-w, `most_plans` ends a division early, `max_rates` bounds the space that
    is divided, and `tolerance` is the percentage of change that d-fit need not send.

    >>> from penstock.cluster.topology import Input, Node, Operator, Topology
    >>> one = Topology((Node("A", 1.0),), (Input("r", "A"),), (Operator("f", "A", 4.0, 1.0, ("r",)),))
    >>> plan(one, epsilon=5).select({"r": 1.0})
    {'A': {'r': 0.75}}
    """
    checked(topology)
    share, late = _share("epsilon", epsilon), _share("tolerance", tolerance)
    if method not in METHODS:
        raise PenstockError(unknown("method", method, METHODS))
    if (method == "solver-w") != (workload is not None):
        raise PenstockError(
            Diagnostic("solver-w, and it alone, needs a workload", help="pass workload=Exponential(...)")
        )
    model = compile_flows(topology)
    most = None if max_rates is None else as_rates(model.inputs, max_rates)
    if any(q.loss is not None for q in query_ends(topology)):
        if method not in ("solver", "c-fit"):
            raise PenstockError(Diagnostic(f"{method} plans for throughput, not for loss functions", help="use solver"))
        return utility_planner(topology, model, share, most_plans // UTILITY_EFFORT, most)
    if method == "d-fit":
        return distributed_planner(topology, model, share, late)
    if method == "c-fit":
        return _from_fit(topology, model, share)
    return _from_regions(topology, model, share, method, workload, most_plans, most)


def _share(name: str, percent: float) -> float:
    if not 0 <= percent < 100:
        raise PenstockError(Diagnostic(f"{name} is {percent:g}", help="give a percentage from 0 to less than 100"))
    return percent / 100.0


def _from_fit(topology: Topology, model: FlowModel, share: float) -> CentralPlanner:
    fit, objective = whole_fit(topology, share), throughput(model)
    names = [p.name for p in model.locations]
    columns = np.array([names.index(b) for b in fit.branches], dtype=np.intp)
    exact = fit.error <= share + 1e-9
    chooser = FromFit(fit, fit.mixer(), model, objective, columns, exact)
    return CentralPlanner("c-fit", topology, model, objective, chooser, share, fit.error if exact else 0.0, len(fit))


def _from_regions(
    topology: Topology,
    model: FlowModel,
    share: float,
    method: str,
    workload: Workload | None,
    most_plans: int,
    most: Floats | None,
) -> CentralPlanner:
    table = whole_fit(topology, 0.0)
    useful = useful_rates(table) if table.error == 0.0 else np.full(len(model.inputs), np.inf)
    top = space_top(model, useful, most)
    regions = divided(solver_space(model, top), share, most_plans, workload)
    reached = regions.bound if workload is None else regions.expected
    objective = throughput(model)
    chooser = FromRegions(regions, top >= useful, model, objective, share, reached <= share)
    return CentralPlanner(method, topology, model, objective, chooser, share, min(reached, share), len(regions.anchors))


def solver_space(model: FlowModel, top: Floats) -> Space:
    """The rate space of a model, with plans from the linear programs of section 5.2."""
    loads = model.total_loads

    def feasible(point: Floats) -> bool:
        return bool((loads @ point <= model.capacities).all())

    def corner(point: Floats) -> Corner:
        best = solve(model, point)
        return best.score, best.flows, best.prices

    return Space(top, feasible, corner)
