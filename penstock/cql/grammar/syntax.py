"""CQL's syntax trees above the level of expressions, as written: nothing is looked up yet, everything knows its place.

Expressions are sqlglot's trees (`sqlglot.exp`), each with its place in `meta` (see `span_of`), and the four nodes of
our own below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp

from penstock.errors import Span


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written."""

    text: str
    span: Span


class FunctionCall(exp.Expression):
    """`name([DISTINCT] arguments)`; `this` is the name as written, `name_span` its place, `star` for count(*)."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "name_span": True,
        "expressions": False,
        "distinct": False,
        "star": False,
    }


class CastTo(exp.Expression):
    """`CAST(this AS to)`, and `DATE '2026-01-31'` (`typed`); `to` is a `penstock.plan.types.Type`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True, "typed": False}


class Duration(exp.Expression):
    """`INTERVAL ...`; `this` is the number of microseconds."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class SubQuery(exp.Expression):
    """A query in parentheses inside an expression; `this` is a `Query`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


def span_of(expression: exp.Expr) -> Span:
    """Where `expression` stands in the text."""
    return Span(expression.meta["start"], expression.meta["end"] + 1)


@dataclass(frozen=True, slots=True)
class Quantity:
    """The size, slide or origin of a window as written: a number of microseconds (`duration`), or a plain number."""

    value: int | float
    duration: bool
    span: Span


@dataclass(frozen=True, slots=True)
class WindowClause:
    """A window in brackets: `word` is range, rows or now; `size` None is Unbounded."""

    word: str
    size: Quantity | None
    by: tuple[Name, ...]
    on: Name | None
    slide: Quantity | None
    origin: Quantity | None
    span: Span


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of FROM: a name, a query, or another entry in parentheses; then perhaps a window and an alias. `on`
    belongs to JOIN ... ON."""

    source: Name | Query | Item
    window: WindowClause | None
    alias: Name | None
    span: Span
    on: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Star:
    """`*`, or `qualifier.*`."""

    qualifier: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class Output:
    """One entry of a select list. `label` is the name it has without an alias."""

    value: exp.Expr | Star
    alias: Name | None
    label: str
    span: Span


@dataclass(frozen=True, slots=True)
class Operator:
    """Istream, Dstream or Rstream: `word` in lower case."""

    word: str
    span: Span


@dataclass(frozen=True, slots=True)
class Select:
    """SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ..."""

    operator: Operator | None
    distinct: Span | None
    outputs: tuple[Output, ...]
    items: tuple[Item, ...]
    where: exp.Expr | None
    group: tuple[exp.Expr, ...]
    having: exp.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class SetOperation:
    """Queries joined by UNION, EXCEPT or INTERSECT, with or without ALL; `word` in lower case. A chain of equal
    operators is one node."""

    word: str
    all: bool
    members: tuple[Query, ...]
    operator_span: Span
    span: Span


@dataclass(frozen=True, slots=True)
class StreamOf:
    """Istream(query), Dstream(query) or Rstream(query)."""

    operator: Operator
    query: Query
    span: Span


Query = Select | SetOperation | StreamOf


@dataclass(frozen=True, slots=True)
class Option:
    """`key = value`."""

    key: str
    key_span: Span
    value: str | int | float | bool
    span: Span


@dataclass(frozen=True, slots=True)
class ConnectorClause:
    """`FROM format OPTIONS (...)` or `INTO format OPTIONS (...)`."""

    format: Name
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column of CREATE STREAM or CREATE RELATION; `type` is a `penstock.plan.types.Type`, None where it could not be
    read."""

    name: Name
    type: Any


@dataclass(frozen=True, slots=True)
class CreateStream:
    """CREATE STREAM."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    timestamp: Name | None
    within_us: int | None
    late: str
    source: ConnectorClause | None


@dataclass(frozen=True, slots=True)
class CreateRelation:
    """CREATE RELATION: loaded (`source`), or kept current by `stream` under `key`."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    source: ConnectorClause | None
    stream: Name | None
    key: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE VIEW."""

    name: Name
    query: Query


@dataclass(frozen=True, slots=True)
class CreateQuery:
    """CREATE QUERY, and a bare query (`name` None)."""

    name: Name | None
    options: tuple[Option, ...]
    query: Query
    sink: ConnectorClause | None


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """CREATE FUNCTION name FROM python OPTIONS (file = '...')."""

    name: Name
    source: ConnectorClause


Statement = CreateStream | CreateRelation | CreateView | CreateQuery | CreateFunction
