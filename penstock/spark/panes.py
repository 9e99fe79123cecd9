"""Which windowed aggregates the gate may prepare: one partial result a pane and group crosses in the place of its rows.

A **pane** is a stretch of time that no window's bound cuts: its width is the gcd of sizes and slides. The gate makes
panes of a stream's rows in one fragment where nobody there reads the rows themselves: rows that cross anyway are not
aggregated twice. Aggregates over the same columns of the same rows share their panes, whatever their windows.

Panes are made after the lateness test and the gate's drops, never for an aggregate that depends on the order of rows,
and not while a drop stands between the gate and the aggregate. They stand for their rows in every count.

Reference: Li, Maier, Tufte, Papadimos, Tucker, "No pane, no gain", SIGMOD Record 2005.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

from penstock.lane.partition import Fragment, Inlet
from penstock.operators.aggregates.arguments import type_of
from penstock.operators.aggregates.make import partial_types
from penstock.operators.columns.vector import interned
from penstock.plan.aggregates import canonical, properties
from penstock.plan.expressions import Column, Expression, format_expression, substitute
from penstock.plan.functions import user_functions
from penstock.plan.node import Node, walk
from penstock.plan.nodes import AggregateCall, Filter, Map, Source, WindowAggregate
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, Type
from penstock.plan.windows import SlideRange, format_duration
from penstock.spark.catalyst import sayable
from penstock.spark.entries import Entry

HEADS: Final = ("rows", "last", "late", "void")
"""What a pane says of its rows besides: how many there are, the last one's stamp, how many came late; whether they are
nothing to the aggregates (filtered, or late and dropped)."""
FIRST: Final = 1 << 20
"""The number of the first entry of panes: behind all others, however many come."""
KINDS: Final = {"count": "count", "sum": "sum", "avg": "sum", "min": "min", "max": "max"}
Names = Mapping[str, Expression]


@dataclass(frozen=True, slots=True)
class Part:
    """One partial result: `kind` (count, sum, min, max, moments) of a column of the leaf; None: of rows."""

    kind: str
    column: Column | None
    types: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Taker:
    """An aggregate that panes serve, with the places of its keys and of its parts."""

    node: WindowAggregate
    keys: tuple[int, ...]
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Panes:
    """Panes of one entry's rows.

    entry       where they come in; its leaf has the keys, the partial results and `HEADS`
    source      the entry whose rows they stand for
    condition   what the rows must pass
    width       of a pane, in microseconds; panes begin at `origin` + k * `width`
    keys        columns of the source's leaf
    parts       the partial results
    aggregates  who takes them
    """

    entry: Entry
    source: Entry
    condition: tuple[Expression, ...]
    width: int
    origin: int
    keys: tuple[Column, ...]
    parts: tuple[Part, ...]
    aggregates: tuple[Taker, ...]

    def __str__(self) -> str:
        """What a person reads in `explain`."""
        keys = f" by {', '.join(k.name for k in self.keys)}" if self.keys else ""
        kept = f" where {' and '.join(map(format_expression, self.condition))}" if self.condition else ""
        return f"panes of {format_duration(self.width)}{keys}{kept}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """The rows of a leaf as some operator gives them on: what they have passed, and what their columns are made of."""

    condition: tuple[Expression, ...]
    names: Names


def panes_of(entries: Iterable[Entry], fragments: Sequence[Fragment]) -> tuple[Panes, ...]:
    """All panes that the gate can make."""
    found: list[Panes] = []
    for entry in entries:
        listed, _ = readers(entry, fragments[entry.fragment])
        for group in _groups(listed):
            found.append(_made(entry, group, len(found)))
    return tuple(found)


def readers(entry: Entry, fragment: Fragment) -> tuple[list[tuple[WindowAggregate, _Seen]], str]:
    """The aggregates that panes of the entry's rows can serve; none, and why, where the rows must cross themselves."""
    leaf = entry.leaf
    if not isinstance(leaf, Source):
        return [], "a relation has no windows"
    seen: dict[Node, _Seen] = {leaf: _Seen((), {f.name: Column(f.name, f.type) for f in leaf.schema})}
    listed: list[tuple[WindowAggregate, _Seen]] = []
    for node in walk(*(o.root for o in fragment.outlets)):
        below = [seen[i] for i in node.inputs if i in seen]
        if not below:
            continue
        if isinstance(node, WindowAggregate) and (why := _refused(node, below[0])) is None:
            listed.append((node, below[0]))
        elif isinstance(node, WindowAggregate):
            return [], why or ""
        elif (given := _passed_on(node, below[0])) is None:
            return [], f"'{node.label}' needs the rows"
        else:
            seen[node] = given
    delivered = [o.name for o in fragment.outlets if o.root in seen]
    return ([], f"{', '.join(delivered)} delivers the rows") if delivered else (listed, "")


