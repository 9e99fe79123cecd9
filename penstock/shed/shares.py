"""How much of every flow is left under drops, what that saves, and what it loses: the arithmetic under the road map.

A *share* is the part of a flow that is left. Single-input operators pass it on; so all of a stretch of them is one
share. A new one begins at a stream, at a candidate location (a cap: what arrives, but no more than the cap), behind a
union (what its inputs have, each weighted with its part of the flow) and behind a join (the product of its inputs').
Flows are split into `cells`, ranges of values, where drops go by value; random drops know one cell.

| paper | here |
|---|---|
| R x L at a location (3.5) | `gains` at its cap |
| negative slope of U(x), over the tight outputs | `losses` at its cap |
| cursors p_i of the outputs | `delivered` |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.shed.graph import Graph

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
TIGHT: Final = 1e-9
"""Shares this near to each other are one."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The shares that depend on those of layers before alone.

    caps, below     caps, and the share that arrives at each, in its order; `starts` is where another one begins
    mixed, weights  unions, and for each the weights of all shares
    joined, factors joins, and for each its inputs (padded with the last share, which is always 1)
    """

    caps: Ints
    below: Ints
    starts: Ints
    mixed: Ints
    weights: Floats
    joined: Ints
    factors: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The network, as far as shedding is concerned.

    layers   in the order in which shares follow from each other; share 0 .. n - 1, and the constant 1 as number n
    load     (n + 1) x cells: processor seconds a second that the flow of each share and cell costs in full
    rate     (n + 1) x cells: tuples a second of each share's flow in full
    outputs  for each query the number of its share
    parts    queries x cells: what part of the query's results in full is in each cell
    worth    queries x cells: the utility of each cell's results, where the query values them (nan: its loss function
             counts)
    drop_s   processor seconds that a drop costs for each tuple that comes to it
    """

    layers: tuple[Layer, ...]
    load: Floats
    rate: Floats
    outputs: Ints
    graphs: Graphs
    parts: Floats
    worth: Floats
    drop_s: float = 0.0

    def forward(self, caps: Floats) -> Floats:
        """Every share under `caps` ((n + 1) x cells; infinite where there is none)."""
        shares = np.ones_like(self.load)
        for layer in self.layers:
            if len(layer.caps):
                shares[layer.caps] = np.minimum(shares[layer.below], caps[layer.caps])
            if len(layer.mixed):
                shares[layer.mixed] = layer.weights @ shares
            if len(layer.joined):
                shares[layer.joined] = shares[layer.factors].prod(axis=1)
        return shares

    def backward(self, shares: Floats, caps: Floats, at_outputs: Floats, at_loads: Floats) -> tuple[Floats, Floats]:
        """What one unit less of each share takes from sums that have these slopes in the outputs and in the shares:
        loss and gain. A cap that holds back what arrives keeps losses and gains from going further up."""
        both = np.empty((len(shares), 2, shares.shape[1]))
        losses, gains = both[:, 0], both[:, 1]
        gains[:] = at_loads
        losses[:] = 0.0
        np.add.at(losses, self.outputs, at_outputs)
        for layer in reversed(self.layers):
            if len(layer.joined):
                self._through_joins(layer, shares, losses, gains)
            if len(layer.mixed):
                losses += layer.weights.T @ losses[layer.mixed]
                gains += layer.weights.T @ gains[layer.mixed]
            if len(layer.caps):
                tight = shares[layer.below] <= caps[layer.caps] + TIGHT
                passed = both[layer.caps] * tight[:, None]
                both[layer.below[layer.starts]] += np.add.reduceat(passed, layer.starts, axis=0)
        return losses, gains

    @staticmethod
    def _through_joins(layer: Layer, shares: Floats, losses: Floats, gains: Floats) -> None:
        for k in range(layer.factors.shape[1]):
            others = shares[np.delete(layer.factors, k, axis=1)].prod(axis=1)
            np.add.at(losses, layer.factors[:, k], others * losses[layer.joined])
            np.add.at(gains, layer.factors[:, k], others * gains[layer.joined])

    def ahead(self, start: int, cell: int, shares: Floats, caps: Floats) -> Floats:
        """How fast each share of `cell` falls where the cap `start` does."""
        falls = np.zeros(len(shares))
        now, top = shares[:, cell], caps[:, cell]
        for layer in self.layers:
            if len(layer.caps):
                passes = now[layer.below] <= top[layer.caps] + TIGHT
                falls[layer.caps] = np.where(passes, falls[layer.below], 0.0)
                if start in layer.caps:
                    falls[start] = 1.0
            if len(layer.mixed):
                falls[layer.mixed] = layer.weights @ falls
            for k in range(layer.factors.shape[1]):
                others = now[np.delete(layer.factors, k, axis=1)].prod(axis=1)
                falls[layer.joined] += others * falls[layer.factors[:, k]]
        return falls

    def delivered(self, shares: Floats) -> Floats:
        """The share of its results that each query gets."""
        cursors: Floats = (shares[self.outputs] * self.parts).sum(axis=1)
        return cursors

    def utility(self, shares: Floats, delivered: Floats | None = None) -> Floats:
        """The utility that each query has."""
        by_value = np.isnan(self.worth[:, 0])
        by_share = self.graphs.at(self.delivered(shares) if delivered is None else delivered)
        if by_value.all():
            return by_share
        utilities: Floats = np.where(by_value, by_share, np.nansum(shares[self.outputs] * self.worth, axis=1))
        return utilities

    def slopes(self, delivered: Floats) -> Floats:
        """Queries x cells: utility lost for a unit less of each cell at each output."""
        by_share = self.graphs.slopes(delivered)[:, None] * self.parts
        slopes: Floats = np.where(np.isnan(self.worth), by_share, self.worth)
        return slopes

    def needed(self, shares: Floats, caps: Floats) -> float:
        """Processor seconds a second that are needed, drops included."""
        return float((self.load * shares).sum() + self._drops(shares, caps))

    def _drops(self, shares: Floats, caps: Floats) -> float:
        if not self.drop_s:
            return 0.0
        cost = 0.0
        for layer in self.layers:
            active = (shares[layer.below] > caps[layer.caps] + TIGHT).any(axis=1)
            arriving = (self.rate[layer.caps] * shares[layer.below]).sum(axis=1)
            cost += self.drop_s * float(arriving[active].sum())
        return cost


