"""What lies below a place at which windows may be dropped: the aggregates, what they need of the place's tuples, and
whether a window drop there can keep its promises (Tatbul 4.5, 4.8).

A window of an aggregate, [s, s + size) in its own stamps, is made of tuples that passed the place in [s + `lo`, s +
`hi`): an aggregate on the way stamps its windows with their ends, so each moves the tuples back by its size, and a join
window holds a tuple for its length after its timestamp. The papers' sizes follow from it: `hi` - `lo` of a pipeline is
the sum of the sizes less the number of aggregates but one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.plan.drops import Location, WindowDrop
from penstock.plan.equalities import equal_to
from penstock.plan.expressions import Column
from penstock.plan.functions import can_raise
from penstock.plan.network import Network
from penstock.plan.node import Kind, Node, walk
from penstock.plan.nodes import Delay, Filter, IStream, Join, Map, Source, Union, Window, WindowAggregate
from penstock.plan.stores import WHY, in_one_store
from penstock.plan.windows import Range, SlideRange, SlideRows

MOST_WAYS: Final = 64
"""Ways from a place to results; where there are more, windows are not dropped there."""
MOST_QUERIES: Final = 60
"""Queries below a place: a bit for each."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way from the place to a query's result: the operators in order, and the input that each is entered by."""

    query: str
    steps: tuple[tuple[Node, int], ...]

    @property
    def aggregates(self) -> tuple[WindowAggregate, ...]:
        """The aggregates on the way."""
        return tuple(n for n, _ in self.steps if isinstance(n, WindowAggregate))

    @property
    def before(self) -> tuple[Node, ...]:
        """What a tuple passes before the first aggregate."""
        return tuple(n for n, _ in self._until_aggregate())

    def _until_aggregate(self) -> Iterator[tuple[Node, int]]:
        for step in self.steps:
            if isinstance(step[0], WindowAggregate):
                return
            yield step

    @property
    def swallows(self) -> bool:
        """True where a tuple that the first aggregate has taken in may still leave no result: a filter, a join or a
        function that may fail is on the way, behind an aggregate or in a relation."""
        first = len(self.before)
        return any(_may_stop(n) for n, _ in self.steps[first:]) or any(n.kind is Kind.RELATION for n in self.before)

    def shift(self, to: WindowAggregate) -> tuple[int, int]:
        """How far losses have moved where they come to `to`: (tau, U) at the place is (tau + a, U + b) there."""
        a = b = 0
        for node, _ in self.steps:
            if node == to:
                return a, b
            if isinstance(node, WindowAggregate):
                a, b = a + 1, b + size_of(node)
            elif isinstance(node, Window) and isinstance(node.spec, Range):
                b += int(node.spec.size or 0) + 1
        raise AssertionError(f"{to.label} is not on the way")


@dataclass(frozen=True, slots=True)
class Needs:
    """What the results of one query need of the place: windows at `origin` + k `slide` in its stamps, made of tuples of
    [label, label + size)."""

    query: str
    top: WindowAggregate
    keys: tuple[str, ...]
    origin: int
    slide: int
    size: int
    ways: tuple[Way, ...]

    @property
    def swallows(self) -> bool:
        """True where only a delivered result tells that one was delivered."""
        return any(w.swallows for w in self.ways)


@dataclass(frozen=True, slots=True)
class Below:
    """An aggregate below the place: `names` are its columns that carry the place's keys, and (tau, U) at the place are
    (tau + a, U + b) before it, for each (a, b) of `shifts`."""

    aggregate: WindowAggregate
    names: tuple[str, ...]
    shifts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """`needs` of every query below a place, and the aggregates there; `keys` are the columns of the place's node by
    which windows are dropped. With `rows`, windows are of so many tuples of a group, and instants are their numbers:
    such windows are dropped right before their aggregates, since nobody counts what a filter or a union does (Tatbul
    4.10.2). `why` says why no windows may be dropped there."""

    needs: tuple[Needs, ...] = ()
    below: tuple[Below, ...] = ()
    keys: tuple[str, ...] = ()
    rows: bool = False
    why: str | None = field(default=None)


