"""SetSamplingRate: where sampling drops stand, given what each query is to see (Babcock et al., algorithm 1).

A stream and what reads it are a tree whose leaves are queries; P of an inner node is the largest P of the queries below
it. Going down from the stream, a drop stands where P falls: before anything that is shared by queries which all take
less. Theorem 1: of all placements with the same effective rates this one needs the least processor time.

A drop behind a stream itself spares everybody before it fans out; where streams are united, each is brought to the rate
of what is below the union before it. Relations are not sampled: their elements must leave as they came, so the last
place is before the window, and before weights are read; before all windows over a stream, where it has several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.plan.drops import Location, Placed, RandomDrop
from penstock.plan.expressions import Call
from penstock.plan.expressions import walk as expressions
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import Delay, Filter, Map, Read, Source, Union
from penstock.plan.stores import in_one_store
from penstock.shed.locations import branches
from penstock.shed.mapped import SEEDS
from penstock.stats.load import LoadModel

SMALL: Final = 1e-9
_PASSING: Final = (Filter, Map, Delay, Union, Read)


def rates_below(load: LoadModel, rates: Mapping[str, float]) -> dict[Location, float]:
    """P_x of every node, and of every arc behind one: the largest effective rate of the queries that it leads to. A
    query without a rate sees everything."""
    found: dict[Location, float] = {}
    arcs = branches(load)
    for node in reversed(load.nodes):
        for arc in arcs[node]:
            inner = found[Location(arc.consumer)] if arc.consumer is not None else rates.get(str(arc.query), 1.0)
            found[arc] = inner
        found[Location(node)] = max((found[arc] for arc in arcs[node]), default=1.0)
    return found


def samplers(load: LoadModel, rates: Mapping[str, float], seed: int = 0) -> tuple[Placed, ...]:
    """The drops under which each query sees the share of its input that `rates` says.

    >>> from penstock.plan.network import Network, Query
    >>> from penstock.plan.nodes import Delay
    >>> from penstock.plan.schema import Schema
    >>> a = Delay(Source("s", Schema.parse("x int")), 0.1)
    >>> b, c = Delay(a, 0.2), Delay(a, 0.3)
    >>> load = LoadModel(Network(queries=(Query("q1", b), Query("q2", c))), {}, {"s": 1.0})
    >>> [(str(at), round(1 - drop.rate, 3)) for at, drop in samplers(load, {"q1": 0.5, "q2": 0.8})]
    [('stream s', 0.8), ('delay 100000 us a tuple -> delay 200000 us a tuple', 0.625)]
    """
    wanted, arcs = rates_below(load, rates), branches(load)
    stored = in_one_store(load.nodes)
    drops: list[Placed] = []

    def put(location: Location, comes: float) -> None:
        if wanted[location] < comes - SMALL:
            drops.append((location, RandomDrop(1 - wanted[location] / comes, seed * SEEDS + len(drops), True)))

    for node in _sampled(load):
        if isinstance(node, Source):
            put(Location(node), 1.0)
        if len(arcs[node]) > 1:
            for arc in arcs[node]:
                if arc.consumer not in stored:
                    put(arc, wanted[Location(node)])
    return tuple(drops)


def _sampled(load: LoadModel) -> Iterator[Node]:
    """The streams of which a sample is one of what is aggregated."""
    seen: set[Node] = set()
    for node in load.nodes:
        below = [n for n in node.inputs if n.kind is Kind.STREAM]
        passes = isinstance(node, _PASSING) and node.kind is Kind.STREAM and all(n in seen for n in below)
        passes = passes and not _weighs(node)
        if isinstance(node, Source) or passes:
            seen.add(node)
            yield node


def _weighs(node: Node) -> bool:
    """True where weights become values: a drop behind it would come too late."""
    read = (e for _, o in node.outputs for e in expressions(o)) if isinstance(node, Map) else ()
    return any(isinstance(e, Call) and e.function == "weight" for e in read)
