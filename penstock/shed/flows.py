"""From a network and its load to shares (see `penstock.shed.shares`): stretches of operators become one number."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.plan.drops import Location
from penstock.plan.node import Node
from penstock.plan.nodes import Union
from penstock.shed.graph import Graph
from penstock.shed.shares import Floats, Graphs, Layer, Shares
from penstock.stats.load import LoadModel


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """How flows divide into cells: for each node the part of its elements in each cell, for each query the utility of
    each cell's results (None: its loss function counts)."""

    count: int = 1
    parts: Mapping[Node, Floats] = field(default_factory=dict)
    worth: Mapping[str, Floats] = field(default_factory=dict)

    def of(self, node: Node) -> Floats:
        """The part of the elements of `node` in each cell; evenly spread where nothing is known."""
        known = self.parts.get(node)
        return np.full(self.count, 1 / self.count) if known is None else known


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """`shares`, and for each candidate location, in order, the number of its cap and of the share that arrives; at a
    `coarse` one drops cannot tell cells apart, and take from all of them."""

    shares: Shares
    locations: tuple[Location, ...]
    caps: tuple[int, ...]
    below: tuple[int, ...]
    coarse: tuple[bool, ...] = ()


_ONE = -1
"""The share of what nothing is dropped from."""


class _Builder:
    def __init__(self, load: LoadModel, wanted: Sequence[Location], cells: Cells) -> None:
        self.load = load
        self.cells = cells
        self.wanted = frozenset(wanted)
        self.level: dict[int, int] = {_ONE: 0}
        self.capped: dict[int, int] = {}
        self.mixed: dict[int, list[tuple[int, float]]] = {}
        self.joined: dict[int, list[int]] = {}
        self.costs: dict[int, Floats] = {}
        self.rates: dict[int, Floats] = {}
        self.at: dict[Location, int] = {}
        self.behind: dict[Node, int] = {}
        self.taps: list[int] = []

    def new(self, below: Sequence[int]) -> int:
        number = len(self.level) - 1
        self.level[number] = 1 + max(self.level[b] for b in below)
        return number

    def cap(self, location: Location, below: int) -> int:
        """The share behind `location`, where `below` arrives."""
        if location not in self.wanted:
            return below
        number = self.at[location] = self.new([below])
        self.capped[number] = below
        self.rates[number] = self.load.rate(location) * self.cells.of(location.node)
        return number

    def add(self, node: Node) -> None:
        """The shares of a node, its inputs being known."""
        ins = [self.cap(Location(b, node, i), self.behind[b]) for i, b in enumerate(node.inputs)]
        cost_s = self.load.of(node).cost_s
        into = [self.load.rate(Location(b)) for b in node.inputs]
        for share, below, rate in zip(ins, node.inputs, into, strict=True):
            spent = cost_s * rate * self.cells.of(below)
            self.costs[share] = self.costs.get(share, 0.0) + spent
        self.behind[node] = self.cap(Location(node), self._combined(node, ins, into))

    def _combined(self, node: Node, ins: list[int], into: list[float]) -> int:
        if not ins:
            return _ONE
        if len(set(ins)) == 1 and (len(ins) == 1 or isinstance(node, Union) or ins[0] == _ONE):
            return ins[0]
        number = self.new(ins)
        if isinstance(node, Union):
            total = sum(into)
            self.mixed[number] = [(s, r / total if total else 1 / len(ins)) for s, r in zip(ins, into, strict=True)]
        else:
            self.joined[number] = ins
        return number

    def shares(self, graphs: Sequence[Graph], drop_s: float) -> Shares:
        """Everything as arrays; the share 1 gets the last number."""
        last, cells = len(self.level) - 1, self.cells
        queries = self.load.network.queries
        parts = np.array([cells.of(q.root) for q in queries]).reshape(len(queries), cells.count)
        unknown = np.full(cells.count, np.nan)
        worth = np.array([cells.worth.get(q.name, unknown) for q in queries]).reshape(parts.shape)
        load, rate = (np.zeros((last + 1, cells.count)) for _ in range(2))
        for table, listed in ((load, self.costs), (rate, self.rates)):
            for share, values in listed.items():
                table[share] = values
        layers = tuple(self._layer(level, last) for level in range(1, 1 + max(self.level.values())))
        outputs = np.array(self.taps, np.intp) % (last + 1)
        return Shares(layers, load, rate, outputs, Graphs.of(list(graphs)), parts, worth, drop_s)

    def _layer(self, level: int, last: int) -> Layer:
        here = [n for n, at in self.level.items() if at == level]
        caps = sorted((n for n in here if n in self.capped), key=self.capped.__getitem__)
        mixed = [n for n in here if n in self.mixed]
        joined = [n for n in here if n in self.joined]
        weights = np.zeros((len(mixed), last + 1))
        for row, n in enumerate(mixed):
            for share, weight in self.mixed[n]:
                weights[row, share] += weight
        width = max((len(self.joined[n]) for n in joined), default=0)
        factors = [[*self.joined[n], *[last] * (width - len(self.joined[n]))] for n in joined]
        below = np.array([self.capped[n] for n in caps], np.intp)
        starts = np.flatnonzero(np.diff(below, prepend=-2))
        return Layer(
            np.array(caps, np.intp), below % (last + 1), starts,
            np.array(mixed, np.intp), weights,
            np.array(joined, np.intp), np.array(factors, np.intp).reshape(len(joined), width) % (last + 1),
        )  # fmt: skip


def flows(
    load: LoadModel, locations: Sequence[Location], graphs: Sequence[Graph], cells: Cells | None = None,
    drop_s: float = 0.0, coarse: Collection[Location] = (),
) -> Flows:  # fmt: skip
    """The shares of the network of `load` with caps at `locations`; `graphs` are the queries' loss functions. Drops at
    `coarse` locations cannot tell cells apart."""
    builder = _Builder(load, locations, cells or Cells())
    for node in load.nodes:
        builder.add(node)
    for query in load.network.queries:
        builder.taps.append(builder.cap(Location(query.root, query=query.name), builder.behind[query.root]))
    shares = builder.shares(graphs, drop_s)
    last = len(shares.load) - 1
    listed = tuple(at for at in locations if at in builder.at)
    caps = tuple(builder.at[at] for at in listed)
    below = tuple(builder.capped[c] % (last + 1) for c in caps)
    return Flows(shares, listed, caps, below, tuple(at in coarse for at in listed))
