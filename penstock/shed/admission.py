"""Simple admission control (Tatbul 3.8.2): tuples are dropped where they come in, whatever the queries make of them.

    input-random        one stream after another, in random order, until the excess is gone
    input-top-cost      one stream after another, the one with the highest load first
    input-uniform       the same load from every stream; what one cannot give the others do
    input-uniform-cost  from every stream in proportion to its load

They are there to compare with. Streams at whose input no drop may stand are let in whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from penstock.plan.drops import Location
from penstock.plan.nodes import Source
from penstock.plan.running import Plan
from penstock.shed.allowed import Allowed
from penstock.shed.flows import Flows, flows
from penstock.shed.mapped import graphs, placed, protected
from penstock.shed.policy import Shedding
from penstock.shed.qos import qos
from penstock.shed.road_map import measured
from penstock.shed.shares import Floats
from penstock.stats.load import LoadModel

Split = Callable[[Floats, float, np.random.Generator], Floats]
"""From the loads of the streams and the excess to how much load each gives up."""
_HALVINGS: Final = 40


def _in_turn(order: Sequence[int], loads: Floats, excess: float) -> Floats:
    given = np.zeros(len(loads))
    for i in order:
        given[i] = min(loads[i], excess)
        excess -= given[i]
    return given


def in_random_order(loads: Floats, excess: float, random: np.random.Generator) -> Floats:
    """Input-Random."""
    return _in_turn(random.permutation(len(loads)).tolist(), loads, excess)


def most_costly_first(loads: Floats, excess: float, random: np.random.Generator) -> Floats:
    """Input-Top-Cost.

    >>> most_costly_first(np.array([1.0, 3.0, 2.0]), 4.0, np.random.default_rng(0)).tolist()
    [0.0, 3.0, 1.0]
    """
    return _in_turn(np.argsort(-loads, kind="stable").tolist(), loads, excess)


def evenly(loads: Floats, excess: float, random: np.random.Generator) -> Floats:
    """Input-Uniform.

    >>> evenly(np.array([1.0, 3.0, 5.0]), 6.0, np.random.default_rng(0)).tolist()
    [1.0, 2.5, 2.5]
    """
    given = np.zeros(len(loads))
    for rank, i in enumerate(np.argsort(loads, kind="stable")):
        given[i] = min(loads[i], (excess - given.sum()) / (len(loads) - rank))
    return given


def by_cost(loads: Floats, excess: float, random: np.random.Generator) -> Floats:
    """Input-Uniform-Cost.

    >>> by_cost(np.array([1.0, 3.0]), 2.0, np.random.default_rng(0)).tolist()
    [0.5, 1.5]
    """
    shares: Floats = loads * min(1.0, excess / loads.sum())
    return shares


class AdmissionControl:
    """Splits the excess among the streams as `split` says."""

    def __init__(self, name: str, split: Split, seed: int) -> None:
        self.name = name
        self._split = split
        self._seed = seed

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        declared = [qos(q) for q in plan.network.queries]
        allowed = Allowed.of(load.network, protected(load.network, declared))
        sources = (Location(n) for n in load.nodes if isinstance(n, Source))
        inputs = [at for at in sources if allowed.why_not(at) is None and load.rate(at) * load.coefficient(at) > 0]
        if excess <= 0 or not inputs:
            return Shedding(shortfall=max(excess, 0.0))
        found = flows(load, inputs, graphs(declared), drop_s=load.drop_s)
        loads = np.array([load.rate(at) * load.coefficient(at) for at in inputs])
        total = load.load()
        caps = self._caps(found, loads, min(excess, total), total)
        row = measured(found, caps, total)
        short = max(0.0, excess - row.saved)
        return Shedding(
            placed(found, caps, self._seed), (), row.saved, short if short > 1e-6 * excess else 0.0, row.lost
        )

    def _caps(self, found: Flows, loads: Floats, excess: float, total: float) -> Floats:
        """What is asked of the streams is searched for: where streams are joined, their loads are not apart."""
        low, high = 0.0, float(loads.sum())
        for _ in range(_HALVINGS):
            asked = (low + high) / 2
            enough = measured(found, self._asked(loads, asked), total).saved >= excess
            low, high = (low, asked) if enough else (asked, high)
        return self._asked(loads, high)

    def _asked(self, loads: Floats, asked: float) -> Floats:
        given = self._split(loads, asked, np.random.default_rng(self._seed))
        caps: Floats = np.maximum(1 - given / loads, 0.0)[:, None]
        return caps


CONTROLS: Final[tuple[tuple[str, Split], ...]] = (
    ("input-random", in_random_order),
    ("input-top-cost", most_costly_first),
    ("input-uniform", evenly),
    ("input-uniform-cost", by_cost),
)


def control(name: str, split: Split) -> tuple[str, Callable[[int], AdmissionControl]]:
    """The entry of the package's list of policies."""
    return name, lambda seed: AdmissionControl(name, split, seed)
