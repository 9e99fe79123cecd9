"""The operators of Babu's table 2.1 and Aurora's nine boxes (Tatbul 2.1.3), as nodes of a plan.

A node's columns have names of their own. A node that combines several inputs names their columns `0.x`, `1.x`, ... by the input's position,
so that equal sub-plans are equal whatever aliases the queries gave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.expressions import Expression, columns, format_expression
from penstock.plan.node import Kind, Node
from penstock.plan.schema import Schema
from penstock.plan.types import BOOLEAN, DOUBLE, NULL, TIMESTAMP, Type
from penstock.plan.windows import Range, Rows, SlideRange, Sliding, WindowSpec, format_window


@dataclass(frozen=True, slots=True)
class Source(Node):
    """A registered stream, in the order the input manager gives it."""

    name: str
    columns: Schema

    def _derive(self) -> Schema:
        return self.columns

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @property
    def label(self) -> str:
        return f"stream {self.name}"


@dataclass(frozen=True, slots=True)
class Table(Node):
    """A registered relation: loaded rows stand from BEGIN on; rows given later stand from their timestamp on."""

    name: str
    columns: Schema

    def _derive(self) -> Schema:
        return self.columns

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @property
    def label(self) -> str:
        return f"relation {self.name}"


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Stream to relation (seq-window). With `bounds`, a sliding window also gives each row `window_start` and `window_end`."""

    input: Node
    spec: WindowSpec
    bounds: bool = False

    def _derive(self) -> Schema:
        check_window(self.input, self.spec)
        return bounded(self.input.schema, self.input, self.spec) if self.bounds else self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @property
    def label(self) -> str:
        return f"window {format_window(self.spec)}"


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Keeps the elements for which `predicate` is true (not false, not NULL). Its conjuncts are evaluated in their order."""

    input: Node
    predicate: Expression

    def _derive(self) -> Schema:
        _check_expression(self.predicate, self.input.schema, BOOLEAN)
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return f"filter {format_expression(self.predicate)}"


@dataclass(frozen=True, slots=True)
class Map(Node):
    """Duplicate-preserving projection: each output column an expression over the input's (project; Aurora's Map)."""

    input: Node
    outputs: tuple[tuple[str, Expression], ...]

    def _derive(self) -> Schema:
        for _, e in self.outputs:
            _check_expression(e, self.input.schema)
        return Schema.of((name, e.type) for name, e in self.outputs)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        shown = (n if format_expression(e) == n else f"{format_expression(e)} as {n}" for n, e in self.outputs)
        return f"map {', '.join(shown)}"


@dataclass(frozen=True, slots=True)
class Delay(Node):
    """Passes its input on and costs `cost_s` seconds of processor time a tuple: busy on the wall clock, charged in virtual time."""

    input: Node
    cost_s: float

    def _derive(self) -> Schema:
        if self.cost_s < 0:
            raise PenstockError(f"a delay box costs {self.cost_s} s a tuple: the cost cannot be negative")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return f"delay {self.cost_s * 1e6:g} us a tuple"


@dataclass(frozen=True, slots=True)
class Combination(Node):
    """Base of the nodes over two or more inputs of one kind."""

    def _named_inputs(self, inputs: tuple[Node, ...]) -> dict[str, Any]:
        return {"left": inputs[0], "right": inputs[1]}


@dataclass(frozen=True, slots=True)
class Union(Combination):
    """Bag union of streams (merged in the total order) or of relations; types agree by position, names are the first input's."""

    members: tuple[Node, ...]

    def _derive(self) -> Schema:
        _check_aligned(self.members, "union")
        return self.members[0].schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.members

    def _named_inputs(self, inputs: tuple[Node, ...]) -> dict[str, Any]:
        return {"members": inputs}


@dataclass(frozen=True, slots=True)
class Join(Combination):
    """N-way inner join of relations; column x of input i is `i.x`; `predicate` may hold equi, band and general conjuncts; TRUE is the product."""

    members: tuple[Node, ...]
    predicate: Expression

    def _derive(self) -> Schema:
        _check_relations(self.members, "join")
        schema = combined(self.members)
        _check_expression(self.predicate, schema, BOOLEAN)
        return schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.members

    def _named_inputs(self, inputs: tuple[Node, ...]) -> dict[str, Any]:
        return {"members": inputs}

    @property
    def label(self) -> str:
        return f"join {format_expression(self.predicate)}"