def reach(network: Network, location: Location) -> Reach:
    """What windows dropped at `location` reach.

    >>> from penstock.plan.network import Query
    >>> from penstock.plan.schema import Schema
    >>> s = Source("s", Schema.parse("a int"))
    >>> first = WindowAggregate(s, SlideRange(3, 2), (), ())
    >>> second = WindowAggregate(first, SlideRange(3, 3), (), ())
    >>> found = reach(Network(queries=(Query("q", second),)), Location(s))
    >>> found.needs[0].size, found.needs[0].slide, found.below[1].shifts
    (5, 3, ((1, 3),))
    """
    ways = list(_limited(_ways(network, location)))
    if len(ways) > MOST_WAYS:
        return Reach(why="there are too many ways to results")
    whys = [why for way in ways if (why := _why_not(way)) is not None]
    if isinstance(location.consumer, Window) and location.consumer in in_one_store(network.nodes()):
        whys = [f"{location.consumer.label}: {WHY}"]
    if len({_counted(way) for way in ways}) > 1 and not whys:
        whys = ["some windows below are over time and some over rows"]
    past = [a.label for way in ways for a in way.aggregates if _passed_by(a, location)]
    if past and not whys:
        whys = [f"other tuples come to {past[0]} past it"]
    if whys or not ways:
        return Reach(why=whys[0] if whys else "no query reads it")
    by_query: dict[str, list[Way]] = {}
    for way in ways:
        by_query.setdefault(way.query, []).append(way)
    ordered = [q.name for q in network.queries if q.name in by_query]
    needs = [_needs(query, by_query[query], location.node) for query in ordered]
    told = [n for n in needs if isinstance(n, str)]
    found = [n for n in needs if isinstance(n, Needs)]
    if not told and len({frozenset(n.keys) for n in found}) > 1:
        told = ["the queries below group by different columns"]
    if len({_leaves(network, query) for query in by_query}) > 1:
        told = ["the queries below read different streams"]
    if len(found) > MOST_QUERIES:
        told = ["there are too many queries below"]
    if told:
        return Reach(why=told[0])
    keys = tuple(sorted(set(found[0].keys)))
    return Reach(tuple(found), _below(ways, keys), keys, any(_counted(way) for way in ways))


def moved(network: Network, drop: WindowDrop, start: Location, end: Location) -> WindowDrop | None:
    """The drop at `end` that drops the windows which `drop` at `start`, above it, would; None where there is none."""
    above, below = reach(network, start), reach(network, end)
    pairs = [(a, b) for b in below.needs for a in above.needs if a.query == b.query]
    special = drop.rows or drop.rates or drop.batches or drop.classes
    if special or below.why or above.why or len(pairs) < len(below.needs):
        return None
    first, last = pairs[0]
    keys = dict(zip(first.keys, last.keys, strict=True))
    if len(pairs) == 1 and drop.slide == last.slide:
        origin, size = last.origin, last.size
    elif not drop.link and len({b.origin - a.origin for a, b in pairs}) == 1:
        origin, size = drop.origin + last.origin - first.origin, drop.size + max(b.size - a.size for a, b in pairs)
    else:
        return None
    named = tuple(keys[key] for key in drop.keys)
    return replace(drop, origin=origin, size=max(size, drop.slide), keys=named, link="", shut=())


def size_of(aggregate: WindowAggregate) -> int:
    """The size of windows, in microseconds or rows."""
    return aggregate.window.count if isinstance(aggregate.window, SlideRows) else int(aggregate.window.size)


def _leaves(network: Network, query: str) -> frozenset[Node]:
    return frozenset(n for n in walk(network.query(query).root) if not n.inputs)


def _ways(network: Network, location: Location) -> Iterator[Way]:
    takers: dict[Node, list[tuple[Node, int]]] = {}
    for node in network.nodes():
        for i, below in enumerate(node.inputs):
            takers.setdefault(below, []).append((node, i))
    taps: dict[Node, list[str]] = {}
    for query in network.queries:
        taps.setdefault(query.root, []).append(query.name)
    if location.query is not None:
        yield Way(location.query, ())
        return
    start = [(location.consumer, location.input)] if location.consumer is not None else takers.get(location.node, [])
    stack: list[tuple[tuple[Node, int], ...]] = [(step,) for step in start]
    if location.consumer is None:
        yield from (Way(name, ()) for name in taps.get(location.node, ()))
    while stack:
        steps = stack.pop()
        yield from (Way(name, steps) for name in taps.get(steps[-1][0], ()))
        stack.extend((*steps, step) for step in takers.get(steps[-1][0], ()))


def _limited(ways: Iterator[Way]) -> Iterator[Way]:
    for number, way in enumerate(ways):
        yield way
        if number == MOST_WAYS:
            return


def _why_not(way: Way) -> str | None:
    """Why windows cannot be dropped above this way."""
    if not way.aggregates:
        return f"{way.query} has no aggregate over sliding windows below it"
    if _counted(way):
        return _why_not_counted(way)
    top = way.aggregates[-1]
    above = False
    for node, i in way.steps:
        if above and not isinstance(node, Filter | Map | Delay):
            return f"{node.label} stands between the last aggregate and {way.query}"
        why = _stops(node, i)
        if why is not None:
            return why
        above = above or node == top
    return None


def _counted(way: Way) -> bool:
    return any(isinstance(a.window, SlideRows) for a in way.aggregates)


