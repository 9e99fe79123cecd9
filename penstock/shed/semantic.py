"""Semantic load shedding: the results that matter least go first (Tatbul 3.7).

The road map is the one of random shedding, over cells: ranges of the values that queries declare a utility for. Each
query that values its results loses what the dropped cells are worth to it, w_i = u_i f_i, normalised (table 3.2), so
that for one query alone the rows of the map run along the loss-tolerance function that 3.7.1 derives; others lose by
their loss function. A step takes from one cell at one location; where rows do not say in which cell they are (the
column is dropped there, or not made yet), it takes from all alike: a random drop.

Behind an equi-join on the valued column, a range that one side has lost is worth nothing on the other side, and goes
there in the next step; in the end both sides get the same predicate (3.7.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.plan.drops import Drop, Location, Placed, RandomDrop, SemanticDrop
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.nodes import Join
from penstock.plan.running import Plan
from penstock.shed.allowed import Allowed
from penstock.shed.flows import Cells, Flows, flows
from penstock.shed.grid import Grid, cells_of, grids
from penstock.shed.group_values import group_valuing
from penstock.shed.locations import candidates
from penstock.shed.mapped import SEEDS, Mapped, Random, Spared, graphs
from penstock.shed.policy import Shedding, together
from penstock.shed.predicates import SMALL, Condition, by_cells
from penstock.shed.qos import QoS
from penstock.shed.ranges import attributes
from penstock.shed.road_map import Row
from penstock.shed.shares import Floats
from penstock.shed.window_shedding import VALUED, WindowShedding
from penstock.stats.load import LoadModel


class Semantic:
    """The view of semantic drops: a cell for each range of what queries value."""

    def __init__(self) -> None:
        self._load: LoadModel
        self._grids: tuple[Grid, ...] = ()
        self._cells = Cells()

    def flows(self, load: LoadModel, declared: Sequence[QoS], protected: dict[str, str]) -> Flows:
        """See `View`."""
        self._load = load
        self._grids = grids(load.network, attributes(load.network, declared))
        self._cells = cells_of(load, self._grids)
        listed = tuple(candidates(load, Allowed.of(load.network, protected)))
        blind = [at for at in listed if not self._grid(at.node).tells(at.node)]
        return flows(load, listed, graphs(declared), self._cells, load.drop_s, blind)

    def profile(self, load: LoadModel) -> Floats:
        """See `View`: where the load is, and what the watched columns hold."""
        held = [seen.whole.parts for seen in load.values.values()]
        return np.concatenate([Random().profile(load), *(h / max(1, len(held)) for h in held)])

    def _grid(self, node: Node) -> Grid:
        return next(g for g in self._grids if node in g.nodes)

    def placed(self, found: Flows, row: Row, seed: int) -> tuple[Placed, ...]:
        """See `View`."""
        sides = self._sides(found)
        caps = row.caps.copy()
        for numbers in sides:
            caps[numbers] = row.caps[numbers].min(axis=0)
        model = {number: found.locations[numbers[0]].node for numbers in sides for number in numbers}
        full = np.full(found.shares.load.shape, np.inf)
        full[list(found.caps)] = caps
        left = found.shares.forward(full)
        mixed = any(c and left[at].min() < left[b].min() - SMALL
                    for c, at, b in zip(found.coarse, found.caps, found.below, strict=True))  # fmt: skip
        drops: list[Placed] = []
        for number, location in enumerate(found.locations):
            arriving, kept = left[found.below[number]], left[found.caps[number]]
            like = model.get(number, location.node)
            drop = self._drop(location.node, like, arriving, kept, found.coarse[number], mixed, seed * SEEDS + number)
            if drop is not None:
                drops.append((location, drop))
        return tuple(drops)

    def _drop(
        self, node: Node, like: Node, arriving: Floats, kept: Floats, coarse: bool, mixed: bool, seed: int
    ) -> Drop | None:
        """The drop behind `node`; where ranges are cut in two, they are where they would be behind `like`."""
        parts = self._cells.of(node)
        came, stayed = float((parts * arriving).sum()), float((parts * kept).sum())
        if came <= 0 or stayed >= came * (1 - SMALL):
            return None
        rate = 1 - stayed / came
        if coarse:
            return RandomDrop(rate, seed)
        share = np.ones(len(kept))
        np.divide(kept, arriving, out=share, where=arriving > SMALL)
        condition = self._condition(node, like, share if mixed else np.where(share > 1 - SMALL, 1.0, kept))
        return SemanticDrop(condition.keep, rate, condition.partly, condition.part, seed)

    def _condition(self, node: Node, like: Node, left: Floats) -> Condition:
        grid = self._grid(node)
        columns = [dict(a.columns)[node] for a in grid.attributes]
        named = [(a, c, node.schema.type_of(c)) for a, c in zip(grid.attributes, columns, strict=True)]
        seen = [self._load.values.get((like, dict(a.columns)[like])) for a in grid.attributes]
        rows = self._cells.of(node)[: grid.size].reshape(grid.shape)
        return by_cells(named, left[: grid.size].reshape(grid.shape), rows, [s.whole if s else None for s in seen])

    def _sides(self, found: Flows) -> list[list[int]]:
        """For each equi-join on what is valued, the places that feed nothing else: they get the same predicate."""
        sides: dict[Join, list[int]] = {}
        for number, location in enumerate(found.locations):
            if not found.coarse[number] and (join := self._only_into(location)) is not None:
                sides.setdefault(join, []).append(number)
        return [numbers for numbers in sides.values() if len(numbers) > 1]

    def _only_into(self, location: Location) -> Join | None:
        """The join that everything behind `location` goes into, where there is one whose rows say in which cell they
        are."""
        node: Node | None = location.consumer or location.node
        if location.query is not None:
            return None
        while node is not None and not isinstance(node, Join):
            node = self._sole_taker(node)
        return node if node is not None and self._grid(node).tells(node) else None

    def _sole_taker(self, node: Node) -> Node | None:
        above = self._load.takers.get(node, ())
        tapped = any(q.root == node for q in self._load.network.queries)
        return above[0][0] if len(above) == 1 and not tapped else None


class ByValue:
    """Keeps its road map and its place in it from call to call; queries that `spared` names lose nothing."""

    name = "by value"

    def __init__(self, seed: int = 0, spared: Spared | None = None) -> None:
        self._map = Mapped(seed, Semantic())
        self._spared = spared

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        return self._map.shed(plan, load, excess, None if self._spared is None else self._spared(plan.network))


class SemanticShedding:
    """Semantic drops and, for queries that value what they group by, windows of whole groups."""

    name = "semantic"

    def __init__(self, seed: int = 0) -> None:
        self._parts = (ByValue(seed, valued_alone), WindowShedding(seed, VALUED, shuts=False))

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        return together(self._parts, plan, load, excess)


def valued_alone(network: Network) -> dict[str, str]:
    """The queries that lose windows of groups, and nothing else."""
    return {name: f"{name} loses whole groups, before its aggregate" for name in group_valuing(network)}
