"""Pieces of CQL for boxes and arrows: an expression, an aggregate, a duration, a window, each as a text of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from penstock.cql.binder.aggregates import aggregate_pieces
from penstock.cql.binder.calls import is_aggregate
from penstock.cql.binder.catalog import Catalog
from penstock.cql.binder.expressions import ExpressionBinder
from penstock.cql.binder.problems import Problems
from penstock.cql.binder.scopes import Entry, Scope
from penstock.cql.dialect import parser
from penstock.cql.grammar.durations import parse_duration
from penstock.cql.grammar.statements import StatementParser
from penstock.cql.grammar.syntax import FunctionCall, span_of
from penstock.cql.grammar.tokens import tokenize
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.expressions import Column, Expression, format_expression
from penstock.plan.nodes import AggregateCall
from penstock.plan.schema import Schema


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


__all__ = ["ParsedAggregate", "parse_aggregate", "parse_duration", "parse_expression"]
