"""A road map that is kept from call to call, built anew only when statistics have moved (Tatbul 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from penstock.plan.drops import Location, Placed, RandomDrop
from penstock.plan.network import Network
from penstock.plan.running import Plan
from penstock.shed.allowed import Allowed
from penstock.shed.flows import Flows, flows
from penstock.shed.graph import Graph
from penstock.shed.locations import candidates
from penstock.shed.policy import Shedding
from penstock.shed.qos import QoS, qos
from penstock.shed.road_map import RoadMap, Row, build
from penstock.shed.shares import TIGHT, Floats
from penstock.stats.load import LoadModel

MOVED: Final = 0.1
"""The map is built anew where more than this part of the load is elsewhere in the network than it was."""
SEEDS: Final = 7919
"""A prime: the seeds of one policy's drops are apart from those of a policy with another seed."""


Spared = Callable[[Network], dict[str, str]]
"""Says which queries of a network lose nothing, each with the reason."""


class View(Protocol):
    """How a kind of load shedding sees a network: what can be dropped apart, and the drops that do it."""

    def flows(self, load: LoadModel, declared: Sequence[QoS], protected: dict[str, str]) -> Flows:
        """The shares of the network, with a cap at every candidate location."""

    def profile(self, load: LoadModel) -> Floats:
        """What the map depends on, as parts of a whole."""

    def placed(self, found: Flows, row: Row, seed: int) -> tuple[Placed, ...]:
        """The drops that leave a row's shares."""


@dataclass(slots=True)
class Mapped:
    """The road map over whatever network and load it is shown. Queries in `spared`, each with the reason, lose
    nothing."""

    seed: int = 0
    view: View = field(default_factory=lambda: Random())
    built: int = 0
    _network: Network | None = None
    _spared: dict[str, str] = field(default_factory=dict)
    _profile: Floats | None = None
    _map: RoadMap | None = None
    _cursor: int = 0

    def shed(self, plan: Plan, load: LoadModel, excess: float, spared: dict[str, str] | None = None) -> Shedding:
        """The plan of the road map that saves `excess`."""
        total = load.load()
        if excess <= 0 or total <= 0:
            return Shedding()
        road = self.road_map(plan, load, spared)
        wanted = excess / total * road.load
        self._cursor, row = road.row(wanted, self._cursor)
        saved = row.saved * total / road.load
        drops = self.view.placed(road.flows, row, self.seed)
        return Shedding(drops, (), saved, max(0.0, excess - saved) if saved < excess * (1 - 1e-6) else 0.0, row.lost)

    def road_map(self, plan: Plan, load: LoadModel, spared: dict[str, str] | None = None) -> RoadMap:
        """The map, as it is or built anew."""
        profile = self.view.profile(load)
        same = self._network is plan.network and self._spared == (spared or {})
        if self._map is None or not same or self._moved(profile):
            declared = [qos(q) for q in plan.network.queries]
            untouched = protected(plan.network, declared) | (spared or {})
            self._map = build(self.view.flows(load, declared, untouched))
            self._network, self._spared, self._profile = plan.network, spared or {}, profile
            self._cursor = 0
            self.built += 1
        return self._map

    def _moved(self, profile: Floats) -> bool:
        before = self._profile
        return before is None or len(before) != len(profile) or float(np.abs(before - profile).sum()) > 2 * MOVED


class Random:
    """The view of random drops: one cell."""

    def flows(self, load: LoadModel, declared: Sequence[QoS], protected: dict[str, str]) -> Flows:
        """See `View`."""
        return flows_of(load, declared, protected)

    def profile(self, load: LoadModel) -> Floats:
        """See `View`: where in the network the load is."""
        spent = np.array([load.of(n).cost_s * sum(load.rate(Location(b)) for b in n.inputs) for n in load.nodes])
        total = spent.sum()
        return spent / total if total else spent

    def placed(self, found: Flows, row: Row, seed: int) -> tuple[Placed, ...]:
        """See `View`."""
        return placed(found, row.caps, seed)


def flows_of(load: LoadModel, declared: Sequence[QoS], spared: dict[str, str] | None = None) -> Flows:
    """The shares of a network whose queries declared this, with caps at all candidate locations for random drops."""
    allowed = Allowed.of(load.network, protected(load.network, declared) if spared is None else spared)
    listed = tuple(candidates(load, allowed))
    return flows(load, listed, graphs(declared), drop_s=load.drop_s)


def graphs(declared: Sequence[QoS]) -> list[Graph]:
    """The queries' loss functions."""
    return [each.loss for each in declared]


def protected(network: Network, declared: Sequence[QoS]) -> dict[str, str]:
    """Queries whose promises a random or semantic drop cannot keep."""
    found: dict[str, str] = {}
    for query, each in zip(network.queries, declared, strict=True):
        if each.max_gap is not None:
            found[query.name] = f"{query.name} bounds its gaps, and such a drop does not"
        elif each.answer == "estimate":
            found[query.name] = f"{query.name} wants estimates, which sampling gives"
    return found


def placed(found: Flows, caps: Floats, seed: int) -> tuple[Placed, ...]:
    """The drops that leave these shares at the candidate locations: a cap below what arrives is a drop, so a drop that
    one before it has made needless is none, and one behind another takes only what is left to take (Tatbul 3.5).

    Draws at different places must not agree, or the second would find the first's tuples gone already.
    """
    full = np.full(found.shares.load.shape, np.inf)
    full[list(found.caps)] = caps
    left = found.shares.forward(full)
    drops: list[Placed] = []
    for number, (location, at, below) in enumerate(zip(found.locations, found.caps, found.below, strict=True)):
        arriving, kept = float(left[below].mean()), float(left[at].mean())
        if kept < arriving - TIGHT:
            drops.append((location, RandomDrop(1 - kept / arriving, seed * SEEDS + number)))
    return tuple(drops)
