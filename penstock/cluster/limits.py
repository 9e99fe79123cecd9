"""How much of each input can be useful at all: the top of the rate space that has to be planned for.

Reference: Tatbul, section 5.5.2 (rate limits) and 5.4.1 (the maximum rate along each input).
"""

from __future__ import annotations

import numpy as np

from penstock.cluster.fit import Fit
from penstock.cluster.flows import Floats, FlowModel
from penstock.cluster.lp import maximum
from penstock.cluster.selecting import filling_rates


def useful_rates(fit: Fit) -> Floats:
    """Per stream, the most that any plan can turn into output, whatever the other rates are; infinite without a bound.

    Some optimal plan uses only rows that bring something, so nothing changes once a rate exceeds the largest total
    weight of such rows that the capacities allow. Rows of a pruned table do only where pruning was exact.

    >>> from penstock.cluster.fit import node_fit
    >>> from penstock.cluster.fragments import fragments
    >>> from penstock.cluster.topology import Input, Node, Operator, Topology
    >>> one = Topology((Node("B", 1.0),), (Input("r", "B"),), (Operator("f", "B", 3.0, 1.0, ("r",)),))
    >>> useful_rates(node_fit(fragments(one)["B"], {}, 0.0)).round(3).tolist()
    [0.333]
    """
    return np.array([_most(fit.rows.loads[own], fit.capacities)
                     for i in range(len(fit.streams))
                     for own in [np.flatnonzero((fit.stream_of == i) & (fit.rows.scores > 0))]])  # fmt: skip


def _most(loads: Floats, capacities: Floats) -> float:
    if len(loads) == 0:
        return 0.0
    if not loads.any(axis=1).all():
        return float("inf")
    unit = filling_rates(loads.T, capacities)
    blocked = (loads[:, capacities == 0] > 0).any(axis=1)
    if blocked.all():
        return 0.0
    free, size = ~blocked, np.where(capacities > 0, capacities, 1.0)
    rows = (loads[free] * unit[free, None] / size).T
    best, _ = maximum(unit[free] / unit[free].max(), rows, (capacities > 0).astype(float))
    return float(best @ unit[free]) * (1.0 + 1e-9)


# Where nothing else bounds an input, plans are made for rates up to so many times the rate that overloads a node alone.
WORST_OVERLOAD = 4.0


def space_top(model: FlowModel, useful: Floats, most: Floats | None) -> Floats:
    """The top of the rate space: useful rates, or the given most; where neither bounds an input, a multiple of what
    it alone may send.
    """
    alone = filling_rates(model.total_loads, model.capacities)
    top = np.where(np.isfinite(useful), useful, WORST_OVERLOAD * alone)
    top = top if most is None else np.minimum(top, most)
    return np.where(top > 0, top, alone)