@dataclass(frozen=True, slots=True)
class SemiJoin(Combination):
    """Rows of `left` for which some row of `right` makes `predicate` (over `0.x`, `1.y`) true; `negated`: for which none does (antisemijoin).

    `null_aware`, with `negated`, is NOT IN: a right row that makes the predicate NULL also excludes the left row.
    """

    left: Node
    right: Node
    predicate: Expression
    negated: bool = False
    null_aware: bool = False

    def _derive(self) -> Schema:
        _check_relations((self.left, self.right), "semijoin")
        _check_expression(self.predicate, combined((self.left, self.right)), BOOLEAN)
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def label(self) -> str:
        return f"{'anti' if self.negated else ''}semijoin {format_expression(self.predicate)}"


@dataclass(frozen=True, slots=True)
class Except(Combination):
    """Bag difference (`all`), or the distinct rows of `left` that are not in `right`. NULLs are equal here."""

    left: Node
    right: Node
    all: bool = False

    def _derive(self) -> Schema:
        _check_relations((self.left, self.right), "except")
        _check_aligned((self.left, self.right), "except")
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Intersect(Combination):
    """Bag intersection (`all`), or the distinct rows that are in both. NULLs are equal here."""

    left: Node
    right: Node
    all: bool = False

    def _derive(self) -> Schema:
        _check_relations((self.left, self.right), "intersect")
        _check_aligned((self.left, self.right), "intersect")
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Distinct(Node):
    """Each distinct row of a relation once (duplicate-eliminate). NULLs are equal here."""

    input: Node

    def _derive(self) -> Schema:
        _check_relations((self.input,), "distinct")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate: `name` its output column, `argument` an input column (None: count(*)), `parameters` constants (a quantile's rank)."""

    name: str
    function: str
    argument: str | None
    type: Type
    distinct: bool = False
    parameters: tuple[object, ...] = ()

    def __str__(self) -> str:
        inner = ", ".join([("distinct " if self.distinct else "") + (self.argument or "*"), *map(str, self.parameters)])
        return f"{self.function}({inner}) as {self.name}"


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """Groups a relation by the columns `keys` (NULL is one value) and aggregates; a group without rows has no row, grouped or not."""

    input: Node
    keys: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]

    def _derive(self) -> Schema:
        _check_relations((self.input,), "aggregate")
        return _aggregated(self.input, self.keys, self.aggregates)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return _aggregate_label(self.keys, self.aggregates)


@dataclass(frozen=True, slots=True)
class WindowAggregate(Node):
    """Stream to stream: one element for each non-empty window and group, stamped as the window is, `window_start` and `window_end` last."""

    input: Node
    window: Sliding
    keys: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]

    def _derive(self) -> Schema:
        check_window(self.input, self.window)
        return bounded(_aggregated(self.input, self.keys, self.aggregates), self.input, self.window)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return f"{_aggregate_label(self.keys, self.aggregates)} over {format_window(self.window)}"


@dataclass(frozen=True, slots=True)
class IStream(Node):
    """Relation to stream: the multiset R(t) - R(t-1), at every t."""

    input: Node

    def _derive(self) -> Schema:
        _check_relations((self.input,), "Istream")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM


@dataclass(frozen=True, slots=True)
class DStream(Node):
    """Relation to stream: the multiset R(t-1) - R(t), at every t."""

    input: Node

    def _derive(self) -> Schema:
        _check_relations((self.input,), "Dstream")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM


@dataclass(frozen=True, slots=True)
class RStream(Node):
    """Relation to stream: the whole relation at each instant at which its net content changes and, with `boundaries` ((slide, first), ...), at
    every instant first + k * slide too, from the first change to the last."""

    input: Node
    boundaries: tuple[tuple[int, int], ...] = ()

    def _derive(self) -> Schema:
        _check_relations((self.input,), "Rstream")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM


@dataclass(frozen=True, slots=True)
class BSort(Node):
    """Aurora's bounded-pass sort: keeps the `slack` + 1 last tuples at most and, for each arrival past that, emits the one with the smallest
    `on` (NULL first, then the total order), stamped with the arrival's timestamp; what is left at the end of time is stamped END."""

    input: Node
    on: str
    slack: int

    def _derive(self) -> Schema:
        _check_stream(self.input, "BSort")
        self.input.schema.index(self.on)
        if self.slack < 0:
            raise PenstockError(f"BSort's slack is {self.slack}: it cannot be negative")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return f"bsort on {self.on}, slack {self.slack}"


@dataclass(frozen=True, slots=True)
class Resample(Combination):
    """Aligns `left` with `right`: each left tuple, extended (as `1.x`) by `values` of `right` interpolated linearly at its timestamp.

    The neighbours are the last right tuple at or before it and the first after it, each at most `within` microseconds away; one
    neighbour alone gives its value, none gives NULL, a right tuple at the same instant (the last in the total order) gives its own. The result
    is stamped when it is known: with the later neighbour's timestamp, at the latest the left tuple's + `within`.
    """

    left: Node
    right: Node
    values: tuple[str, ...]
    within: int

    def _derive(self) -> Schema:
        _check_stream(self.left, "Resample")
        _check_stream(self.right, "Resample")
        left = [(f"0.{f.name}", f.type) for f in self.left.schema]
        return Schema.of([*left, *((f"1.{v}", DOUBLE) for v in self.values if self.right.schema.type_of(v))])

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def label(self) -> str:
        return f"resample {', '.join(self.values)} within {self.within} us"