def _why_not_counted(way: Way) -> str | None:
    """The same for windows over rows: one aggregate, with only what leaves every tuple as it is beside it."""
    top = way.aggregates[-1]
    if len(way.aggregates) > 1:
        return f"{top.label} counts the results of another aggregate, or is counted by one"
    if isinstance(top.window, SlideRows) and frozenset(top.window.by) != frozenset(top.keys):
        return f"{top.label} counts rows by other columns than it groups by"
    others = [n for n, _ in way.steps if n != top and (_may_stop(n) or isinstance(n, Union))]
    return f"{others[0].label} stands beside {top.label}, which counts rows" if others else None


def _passed_by(node: Node, location: Location) -> bool:
    """True where a tuple comes to `node` that did not pass the place: not by a join, whose results need both sides."""
    for i, below in enumerate(node.inputs):
        if location == Location(below) or location == Location(below, node, i):
            continue
        if isinstance(below, Source) or (not isinstance(below, Join) and _passed_by(below, location)):
            return True
    return False


def _stops(node: Node, i: int) -> str | None:
    match node:
        case WindowAggregate(window=SlideRange(on=str())):
            return f"{node.label} runs over an attribute that does not order the stream"
        case Window(spec=Range(size=int(), on=None)) | Filter() | Map() | Delay() | Union() | WindowAggregate():
            return None
        case IStream() if isinstance(node.input, Join) or _is_chain(node.input):
            return None
        case Join():
            return None
    return f"windows cannot be dropped before {node.label}"


def _is_chain(node: Node) -> bool:
    """True for a relation of stateless operators over a join."""
    while isinstance(node, Filter | Map | Delay):
        node = node.input
    return isinstance(node, Join)


def _may_stop(node: Node) -> bool:
    if isinstance(node, Map):
        return any(can_raise(e) for _, e in node.outputs)
    return not isinstance(node, Delay | Union | WindowAggregate)


def _needs(query: str, ways: Sequence[Way], node: Node) -> Needs | str:
    tops = {w.aggregates[-1] for w in ways}
    if len(tops) > 1:
        return f"{query} puts the results of several aggregates together"
    top = next(iter(tops))
    traced = {_traced(way, top) for way in ways}
    keys = next(iter(traced))
    if len(traced) > 1 or keys is None:
        return f"the groups of {query} cannot be told from the tuples of {node.label}"
    if not keys and any(a.keys for w in ways for a in w.aggregates):
        return f"{query} has no groups, but an aggregate below it has"
    lows, highs = [], []
    for way in ways:
        a, b = way.shift(top)
        lows.append(-b)
        highs.append(size_of(top) - a)
    low, high = min(lows), max(highs)
    return Needs(query, top, keys, int(top.window.origin) + low, int(top.window.slide), high - low, tuple(ways))


def _traced(way: Way, top: WindowAggregate) -> tuple[str, ...] | None:
    """The columns at the place that the keys of `top` are, in their order."""
    found = [_origin(way, top, name) for name in top.keys]
    return None if None in found else tuple(name for name in found if name is not None)


def _origin(way: Way, at: WindowAggregate, name: str) -> str | None:
    """The column at the place that the column `name` of `at` is."""
    here: str | None = name
    last = next(i for i, (n, _) in enumerate(way.steps) if n == at)
    for node, i in reversed(way.steps[: last + 1]):
        here = None if here is None else _through(node, i, here)
    return here


def _through(node: Node, i: int, name: str) -> str | None:
    """The column of input `i` of `node` that its column `name` is."""
    match node:
        case WindowAggregate():
            return name if name in node.keys else None
        case Map():
            of = dict(node.outputs)[name]
            return of.name if isinstance(of, Column) else None
        case Union():
            return node.members[i].schema.names[node.schema.index(name)]
        case Join():
            return _on_side(node, i, name)
    return name


def _on_side(join: Join, i: int, name: str) -> str | None:
    """The column of member `i` that has what column `name` of the join has: itself, or one of its type that it must
    be equal to."""
    own = sorted(n for n in equal_to(join, name) if n.startswith(f"{i}."))
    alike = [n for n in own if join.schema.type_of(n) == join.schema.type_of(name)]
    chosen = name if name in alike else next(iter(alike), None)
    return None if chosen is None else chosen.removeprefix(f"{i}.")


def _below(ways: Sequence[Way], keys: tuple[str, ...]) -> tuple[Below, ...]:
    found: dict[tuple[WindowAggregate, tuple[str, ...]], set[tuple[int, int]]] = {}
    for way in ways:
        for aggregate in way.aggregates:
            of = {_origin(way, aggregate, name): name for name in aggregate.keys}
            names = tuple(of[key] for key in keys)
            found.setdefault((aggregate, names), set()).add(way.shift(aggregate))
    return tuple(Below(a, names, tuple(sorted(s))) for (a, names), s in found.items())
