"""Load: how much processor time a network needs, and how much of it each tuple of each arc stands for (Tatbul 3.3.1).

| paper | here | unit |
|---|---|---|
| c_i | `Work.cost_s` | processor seconds for an element that comes in, `-` elements included |
| s_i | `Work.selectivity` | elements out for an element in |
| L (3.1, 3.3) | `LoadModel.coefficient` | processor seconds for a tuple that comes to an arc, down to the outputs |
| r | `LoadModel.rate` | elements a second |
| sum of L r (3.2) | `LoadModel.load` | processor seconds a second |
| sum of L_i q_i | `LoadModel.queued_load` | processor seconds that wait in queues |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Final, NamedTuple

from penstock.plan.drops import Location, Placed
from penstock.plan.network import Network
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Delay, Source, Table, Union
from penstock.stats.values import Seen

Arc = tuple[Node, int]
"""A consumer, and the number of the input that the arc leads into."""


class Work(NamedTuple):
    """What an operator does with an element: `queued` elements wait before it."""

    cost_s: float
    selectivity: float
    queued: int = 0


IDLE: Final = Work(0.0, 1.0)
"""What an operator is taken for of which nothing was measured."""


NOMINAL_S: Final = 1e-6
"""What an operator is said to cost where time is not measured: next to nothing beside delay boxes, and the same for all
where there are none."""


def stated(node: Node) -> Work:
    """What is known of an operator before it ran: what its delay box says."""
    return Work(node.cost_s, 1.0) if isinstance(node, Delay) else IDLE


@dataclass(frozen=True, slots=True, eq=False)
class LoadModel:
    """`network` with what its operators do and how fast its streams come, `rates` in tuples a second by stream.

    Everything is without drops: what would be there if nothing was given up. `load_under` says what is left. `drop_s`
    is what a drop itself costs for each tuple that comes to it, `values` what is known of the watched columns.

    >>> from penstock.plan.network import Query
    >>> from penstock.plan.schema import Schema
    >>> s = Source("s", Schema.parse("a int"))
    >>> first = Delay(s, 0.5)
    >>> second = Delay(first, 0.25)
    >>> model = LoadModel(Network(queries=(Query("q", second),)), {first: Work(0.5, 0.4)}, {"s": 10.0})
    >>> model.coefficient(Location(s)), model.load(), model.rate(Location(first))
    (0.6, 6.0, 4.0)
    """

    network: Network
    work: Mapping[Node, Work]
    rates: Mapping[str, float]
    drop_s: float = 0.0
    values: Mapping[tuple[Node, str], Seen] = field(default_factory=dict)
    nodes: tuple[Node, ...] = field(init=False)
    takers: Mapping[Node, tuple[Arc, ...]] = field(init=False)
    _below: Mapping[Node, float] = field(init=False)
    _rate: Mapping[Node, float] = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "nodes", _nodes(self.network))
        put(self, "takers", _takers(self.network))
        put(self, "_below", self._coefficients({}))
        put(self, "_rate", self._rates({}))

    def of(self, node: Node) -> Work:
        """What `node` does with an element: as measured, else as stated."""
        known = self.work.get(node)
        return stated(node) if known is None else known

    def _coefficients(self, kept: Mapping[Location, float]) -> dict[Node, float]:
        """For each node, what is still to be done for an element that comes out of it."""
        below: dict[Node, float] = {}
        for node in reversed(self.nodes):
            ways = ((self._through(c, below), Location(node, c, i)) for c, i in self.takers.get(node, ()))
            done = sum(cost * kept.get(at, 1.0) for cost, at in ways) if kept else sum(cost for cost, _ in ways)
            below[node] = done * kept.get(Location(node), 1.0)
        return below

    def _through(self, node: Node, below: Mapping[Node, float]) -> float:
        cost, selectivity, _ = self.of(node)
        return cost + selectivity * below[node]

    def coefficient(self, location: Location) -> float:
        """Processor seconds for each tuple that comes to `location`, from there to the outputs (equations 3.1, 3.3)."""
        if location.consumer is not None:
            return self._through(location.consumer, self._below)
        return 0.0 if location.query is not None else self._below[location.node]

    def rate(self, location: Location) -> float:
        """Elements a second that come to `location` where nothing is dropped before."""
        return self._rate[location.node]

    def _rates(self, kept: Mapping[Location, float]) -> dict[Node, float]:
        """Elements a second out of each node, `kept` being what drops leave at their locations. What a join yields is
        as many times less as its inputs are together: each result needs a row of every one."""
        out: dict[Node, float] = {}
        for node in self.nodes:
            if isinstance(node, Source | Table):
                made = self.rates.get(node.name, 0.0)
            elif kept and len(node.inputs) > 1 and not isinstance(node, Union):
                made = self._rate[node] * prod(self._left(node, out, kept))
            else:
                made = self.of(node).selectivity * sum(self._into(node, out, kept))
            out[node] = made * kept.get(Location(node), 1.0)
        return out

    def _left(self, node: Node, out: Mapping[Node, float], kept: Mapping[Location, float]) -> list[float]:
        """The share that is left of each input."""
        whole = [self._rate[below] for below in node.inputs]
        return [now / full if full else 1.0 for now, full in zip(self._into(node, out, kept), whole, strict=True)]

    @staticmethod
    def _into(node: Node, out: Mapping[Node, float], kept: Mapping[Location, float]) -> list[float]:
        if not kept:
            return [out[below] for below in node.inputs]
        return [out[below] * kept.get(Location(below, node, i), 1.0) for i, below in enumerate(node.inputs)]

    def delivered(self, kept: Mapping[Location, float]) -> dict[str, float]:
        """For each query the share of its results that is left where drops leave `kept` at their locations."""
        out = self._rates(kept)
        shares = {}
        for query in self.network.queries:
            whole = self._rate[query.root]
            tap = kept.get(Location(query.root, query=query.name), 1.0)
            shares[query.name] = (out[query.root] / whole if whole else 1.0) * tap
        return shares

    def load(self) -> float:
        """Processor seconds a second that the whole network needs at these rates (equation 3.2)."""
        return self._needed(self._rate, {})

    def load_under(self, drops: Iterable[Placed]) -> float:
        """What is needed of `load` under `drops`."""
        kept = _kept(drops)
        return self._needed(self._rates(kept), kept)

    def _needed(self, out: Mapping[Node, float], kept: Mapping[Location, float]) -> float:
        return sum(self.of(n).cost_s * sum(self._into(n, out, kept)) for n in self.nodes if n.inputs)

    def savings(self, drops: Iterable[Placed]) -> dict[str, float]:
        """For each stream the processor seconds that each of its tuples saves under `drops`: the cycle savings
        coefficients of the road map's rows (Tatbul 3.5)."""
        after = self._coefficients(_kept(drops))
        sources = [n for n in self.nodes if isinstance(n, Source)]
        return {n.name: self._below[n] - after[n] for n in sources}

    def queued_load(self) -> float:
        """Processor seconds that wait in the queues; times MELT_RATE it is what is to be shed on top to shrink them
        (Tatbul 3.3.1; SEaMLESS section III)."""
        waiting = ((n, self.of(n).queued) for n in self.nodes)
        return sum(queued * self._through(n, self._below) for n, queued in waiting if queued)


