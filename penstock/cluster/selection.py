"""From flows to drops: what every planner hands out, and the last guard that no node is over its capacity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from penstock.cluster.checks import LARGEST
from penstock.cluster.flows import Floats, FlowModel
from penstock.errors import Diagnostic, PenstockError, unknown

# Loads above capacity, and drops, by less than this share are rounding and are left alone.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Selection:
    """A selected plan: its id, the share dropped per node and location, its score, and what no plan can exceed."""

    plan: str
    drops: dict[str, dict[str, float]]
    score: float
    optimum: float


def as_rates(inputs: Sequence[str], rates: Mapping[str, float] | Sequence[float]) -> Floats:
    """The rates in the order of `inputs`; every input must have one, finite and not negative."""
    try:
        given = [rates[name] for name in inputs] if isinstance(rates, Mapping) else list(rates)
    except KeyError as missing:
        help = "give every input a rate, 0 if it is silent"
        raise PenstockError(Diagnostic(f"no rate for input {missing}", help=help)) from None
    if len(given) != len(rates):
        raise PenstockError(unknown("input", str(next(n for n in rates if n not in inputs)), inputs))
    if len(given) != len(inputs):
        raise PenstockError(Diagnostic(f"{len(given)} rates for {len(inputs)} inputs: {', '.join(inputs)}"))
    if not all(0 <= rate <= LARGEST for rate in given):
        raise PenstockError(Diagnostic(f"a rate must be a number from 0 to {LARGEST:g}", notes=(f"given: {rates}",)))
    return np.array(given, dtype=float)


def overloaded(model: FlowModel, rates: Floats) -> bool:
    """Whether some node is over capacity when nothing is dropped: whether the point is infeasible (section 5.4.1)."""
    return bool(_over(model.total_loads, model.capacities, rates))


def within_capacity(model: FlowModel, flows: Floats, rates: Floats) -> Floats:
    """`flows`, scaled down together if rounding put a node over its capacity."""
    scale = _fitting(model.loads, model.capacities, model.total_loads, flows, rates)
    return flows if scale == 1.0 else flows * scale


@njit(cache=True)
def _over(loads: Floats, capacities: Floats, rates: Floats) -> bool:
    for n in range(capacities.size):
        load = 0.0
        for i in range(rates.size):
            load += loads[n, i] * rates[i]
        if load > capacities[n]:
            return True
    return False


@njit(cache=True)
def _fitting(loads: Floats, capacities: Floats, total: Floats, flows: Floats, rates: Floats) -> float:
    """The factor at which no node is over its capacity by more than rounding."""
    scale = 1.0
    for n in range(capacities.size):
        load, unshed = 0.0, 0.0
        for d in range(flows.size):
            load += loads[n, d] * flows[d]
        for i in range(rates.size):
            unshed += total[n, i] * rates[i]
        if load > capacities[n] * (1.0 + ROUNDING) + ROUNDING * unshed:
            scale = min(scale, capacities[n] / load)
    return scale


def as_drops(nodes: Sequence[str], places: Sequence[tuple[str, str]], keeps: Floats) -> dict[str, dict[str, float]]:
    """Per node, the share dropped at each of its locations where anything is, rounded up: a share next to 1 has few
    digits left for what is kept.
    """
    drops: dict[str, dict[str, float]] = {node: {} for node in nodes}
    for (node, name), kept in zip(places, keeps.tolist(), strict=True):
        if kept < 1.0 - ROUNDING:
            share = 1.0 - kept
            drops[node][name] = share if 1.0 - share <= kept else math.nextafter(share, 1.0)
    return drops
