"""Cutting a network into fragments that can each be spread over lanes by a key: a pure analysis of the plan.

A fragment is a part of the network whose operators agree on a routing of its leaves (see `penstock.lane.carriers`).
Where they do not, the network is cut: the result below is routed anew, into the next fragment, whose leaf it is. What
no routing can spread runs on one lane. Queries whose leaves are routed alike share a fragment, and with it windows and
stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.lane.carriers import Carrier, Carriers, Demand, carriers, demand, leaf_carriers, needs_order
from penstock.plan.drops import Location, Placed, WindowDrop
from penstock.plan.expressions import Column, Expression, format_expression
from penstock.plan.filters import Order, Profiling
from penstock.plan.network import Network, Query
from penstock.plan.node import Kind, Node, walk
from penstock.plan.nodes import Source, Table
from penstock.plan.running import Plan
from penstock.plan.watched import Watched
from penstock.plan.window_reach import moved

Route = tuple[Expression, ...]
_EXCHANGE: Final = "exchange "


def is_exchange(name: str) -> bool:
    """True for the name of a result that goes to another fragment."""
    return name.startswith(_EXCHANGE)


@dataclass(frozen=True, slots=True)
class Inlet:
    """A leaf of a fragment, and the values by which its rows are routed; none: all to one lane."""

    leaf: Source | Table
    route: Route


@dataclass(frozen=True, slots=True)
class Outlet:
    """A result that leaves a fragment under `name`: a query's, or one that another fragment has as a leaf."""

    name: str
    root: Node


@dataclass(frozen=True, slots=True)
class Fragment:
    """Operators that run on every lane, each over its share of the leaves' rows, or all on one lane."""

    inlets: tuple[Inlet, ...]
    outlets: tuple[Outlet, ...]

    @property
    def spread(self) -> bool:
        """True where all lanes work on it."""
        return all(inlet.route for inlet in self.inlets)


@dataclass(frozen=True, slots=True)
class Partition:
    """The fragments of a network, those that others read first; `inner` has for each node of the network the one that
    stands for it in its fragment, where results of other fragments are leaves, and `leaves` those leaves."""

    fragments: tuple[Fragment, ...]
    inner: Mapping[Node, Node] = field(default_factory=dict)
    leaves: Mapping[Node, Node] = field(default_factory=dict)

    def plans(self, plan: Plan) -> list[Plan]:
        """For each fragment its part of `plan`, a plan over the whole network."""
        placed = [(_inside(at, self.inner), drop) for at, drop in plan.drops]
        placed += dict.fromkeys(p for each in plan.drops for p in self._further(plan.network, each))
        orders = [(self.inner.get(f, f), order) for f, order in plan.orders]
        watched = [replace(w, node=self.inner.get(w.node, w.node)) for w in plan.watched]
        profiled = [(self.inner.get(f, f), profiling) for f, profiling in plan.profiled]
        return [_part_of(plan, f, placed, orders, watched, profiled) for f in self.fragments]

    def _further(self, network: Network, placed: Placed) -> Iterator[Placed]:
        """Drops stand as early as they can in the fragments. Window drops stand where the aggregates below are: also
        before the fragments that read further down. Drops of one link meet there, and are one."""
        location, drop = placed
        if isinstance(drop, WindowDrop) and location.query is None:
            for node, leaf in self.leaves.items():
                for behind in _streams(network, node) if _above(location, node) else ():
                    there = moved(network, drop, location, Location(behind))
                    if there is not None:
                        yield Location(leaf if behind == node else self.inner[behind]), there

    def __str__(self) -> str:
        """What a person reads in `explain`."""
        return "\n".join(_line(i, f) for i, f in enumerate(self.fragments))


def _line(number: int, fragment: Fragment) -> str:
    routes = [f"{i.leaf.name} by {', '.join(map(format_expression, i.route))}" for i in fragment.inlets if i.route]
    where = f"spread: {'; '.join(routes)}" if fragment.spread else "one lane"
    return f"fragment {number} ({where}): {', '.join(o.name for o in fragment.outlets)}"


@dataclass(frozen=True, slots=True)
class _Part:
    """What is known of the sub-plan `node`, with the leaves of its fragment put in: `allowed` are the routings that all
    its operators take, `seen` what its columns carry."""

    node: Node
    leaves: frozenset[Source | Table]
    allowed: Demand
    seen: Carriers