def _passed_on(node: Node, below: _Seen) -> _Seen | None:
    if isinstance(node, Filter):
        predicate = substitute(node.predicate, below.names)
        return _Seen((*below.condition, predicate), below.names) if sayable(predicate) else None
    if isinstance(node, Map):
        return _Seen(below.condition, {n: substitute(e, below.names) for n, e in node.outputs})
    return None


def _refused(node: WindowAggregate, below: _Seen) -> str | None:
    """Why the gate cannot aggregate for `node`; None where it can."""
    if not isinstance(node.window, SlideRange) or node.window.on is not None:
        return f"'{node.label}': its windows are not over time"
    for call in node.aggregates:
        if canonical(call.function) in user_functions.aggregates or not properties(call.function, call.distinct).panes:
            return f"'{node.label}': {call.function} cannot be put together from panes"
        if call.argument is not None and not _native(call, below.names[call.argument]):
            return f"'{node.label}': the gate cannot compute {call.function}({call.argument})"
    for key in node.keys:
        column = below.names[key]
        if not isinstance(column, Column) or not _groups_alike(column.type):
            return f"'{node.label}': the gate cannot group by {key}"
    return None


def _native(call: AggregateCall, argument: Expression) -> bool:
    """True where Catalyst holds the partial result in a row of its own, and means the same by it."""
    if not isinstance(argument, Column) or argument.type.name == "null":
        return False
    function = canonical(call.function)
    return function == "count" or not interned(argument.type)


def _groups_alike(t: Type) -> bool:
    return t.name == "string" or (not interned(t) and t.name != "null")


def _groups(listed: Sequence[tuple[WindowAggregate, _Seen]]) -> list[list[tuple[WindowAggregate, _Seen]]]:
    """Those together that read the same rows by the same keys."""
    groups: dict[object, list[tuple[WindowAggregate, _Seen]]] = {}
    for node, below in listed:
        groups.setdefault((below.condition, frozenset(_keys(node, below))), []).append((node, below))
    return list(groups.values())


def _keys(node: WindowAggregate, below: _Seen) -> tuple[Column, ...]:
    return tuple(c for c in (below.names[k] for k in node.keys) if isinstance(c, Column))


def _made(source: Entry, group: Sequence[tuple[WindowAggregate, _Seen]], number: int) -> Panes:
    parts: dict[Part, int] = {}
    keys = tuple(dict.fromkeys(_keys(*group[0])))
    aggregates = []
    for node, below in group:
        taken = tuple(parts.setdefault(_part(call, node, below), len(parts)) for call in node.aggregates)
        aggregates.append(Taker(node, tuple(keys.index(k) for k in _keys(node, below)), taken))
    width, origin = _pane([node for node, _ in group])
    leaf = Source(f"panes {number}", _schema(keys, parts))
    entry = Entry(FIRST + number, source.fragment, Inlet(leaf, source.inlet.route), source.home)
    return Panes(entry, source, group[0][1].condition, width, origin, keys, tuple(parts), tuple(aggregates))


def _part(call: AggregateCall, node: WindowAggregate, below: _Seen) -> Part:
    argument = None if call.argument is None else below.names[call.argument]
    column = argument if isinstance(argument, Column) else None
    kind = KINDS.get(canonical(call.function), "moments")
    return Part(kind, column, partial_types(call, type_of(call, node.input.schema)))


def _pane(nodes: Iterable[WindowAggregate]) -> tuple[int, int]:
    """Width and origin: every bound of every window is a bound of a pane."""
    specs = [n.window for n in nodes if isinstance(n.window, SlideRange)]
    first = int(specs[0].origin)
    width = gcd(*(int(n) for s in specs for n in (s.size, s.slide, int(s.origin) - first)))
    return width, first


def _schema(keys: Sequence[Column], parts: Iterable[Part]) -> Schema:
    columns = [(f"k{i}", k.type) for i, k in enumerate(keys)]
    columns += [(f"p{i}.{j}", t) for i, part in enumerate(parts) for j, t in enumerate(part.types)]
    return Schema.of([*columns, *((name, BIGINT) for name in HEADS)])
