"""The best flows for one observation of the rates, in microseconds: section 5.2's program as a dictionary made in
advance.

The free variables are the rates z_d dropped at each location; with C = (I - gains)^-1 the flows are C (rates - z), a
node's slack is its capacity less its load at those flows, and the score lost is scores @ C @ z.
"""

from __future__ import annotations

import numpy as np

from penstock.cluster.flows import Floats, FlowModel
from penstock.cluster.lp import solve
from penstock.cluster.pivots import Dictionary, dictionary, minimise_loss


def flow_dictionary(model: FlowModel) -> Dictionary:
    """The dictionary of a model: one row per node (its slack), then one per location (its flow)."""
    closure, count = model.closure, len(model.inputs)
    loads = model.loads @ closure
    fixed = np.concatenate([model.capacities, np.zeros(len(model.locations))])
    matrix = np.vstack([-loads, closure])
    return dictionary(matrix, model.scores @ closure, fixed, matrix[:, :count], filling_rates(loads, model.capacities))


def filling_rates(loads: Floats, capacities: Floats) -> Floats:
    """Per column of `loads`, the rate that fills the first node: the natural unit in which to count it."""
    filled = np.divide(capacities[:, None], loads, out=np.full_like(loads, np.inf), where=loads > 0)
    rates = filled.min(axis=0, initial=np.inf)
    return np.where(np.isfinite(rates) & (rates > 0), rates, 1.0)


def best_flows(model: FlowModel, tableau: Dictionary, rates: Floats) -> Floats:
    """The flows past each location in the optimal plan at `rates`; where pivots lose their way, HiGHS finds them."""
    values, _, certain = minimise_loss(tableau, rates)
    return values[len(model.locations) + len(model.nodes) :] if certain else solve(model, rates).flows