@dataclass(frozen=True, slots=True, eq=False)
class Graphs:
    """Many graphs at once, padded: queries x points."""

    shares: Floats
    utilities: Floats
    first: Ints

    @classmethod
    def of(cls, graphs: list[Graph]) -> Graphs:
        """These graphs; the first point is repeated to fill the rows up, and
        `first` is where it stands last."""
        most = max((len(g.points) for g in graphs), default=2)
        padded = [((g.points[0],) * (most - len(g.points))) + g.points for g in graphs]
        table = np.array(padded, np.float64).reshape(len(graphs), most, 2)
        return cls(table[:, :, 0], table[:, :, 1], (table[:, :, 0] <= 0).sum(axis=1) - 1)

    def _piece(self, x: Floats) -> Ints:
        """The piece to the left of each x."""
        counted = (self.shares < x[:, None] - TIGHT).sum(axis=1) - 1
        pieces: Ints = np.minimum(np.maximum(counted, self.first), self.shares.shape[1] - 2)
        return pieces

    def slopes(self, x: Floats) -> Floats:
        """The slope of each graph to the left of its x."""
        i, rows = self._piece(x), np.arange(len(x))
        rise = self.utilities[rows, i + 1] - self.utilities[rows, i]
        slopes: Floats = rise / (self.shares[rows, i + 1] - self.shares[rows, i])
        return slopes

    def at(self, x: Floats) -> Floats:
        """The utility of each graph at its x."""
        i, rows = self._piece(x), np.arange(len(x))
        at: Floats = self.utilities[rows, i] + self.slopes(x) * (x - self.shares[rows, i])
        return at

    def next_below(self, x: Floats) -> Floats:
        """The share below each x at which its graph's slope changes."""
        nearest: Floats = self.shares[np.arange(len(x)), self._piece(x)]
        return nearest
