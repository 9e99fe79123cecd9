"""Pieces of CQL for boxes and arrows: an expression, an aggregate, a duration, a window, each as a text of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.cql.binder.aggregates import aggregate_pieces
from penstock.cql.binder.calls import is_aggregate
from penstock.cql.binder.catalog import Catalog
from penstock.cql.binder.expressions import ExpressionBinder
from penstock.cql.binder.problems import Problems
from penstock.cql.binder.scopes import Entry, Scope
from penstock.cql.binder.windows import window_spec
from penstock.cql.dialect import parser
from penstock.cql.grammar.statements import StatementParser
from penstock.cql.grammar.syntax import FunctionCall, span_of
from penstock.cql.grammar.tokens import tokenize
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.durations import parse_duration
from penstock.plan.expressions import Column, Expression, format_expression
from penstock.plan.node import Node
from penstock.plan.nodes import AggregateCall
from penstock.plan.schema import Schema
from penstock.plan.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class ParsedAggregate:
    """An aggregate over a schema: `call`, and what must be computed first where its argument is no column: a name and
    an expression."""

    call: AggregateCall
    computed: tuple[str, Expression] | None = None


def parse_expression(text: str, schema: Schema) -> Expression:
    """The expression that `text` writes over the columns of `schema`; raises PenstockError.

    >>> format_expression(parse_expression("bytes BETWEEN 1 AND 9", Schema.parse("bytes int")))
    '(bytes >= 1) AND (bytes <= 9)'
    """
    node = _read(text, lambda p: p.condition())
    expressions, problems = _binder(schema, "an expression")
    bound = expressions.bind(node)
    if bound is None:
        raise _refusal(problems, text)
    return bound


def parse_condition(text: str, sides: Mapping[str, Schema]) -> Expression:
    """The predicate that `text` writes over several inputs, each named as in `sides`; raises PenstockError. In the
    result, column x of input i is `i.x`.

    >>> sides = {"this": Schema.parse("a int"), "other": Schema.parse("a int")}
    >>> format_expression(parse_condition("this.a = other.a", sides))
    '0.a = 1.a'
    """
    node = _read(text, lambda p: p.condition())
    problems = Problems()
    entries = [Entry(name, schema.fields, prefix=f"{i}.") for i, (name, schema) in enumerate(sides.items())]
    bound = ExpressionBinder(Scope(entries, problems), Catalog(problems), "a condition").bind(node)
    if bound is None:
        raise _refusal(problems, text)
    return bound


def parse_window(text: str, stream: Node) -> WindowSpec:
    """The window over `stream` that `text` writes, with or without its brackets; raises PenstockError.

    >>> from penstock.plan.nodes import Source
    >>> parse_window("Rows 5", Source("s", Schema.parse("a int")))
    Rows(count=5, by=())
    """
    written = text if text.lstrip().startswith("[") else f"[{text}]"
    reader = parser()
    problems = Problems()
    try:
        reader.load(tokenize(written), written)
        clause = reader.window()
        if clause is None or not reader.done:
            reader.unexpected("expected a window, such as Range 10 Minutes", ())
        spec = window_spec(clause, stream, problems) if clause is not None else None
    except PenstockError as error:
        raise error.located(written, "<window>") from None
    if spec is None or reader.noted:
        raise PenstockError(*(reader.noted or problems.found), text=written, source="<window>")
    return spec


def parse_aggregate(text: str, schema: Schema) -> ParsedAggregate:
    """The aggregate that `text` writes over the columns of `schema`; raises PenstockError. Its name is the one that
    CQL gives it, so that both fronts make equal plans.

    >>> parse_aggregate("sum(bytes)", Schema.parse("bytes int")).call.name
    'sum(bytes)'
    >>> parse_aggregate("max(bytes * 8)", Schema.parse("bytes bigint")).computed[0]
    'bytes * 8'
    """
    node = _read(text, lambda p: p.condition())
    expressions, problems = _binder(schema, "an aggregate")
    if not is_aggregate(node) or not isinstance(node, FunctionCall):
        raise PenstockError(
            Diagnostic("this is no aggregate", span_of(node), help="such as sum(x), count(*)"), text=text
        )
    pieces = aggregate_pieces(node, expressions)
    if pieces is None:
        raise _refusal(problems, text)
    argument = pieces.argument
    if argument is None or isinstance(argument, Column):
        return ParsedAggregate(pieces.call(None if argument is None else argument.name, pieces.type))
    name = format_expression(argument)
    return ParsedAggregate(pieces.call(name, pieces.type), (name, argument))


def _read(text: str, take: Callable[[StatementParser], exp.Expr]) -> exp.Expr:
    if not isinstance(text, str):
        raise PenstockError(Diagnostic(f"{text!r} is no expression", help="write it as a text, such as 'bytes > 100'"))
    reader = parser()
    try:
        reader.load(tokenize(text), text)
        node = take(reader)
        if not reader.done:
            reader.unexpected("expected the end of the expression", ())
        return node
    except PenstockError as error:
        raise error.located(text, "<expression>") from None
    except RecursionError:
        raise PenstockError("this expression is nested too deeply") from None


def _binder(schema: Schema, clause: str) -> tuple[ExpressionBinder, Problems]:
    problems = Problems()
    return ExpressionBinder(Scope([Entry(None, schema.fields)], problems), Catalog(problems), clause), problems


def _refusal(problems: Problems, text: str) -> PenstockError:
    return PenstockError(*problems.found, text=text, source="<expression>")


__all__ = [
    "ParsedAggregate",
    "parse_aggregate",
    "parse_condition",
    "parse_duration",
    "parse_expression",
    "parse_window",
]
