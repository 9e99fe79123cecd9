"""What one node does with its table: from the rates that reach it to its own drops.

Reference: Tatbul, section 5.6, distributed case: a node measures its rates and applies its own plan; drops on the
streams that enter from upstream occur only when the upstream node sent more than the table allows (it is late, or
silent).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.cluster.fit import Fit
from penstock.cluster.flows import Floats, shares
from penstock.cluster.fragments import Fragment
from penstock.cluster.mixing import Mixer
from penstock.cluster.selection import ROUNDING


@dataclass(frozen=True, slots=True, eq=False)
class LocalFlows:
    """The drop places of a node (its entries, then its branches), what flows from one to the next, and what leaves.

    `gains` and `loads` are per unit past each place, as in `FlowModel`; `total_loads` per tuple of each entry when
    nothing is dropped; row a of `sent` is what leaves on the arc `sending[a]`.
    """

    entries: tuple[str, ...]
    branches: tuple[str, ...]
    gains: Floats
    loads: Floats
    total_loads: Floats
    sending: tuple[str, ...]
    sent: Floats

    @property
    def places(self) -> tuple[str, ...]:
        """Where this node may drop."""
        return self.entries + self.branches


def local_flows(fragment: Fragment) -> LocalFlows:
    """The linear map of a fragment."""
    places = (*fragment.entries, *fragment.branches)
    unit = np.eye(len(places))
    gains, loads = np.zeros_like(unit), np.zeros(len(places))
    arriving = dict.fromkeys(fragment.operators, np.zeros(len(places)))
    sending: dict[str, Floats] = {}
    streams = [(unit[e], arcs) for e, arcs in enumerate(fragment.entries.values())]
    waiting = list(fragment.operators.values())
    while True:
        for passing, arcs in streams:
            for arc in arcs:
                through = passing
                if str(arc) in fragment.branches:
                    branch = places.index(str(arc))
                    gains[branch] += passing
                    through = unit[branch]
                if arc.consumer_node != fragment.node:
                    sending[str(arc)] = through
                elif not arc.to_query:
                    arriving[arc.consumer] = arriving[arc.consumer] + through
        if not waiting:
            sent = np.array(list(sending.values())).reshape(len(sending), len(places))
            total = (loads @ np.linalg.inv(unit - gains))[: len(fragment.entries)]
            return LocalFlows(tuple(fragment.entries), fragment.branches, gains, loads, total, tuple(sending), sent)
        operator = waiting.pop(0)
        loads += operator.cost * arriving[operator.name]
        streams = [(operator.selectivity * arriving[operator.name], fragment.leaving[operator.name])]


@dataclass(frozen=True, slots=True, eq=False)
class LocalPlan:
    """The shares kept at each place of a node, and the rates that it sends on."""

    keeps: Floats
    sent: Mapping[str, float]
    load: float


def local_plan(
    flows: LocalFlows, fit: Fit, mixer: Mixer, entering: Mapping[str, float], below: Mapping[str, float]
) -> LocalPlan:
    """The best plan for the streams that enter here at these rates, leaving room for those that enter `below`."""
    rates = np.array([entering.get(s, below.get(s, 0.0)) for s in fit.streams])
    weights = mixer.mix(rates)
    per_stream = np.bincount(fit.stream_of, weights, len(fit.streams))
    count = len(flows.entries)
    passing = np.concatenate([per_stream[:count], weights @ fit.rows.plans])
    load, capacity = float(flows.loads @ passing), float(fit.capacities[0])
    if load > capacity * (1.0 + ROUNDING) + ROUNDING * float(flows.total_loads @ rates[:count]):
        passing *= capacity / load
    reaching = flows.gains @ passing
    reaching[:count] += rates[:count]
    sent = dict(zip(flows.sending, (flows.sent @ passing).tolist(), strict=True))
    return LocalPlan(shares(passing, reaching), sent, float(flows.loads @ passing))