@dataclass(frozen=True, slots=True)
class Read(Combination):
    """Stream to stream: each tuple of `left` joined with the rows that relation `right` holds at its instant, under `predicate` over `0.x`, `1.y`."""

    left: Node
    right: Node
    predicate: Expression

    def _derive(self) -> Schema:
        _check_stream(self.left, "Read")
        _check_relations((self.right,), "Read")
        schema = combined((self.left, self.right))
        _check_expression(self.predicate, schema, BOOLEAN)
        return schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @property
    def label(self) -> str:
        return f"read {format_expression(self.predicate)}"


def combined(members: tuple[Node, ...]) -> Schema:
    """The columns of several inputs side by side, named `i.x`."""
    return Schema.of((f"{i}.{f.name}", f.type) for i, m in enumerate(members) for f in m.schema)


def bounded(schema: Schema, stream: Node, spec: WindowSpec) -> Schema:
    """`schema` and the bounds of the window."""
    t = stream.schema.type_of(spec.on) if isinstance(spec, SlideRange) and spec.on else TIMESTAMP
    return Schema.of([*((f.name, f.type) for f in schema), ("window_start", t), ("window_end", t)])


def check_window(stream: Node, spec: WindowSpec) -> None:
    """Refuses a window over a relation, over a column that cannot bear one, or with an impossible size."""
    if stream.kind is Kind.RELATION:
        raise PenstockError(Diagnostic(f"a window needs a stream, and this is a relation: {stream.label}",
                                       help="take the window away, or make a stream of the relation with Istream"))  # fmt: skip
    if isinstance(spec, Rows) and spec.count is not None and spec.count <= 0:
        raise PenstockError("a window of rows needs at least one row")
    if isinstance(spec, Range) and spec.size is not None and spec.size < 0:
        raise PenstockError("a window's size cannot be negative")
    if isinstance(spec, Sliding) and min(spec.slide, spec.size if isinstance(spec, SlideRange) else spec.count) <= 0:
        raise PenstockError("a sliding window's size and slide must be positive")
    for name in spec.by if not isinstance(spec, Range | SlideRange) else (spec.on,) if spec.on else ():
        t = stream.schema.type_of(name)
        if isinstance(spec, Range | SlideRange) and not t.ordered_numeric:
            raise PenstockError(Diagnostic(f"a window cannot run over '{name}', a {t}", help="it needs a number, a timestamp or a date"))


def _aggregated(source: Node, keys: tuple[str, ...], aggregates: tuple[AggregateCall, ...]) -> Schema:
    for call in aggregates:
        if call.argument is not None:
            source.schema.index(call.argument)
    return Schema.of([*((k, source.schema.type_of(k)) for k in keys), *((a.name, a.type) for a in aggregates)])


def _aggregate_label(keys: tuple[str, ...], aggregates: tuple[AggregateCall, ...]) -> str:
    by = f" by {', '.join(keys)}" if keys else ""
    return f"aggregate {', '.join(map(str, aggregates))}{by}"


def _check_expression(expression: Expression, schema: Schema, wanted: Type | None = None) -> None:
    for name in columns(expression):
        schema.index(name)
    if wanted is not None and expression.type not in (wanted, NULL):
        raise PenstockError(f"'{format_expression(expression)}' is {expression.type}, and {wanted} is needed")


def _check_stream(node: Node, what: str) -> None:
    if node.kind is not Kind.STREAM:
        raise PenstockError(Diagnostic(f"{what} needs a stream, and this is a relation: {node.label}", help="put Istream around it"))


def _check_relations(nodes: tuple[Node, ...], what: str) -> None:
    for node in nodes:
        if node.kind is not Kind.RELATION:
            raise PenstockError(Diagnostic(f"{what} needs a relation, and this is a stream: {node.label}", help="give it a window"))


def _check_aligned(nodes: tuple[Node, ...], what: str) -> None:
    first = nodes[0]
    for other in nodes[1:]:
        if other.kind is not first.kind:
            raise PenstockError(Diagnostic(f"{what} of a stream and a relation", help="give the stream a window"))
        if other.schema.types != first.schema.types:
            shown = [", ".join(map(str, n.schema.types)) for n in (first, other)]
            raise PenstockError(Diagnostic(f"{what} of rows of different types", notes=tuple(f"({s})" for s in shown)))