def partition(network: Network, prefix: str = _EXCHANGE) -> Partition:
    """The fragments of `network`; results that are routed anew are named by `prefix` and a number.

    >>> from penstock.plan.network import Query
    >>> from penstock.plan.nodes import Distinct, Window
    >>> from penstock.plan.schema import Schema
    >>> from penstock.plan.windows import Range, Rows
    >>> s = Source("s", Schema.parse("a int"))
    >>> q, r = Query("q", Distinct(Window(s, Range(5)))), Query("r", Window(s, Rows(3)))
    >>> print(partition(Network(queries=(q, r))))
    fragment 0 (spread: s by a): q
    fragment 1 (one lane): r
    """
    cutter = _Cutter(prefix)
    tops = [(q.name, cutter.part(q.root)) for q in network.queries]
    groups: list[tuple[list[Outlet], _Part]] = []
    for name, part in [*_needed(cutter.cuts, [part for _, part in tops]), *tops]:
        _join_group(groups, Outlet(name, part.node), part)
    inner = {node: part.node for node, part in cutter.parts.items()}
    fragments = _in_order([_fragment(outlets, part) for outlets, part in groups])
    return Partition(fragments, inner, cutter.leaves())


def _above(location: Location, node: Node) -> bool:
    """True where what passes `location` makes `node`."""
    return (location.consumer or location.node) in walk(node)


def _streams(network: Network, node: Node) -> Iterator[Node]:
    """`node`, or what makes streams of it where it is a relation."""
    if node.kind is Kind.STREAM:
        yield node
        return
    made = (n for n in network.nodes() if n.kind is Kind.STREAM and n.inputs and n.inputs[0].kind is Kind.RELATION)
    yield from (n for n in made if node in walk(n))


def _inside(location: Location, inner: Mapping[Node, Node]) -> Location:
    """Where `location` is in its fragment."""
    if location.consumer is None:
        return replace(location, node=inner.get(location.node, location.node))
    consumer = inner.get(location.consumer, location.consumer)
    return replace(location, node=consumer.inputs[location.input], consumer=consumer)


def _part_of(
    plan: Plan, fragment: Fragment, placed: Iterable[Placed], orders: Iterable[tuple[Node, Order]],
    watched: Iterable[Watched], profiled: Iterable[tuple[Node, Profiling]],
) -> Plan:  # fmt: skip
    network = Network(queries=tuple(Query(o.name, o.root) for o in fragment.outlets))
    nodes = frozenset(network.nodes())
    names = frozenset(o.name for o in fragment.outlets)
    drops = [p for p in placed if (p[0].consumer or p[0].node) in nodes and p[0].query in (None, *names)]
    kept = tuple((f, order) for f, order in orders if f in nodes)
    shut = tuple(q for q in plan.shut_down if q in names)
    seen = tuple(w for w in watched if w.node in nodes)
    measured = tuple((f, p) for f, p in profiled if f in nodes)
    return Plan(network, plan.number, tuple(drops), kept, shut, seen, measured)


