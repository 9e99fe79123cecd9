"""The optimum by another road: one variable per arc, one equation per operator, nothing shared with the planners but
the topology.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import linprog

from penstock.cluster.topology import Topology, arcs, locations, query_ends


def optimum(topology: Topology, rates: Mapping[str, float]) -> float:
    """The best score at `rates`, by HiGHS."""
    flows = arcs(topology)
    droppable = {p.arc for p in locations(topology) if p.arc is not None}
    place = {arc: k for k, arc in enumerate(flows)}
    keeps = {given.name: len(flows) + k for k, given in enumerate(topology.inputs)}
    width = len(flows) + len(keeps)
    operators = {o.name: o for o in topology.operators}

    def offered(stream: str) -> np.ndarray:
        row = np.zeros(width)
        if stream in keeps:
            row[keeps[stream]] = rates[stream]
        for arc in flows if stream in operators else ():
            if not arc.to_query and arc.consumer == stream:
                row[place[arc]] = operators[stream].selectivity
        return row

    upper, equal, bounds = [], [], []
    for arc in flows:
        row = -offered(arc.stream)
        row[place[arc]] += 1.0
        (upper if arc in droppable else equal).append(row)
    for node in topology.nodes:
        row = np.zeros(width)
        for arc in flows:
            if not arc.to_query and operators[arc.consumer].node == node.name:
                row[place[arc]] += operators[arc.consumer].cost
        size = np.abs(row).max() or 1.0
        upper.append(row / size)
        bounds.append(node.capacity / size)
    aim = np.zeros(width)
    for query in query_ends(topology):
        for arc in flows:
            if arc.to_query and arc.consumer == query.name:
                aim[place[arc]] += query.weight
    limits = [(0, None)] * len(flows) + [(0, 1)] * len(keeps)
    right = [0.0] * (len(upper) - len(bounds)) + bounds
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        -aim,
        np.array(upper),
        right,
        np.array(equal) if equal else None,
        np.zeros(len(equal)) if equal else None,
        limits,
        method="highs",
        options=options,
    )
    return float(aim @ found.x)