def with_stated_costs(load: LoadModel) -> LoadModel:
    """The same network with the costs that its delay boxes state, and `NOMINAL_S` for every other operator: costs that
    do not differ from run to run. Without sharing, an operator costs once for each query that has it."""
    network = load.network
    copies = Counter(n for q in network.queries for n in walk(q.root)) if not network.sharing else Counter[Node]()
    work = {}
    for node in load.nodes:
        cost_s = node.cost_s if isinstance(node, Delay) else NOMINAL_S
        known = load.of(node)
        work[node] = Work(cost_s * (copies[node] or 1), known.selectivity, known.queued)
    return LoadModel(network, work, load.rates, load.drop_s, load.values)


def _kept(drops: Iterable[Placed]) -> dict[Location, float]:
    """The share that the drops at each location leave."""
    kept: dict[Location, float] = {}
    for location, drop in drops:
        kept[location] = kept.get(location, 1.0) * (1 - drop.rate)
    return kept


@lru_cache(maxsize=16)
def _nodes(network: Network) -> tuple[Node, ...]:
    return network.nodes()


@lru_cache(maxsize=16)
def _takers(network: Network) -> Mapping[Node, tuple[Arc, ...]]:
    return takers(_nodes(network))


def takers(nodes: Iterable[Node]) -> dict[Node, tuple[Arc, ...]]:
    """The arcs behind each node."""
    found: dict[Node, list[Arc]] = {}
    for node in nodes:
        for i, below in enumerate(node.inputs):
            found.setdefault(below, []).append((node, i))
    return {node: tuple(arcs) for node, arcs in found.items()}
