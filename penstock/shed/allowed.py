"""Which drop may stand where, so that what is delivered is a subset of the exact answer: one table.

Tatbul's table 3.1 says across which operators a drop may be pushed towards the inputs; here it is said for every
operator and input, and why not. What may not stand before an operator stands behind it.

| before | random and semantic drop | because |
|---|---|---|
| filter, pipelined filters, map, union, delay, join, read | yes | they make of fewer tuples fewer |
| `[Range]`, `[Range Slide]`, unbounded window | yes | a tuple comes and goes by its own timestamp |
| one of several windows over a stream | before all, or behind it | their rows lie in one store |
| a window over an attribute | behind it | the largest value seen says where the window stands |
| `[Rows N]`, partitioned or not | behind it | there the window has counted what is dropped: its placeholder |
| aggregate | behind it | from fewer tuples it makes another result; before a sliding one, window drops |
| DISTINCT | behind it | a second copy would stand for the first, later |
| INTERSECT, right side of IN | before relations | under Istream a second match would stand for the first, later |
| right side of EXCEPT, of NOT IN | behind it | fewer rows there are more in the answer |
| Istream | yes | what enters the relation enters it then; below a window of its own, only where nothing cancels |
| Dstream | behind it | a row that was never there cannot leave |
| Rstream | behind it | it shows the relation at instants that drops could add |
| BSort, right side of Resample | behind it | other tuples' places and values depend on it |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from penstock.plan.drops import Location
from penstock.plan.network import Network, Query
from penstock.plan.node import Kind, Node, walk
from penstock.plan.nodes import (
    Aggregate,
    BSort,
    Delay,
    Distinct,
    DStream,
    Except,
    Filter,
    FilterPipeline,
    Intersect,
    IStream,
    Join,
    Map,
    Resample,
    RStream,
    SemiJoin,
    Source,
    Table,
    Union,
    Window,
    WindowAggregate,
)
from penstock.plan.stores import WHY, in_one_store
from penstock.plan.windows import Range, Rows, SlideRows
from penstock.stats.load import takers

LATE_ENTRY: Final = "a second match would enter in place of the first, later"
"""A rule that holds under Istream alone: the relation is a subset at every instant, what enters it is not."""

Rule = Callable[[Node, int], str | None]


def _window(node: Node, _: int) -> str | None:
    assert isinstance(node, Window)
    if isinstance(node.spec, Rows | SlideRows) and node.spec.count is not None:
        return "a window of rows counts every row; behind it, dropped rows still have their place"
    if not isinstance(node.spec, Rows | SlideRows) and node.spec.on is not None and node.spec != Range(None):
        return "the window stands at the largest value seen, which may be dropped"
    return None


def _intersect(node: Node, _: int) -> str | None:
    assert isinstance(node, Intersect)
    return LATE_ENTRY if node.all else "of equal rows a later one would stand for the first"


def _except(node: Node, i: int) -> str | None:
    assert isinstance(node, Except)
    if i == 1:
        return "fewer rows on the right side of EXCEPT are more rows in the answer"
    return None if node.all else "of equal rows a later one would stand for the first"


def _semijoin(node: Node, i: int) -> str | None:
    assert isinstance(node, SemiJoin)
    if i == 0:
        return None
    return "fewer rows on the right side of NOT IN are more rows in the answer" if node.negated else LATE_ENTRY


def _pipeline(node: Node, i: int) -> str | None:
    return LATE_ENTRY if i else None


def _never(why: str) -> Rule:
    return lambda node, i: why


def _always(node: Node, i: int) -> str | None:
    return None


RULES: Final[dict[type[Node], Rule]] = {
    Filter: _always,
    Map: _always,
    Delay: _always,
    Union: _always,
    Join: _always,
    IStream: _always,
    Window: _window,
    Intersect: _intersect,
    Except: _except,
    SemiJoin: _semijoin,
    FilterPipeline: _pipeline,
    Resample: lambda node, i: "its values are interpolated from their neighbours" if i else None,
    Distinct: _never("of equal rows a later one would stand for the first"),
    Aggregate: _never("an aggregate makes another result from fewer tuples"),
    WindowAggregate: _never("an aggregate makes another result from fewer tuples; window drops do not"),
    DStream: _never("what was dropped would be missing before it leaves"),
    RStream: _never("it would show the relation at instants that the exact answer does not have"),
    BSort: _never("each tuple pushes others out"),
}
"""For every operator but Read, which takes drops on both sides: why a drop may not stand before its input, or None."""


def rule(node: Node, i: int) -> str | None:
    """Why no random or semantic drop may stand before input `i` of `node`; None where it may."""
    return RULES.get(type(node), _always)(node, i)


@dataclass(frozen=True, slots=True, eq=False)
class Allowed:
    """The rules over a whole network: a drop affects every query below it, and must be allowed on every path there.

    `protected` are queries that no drop may touch, each with the reason.
    """

    network: Network
    protected: dict[str, str]
    _out: dict[Node, str | None]
    _entering: frozenset[Node]
    _stored: frozenset[Node]

    @classmethod
    def of(cls, network: Network, protected: dict[str, str] | None = None) -> Allowed:
        """The rules for `network`."""
        taps: dict[Node, list[str]] = {}
        for query in network.queries:
            taps.setdefault(query.root, []).append(query.name)
        nodes = network.nodes()
        arcs = takers(nodes)
        allowed = cls(network, protected or {}, {}, _entering(nodes), in_one_store(nodes))
        for node in reversed(nodes):
            ways = [allowed._arc(consumer, i) for consumer, i in arcs.get(node, ())]
            ways += [allowed.protected.get(name) for name in taps.get(node, ())]
            allowed._out[node] = next((why for why in ways if why is not None), None)
        return allowed

    def _arc(self, consumer: Node, i: int) -> str | None:
        why = rule(consumer, i)
        if why == LATE_ENTRY and consumer not in self._entering:
            why = None
        if why is None and isinstance(consumer, IStream) and consumer not in self._entering and _cancels(consumer):
            why = "what cancels within an instant would show in the windows above Istream"
        return (why if why is None else f"{consumer.label}: {why}") or self._out[consumer]

    def why_not(self, location: Location) -> str | None:
        """Why no drop may stand at `location`; None where one may."""
        if location.query is not None:
            return self.protected.get(location.query)
        if location.consumer is None:
            return self._out[location.node]
        if location.consumer in self._stored:
            return f"{location.consumer.label}: {WHY}"
        return self._arc(location.consumer, location.input)


def _entering(nodes: Iterable[Node]) -> frozenset[Node]:
    """The relations whose changes an Istream shows, and the Istreams that only stateless operators follow."""
    listed = list(nodes)
    arcs = takers(listed)
    found: set[Node] = set()
    for node in reversed(listed):
        above = [consumer for consumer, _ in arcs.get(node, ())]
        if node.kind is Kind.RELATION:
            shown = any(isinstance(c, IStream) or (c.kind is Kind.RELATION and c in found) for c in above)
        else:
            shown = all(isinstance(c, Filter | Map | Delay | Union) and c in found for c in above)
        if shown:
            found.add(node)
    return frozenset(found)


def _cancels(node: Node) -> bool:
    """True where the relation under an Istream may lose a row at the instant at which it gains an equal one."""
    below = [n for n in walk(node) if n.kind is Kind.RELATION]
    grows = (Filter, Map, Delay, Union, Join, Window, Table)
    return not all(isinstance(n, grows) and (not isinstance(n, Window) or n.spec == Range(None)) for n in below)


@dataclass(frozen=True, slots=True)
class Place:
    """The earliest place on one path of a query at which tuples may be dropped. `forgone` is the work above it that a
    drop there does not save, and `why` it may not stand earlier."""

    location: Location
    forgone: tuple[Node, ...] = ()
    why: str | None = None


def places(query: Query) -> tuple[Place, ...]:
    """Where `query`, were it alone, can be shed, a place for each path from a stream.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> s = Source("s", Schema.parse("a int"))
    >>> early, late = Query("q", Window(s, Range(5))), Query("r", Distinct(Window(s, Range(5))))
    >>> [str(p.location) for p in (*places(early), *places(late))]
    ['stream s', 'Distinct -> r']
    """
    network = Network(queries=(query,))
    allowed = Allowed.of(network)
    found: dict[Location, Place] = {}
    for node in network.nodes():
        if isinstance(node, Source):
            for place in _below(query, node, allowed, takers(network.nodes()), ()):
                found.setdefault(place.location, place)
    return tuple(found.values())


def _below(
    query: Query, node: Node, allowed: Allowed, arcs: dict[Node, tuple[tuple[Node, int], ...]], done: tuple[Node, ...]
) -> list[Place]:
    why = allowed.why_not(Location(node))
    if why is None:
        at = Location(node, query=query.name) if node == query.root and done else Location(node)
        return [Place(at, done, _reason(allowed, done, arcs))]
    found: list[Place] = []
    for consumer, i in arcs.get(node, ()):
        arc = Location(node, consumer, i)
        if len(arcs[node]) > 1 and allowed.why_not(arc) is None:
            found.append(Place(arc, done, why))
        else:
            found += _below(query, consumer, allowed, arcs, (*done, consumer))
    return found


def _reason(allowed: Allowed, done: tuple[Node, ...], arcs: dict[Node, tuple[tuple[Node, int], ...]]) -> str | None:
    """Why the drop stands behind the last of `done`."""
    if not done:
        return None
    last = done[-1]
    return next((why for i in range(len(last.inputs)) if (why := rule(last, i)) is not None), None)