class _Cutter:
    """Finds the part of every node, cutting on the way. `cuts` are results that may be routed anew, inner first;
    `parts` those of all nodes."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.cuts: list[tuple[str, _Part]] = []
        self.parts: dict[Node, _Part] = {}
        self._leaves: dict[Node, _Part] = {}
        self._made: set[Node] = set()

    def leaves(self) -> dict[Node, Node]:
        """The leaves that results of other fragments are."""
        return {node: next(iter(part.leaves)) for node, part in self._leaves.items()}

    def part(self, node: Node) -> _Part:
        """The part of `node`, after the cuts below it."""
        if node not in self.parts:
            self.parts[node] = _leaf(node) if isinstance(node, Source | Table) else self._over(node)
        return self.parts[node]

    def _over(self, node: Node) -> _Part:
        below = self._level(node, [self.part(i) for i in node.inputs])
        if any(p.allowed == frozenset() for p in below):
            return self._on_one_lane(node, below)
        whole = _combined(node, below)
        for attempt in (self._stateful, self._inner):
            if whole.allowed == frozenset() and not needs_order(node):
                cut = [attempt(p, i) for p, i in zip(below, node.inputs, strict=True)]
                whole = _combined(node, self._level(node, cut))
        return self._on_one_lane(node, below) if whole.allowed == frozenset() else whole

    def _stateful(self, part: _Part, node: Node) -> _Part:
        """A part with state under it becomes a leaf."""
        return part if part.allowed is None else self._cut(part, node)

    def _inner(self, part: _Part, node: Node) -> _Part:
        """Any part becomes a leaf."""
        return part if isinstance(node, Source | Table) else self._cut(part, node)

    def _on_one_lane(self, node: Node, below: Sequence[_Part]) -> _Part:
        """All in one place; what has been spread below stays so, but where the places of rows are needed."""
        if not needs_order(node):
            below = [p if not p.allowed else self._cut(p, i) for p, i in zip(below, node.inputs, strict=True)]
        return replace(_combined(node, self._level(node, below)), allowed=frozenset())

    def _level(self, node: Node, below: Sequence[_Part]) -> list[_Part]:
        """A fragment has its rows from sources, or all of them from other fragments: sources feed nothing that runs
        after an exchange."""
        later = [any(leaf in self._made for leaf in p.leaves) for p in below]
        if not any(later):
            return list(below)
        return [p if on else self._cut(p, i) for p, i, on in zip(below, node.inputs, later, strict=True)]

    def _cut(self, part: _Part, node: Node) -> _Part:
        if node not in self._leaves:
            name = f"{self.prefix}{len(self._leaves)}"
            leaf = Source(name, node.schema) if node.kind is Kind.STREAM else Table(name, node.schema)
            self._leaves[node] = _leaf(leaf)
            self._made.add(leaf)
            self.cuts.append((name, part))
        return self._leaves[node]


def _needed(cuts: list[tuple[str, _Part]], tops: Iterable[_Part]) -> list[tuple[str, _Part]]:
    """The cuts that somebody reads: some were tried in vain."""
    read = {leaf.name for part in tops for leaf in part.leaves}
    kept = []
    for name, part in reversed(cuts):
        if name in read:
            kept.append((name, part))
            read |= {leaf.name for leaf in part.leaves}
    return kept[::-1]


def _leaf(node: Source | Table) -> _Part:
    return _Part(node, frozenset({node}), None, leaf_carriers(node))


def _combined(node: Node, below: Sequence[_Part]) -> _Part:
    """`node` over these parts; nothing is allowed where they do not agree."""
    seen_below = [p.seen for p in below]
    seen, wanted = carriers(node, seen_below), demand(node, seen_below)
    if len(below) == 1:
        allowed = _both(below[0].allowed, wanted)
    elif wanted is None and all(p.allowed is None for p in below):
        allowed = None
    else:
        candidates = frozenset(seen.values()) if wanted is None else wanted
        allowed = frozenset(c for c in candidates if all(_fits(c, p) for p in below))
    leaves = frozenset(leaf for p in below for leaf in p.leaves)
    return _Part(node.with_inputs(tuple(p.node for p in below)), leaves, allowed, seen)


def _both(a: Demand, b: Demand) -> Demand:
    return b if a is None else a if b is None else a & b


def _fits(carrier: Carrier, part: _Part) -> bool:
    return part.allowed is None or frozenset(p for p in carrier if p[0] in part.leaves) in part.allowed


def _join_group(groups: list[tuple[list[Outlet], _Part]], outlet: Outlet, part: _Part) -> None:
    """Puts a result to others over the same leaves that some routing serves all of, or makes a group of its own."""
    for i, (outlets, group) in enumerate(groups):
        allowed = _both(group.allowed, part.allowed)
        alone = group.allowed == frozenset() == part.allowed
        if group.leaves == part.leaves and (alone or allowed != frozenset()):
            groups[i] = ([*outlets, outlet], replace(group, allowed=allowed))
            return
    groups.append(([outlet], part))


def _fragment(outlets: Iterable[Outlet], part: _Part) -> Fragment:
    """The routes are by all values that the operators agree on: the more, the finer rows are spread."""
    leaves = sorted(part.leaves, key=lambda leaf: leaf.name)
    if part.allowed is None:
        inlets = [Inlet(leaf, tuple(Column(f.name, f.type) for f in leaf.schema)) for leaf in leaves]
    else:
        chosen = [dict(c) for c in sorted(part.allowed, key=_text)]
        inlets = [Inlet(leaf, tuple(c[leaf] for c in chosen)) for leaf in leaves]
    return Fragment(tuple(inlets), tuple(outlets))


def _text(carrier: Carrier) -> str:
    return "; ".join(sorted(f"{leaf.label} {format_expression(e)}" for leaf, e in carrier))


def _in_order(fragments: list[Fragment]) -> tuple[Fragment, ...]:
    """Each after those whose results it reads."""
    done: list[Fragment] = []
    rest = list(fragments)
    while rest:
        made = {o.name for f in rest for o in f.outlets}
        ready = [f for f in rest if not any(i.leaf.name in made for i in f.inlets)]
        done += ready
        rest = [f for f in rest if f not in ready]
    return tuple(done)
