"""IN, NOT IN, EXISTS and NOT EXISTS with a query: semijoins and antisemijoins, correlated by any condition (Babu's
table 2.1)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.cql.binder.bodies import Body, Need, bind_body, outputs_and_having
from penstock.cql.binder.calls import is_aggregate, names_of
from penstock.cql.binder.core import Binder
from penstock.cql.binder.expressions import ExpressionBinder
from penstock.cql.binder.outputs import bind_outputs
from penstock.cql.binder.problems import Problems
from penstock.cql.binder.scopes import OUTER, Scope
from penstock.cql.binder.sources import bind_item
from penstock.cql.grammar.syntax import Query, Select, span_of
from penstock.errors import PenstockError, Span
from penstock.plan import functions
from penstock.plan.expressions import Column, Expression, Literal, conjunction, transform
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import SemiJoin
from penstock.plan.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class Right:
    """The inner side of a semijoin: its rows, what the left values are compared with, and the conditions that read the
    outer query."""

    node: Node
    values: tuple[Expression, ...]
    correlated: tuple[Expression, ...] = ()


def join_sub_queries(body: Body, binder: Binder) -> Node | None:
    """The rows of `body` that meet its conditions with sub-queries, one semijoin after the other."""
    node = body.node
    for condition in body.sub_queries:
        joined = _joined(condition, node, body.scope, binder)
        node = joined if node is not None else None
    return node


def _joined(condition: exp.Expr, left: Node | None, scope: Scope, binder: Binder) -> Node | None:
    test, negated = condition, False
    while isinstance(test, exp.Not | exp.Paren):
        negated = negated != isinstance(test, exp.Not)
        test = test.this
    sub_query = test.args["query"] if isinstance(test, exp.In) else test.this
    right = _right(sub_query.this, scope, binder, span_of(sub_query))
    null_aware = negated and isinstance(test, exp.In)
    compared = _compared(test, right, scope, binder) if isinstance(test, exp.In) else ()
    if left is None or right is None or compared is None:
        return None
    around = tuple(_correlation(c, null_aware) for c in right.correlated)
    return SemiJoin(left, right.node, conjunction((*compared, *around)), negated, null_aware)


def _correlation(condition: Expression, null_aware: bool) -> Expression:
    """A condition that reads the outer query, over `0.x` and `1.y`. Under NOT IN a row of which it is unknown is no row
    of the sub-query."""
    placed = transform(condition, _placed)
    return functions.call("coalesce", placed, Literal(False, BOOLEAN)) if null_aware else placed


def _placed(part: Expression) -> Expression:
    if not isinstance(part, Column):
        return part
    outer = part.name.startswith(OUTER)
    return Column(f"0.{part.name.removeprefix(OUTER)}" if outer else f"1.{part.name}", part.type)


def _compared(test: exp.In, right: Right | None, scope: Scope, binder: Binder) -> tuple[Expression, ...] | None:
    """The comparisons of IN, column by column."""
    problems = binder.catalog.problems
    values = _left_values(test.this, scope, binder)
    if values is None or right is None:
        return None
    if len(values) != len(right.values):
        problems.report(
            f"IN compares {len(values)} with {len(right.values)} columns",
            span_of(test),
            help="the sub-query gives as many columns as stand left of IN",
        )
        return None
    pairs = [(transform(v, _as_left), transform(r, _placed)) for v, r in zip(values, right.values, strict=True)]
    made = [_equality(a, b, span_of(test), problems) for a, b in pairs]
    return None if any(m is None for m in made) else tuple(m for m in made if m is not None)


def _equality(left: Expression, right: Expression, span: Span, problems: Problems) -> Expression | None:
    try:
        return functions.call("=", left, right)
    except PenstockError:
        problems.report(f"IN compares {left.type} with {right.type}", span, help="cast one of them")
        return None


def _as_left(part: Expression) -> Expression:
    return Column(f"0.{part.name}", part.type) if isinstance(part, Column) else part


def _left_values(node: exp.Expr, scope: Scope, binder: Binder) -> list[Expression] | None:
    """What stands left of IN: a value, a row `(a, b)`, or the name of an entry of FROM, which is its row (section
    4.7)."""
    node = node.unnest()
    if isinstance(node, exp.Column) and node.args.get("table") is None and scope.peek(*names_of(node)) is None:
        entry = scope.entry(node.name)
        if entry is not None:
            return [column for _, column in entry.columns()] if entry.fields is not None else None
    expressions = ExpressionBinder(scope, binder.catalog, "WHERE")
    values = [expressions.bind(v) for v in (node.expressions if isinstance(node, exp.Tuple) else [node])]
    return None if any(v is None for v in values) else [v for v in values if v is not None]


def _right(query: Query, scope: Scope, binder: Binder, span: Span) -> Right | None:
    if isinstance(query, Select) and not _needs_plan(query):
        return _plain_right(query, scope, binder)
    node = binder.query(query, True, scope)
    if node is not None and node.kind is Kind.STREAM:
        binder.catalog.problems.report(
            "a sub-query of WHERE needs a relation, and this is a stream",
            span,
            help="give its stream a window: S [Range 10 Minutes]",
        )
        return None
    return None if node is None else Right(node, tuple(Column(f.name, f.type) for f in node.schema))


def _needs_plan(select: Select) -> bool:
    """True where the sub-query is more than rows of FROM and WHERE."""
    aggregated = any(is_aggregate(n) for part in outputs_and_having(select) for n in part.walk())
    return bool(select.group) or select.having is not None or aggregated or select.operator is not None


def _plain_right(select: Select, scope: Scope, binder: Binder) -> Right | None:
    """Rows of FROM and WHERE: duplicates do not matter to a semijoin, so DISTINCT and the projection are left out."""
    entries = [bind_item(i, binder, True) for i in select.items]
    body = bind_body(select, entries, binder, Need("a sub-query of WHERE"), scope, correlates=True)
    columns = bind_outputs(select.outputs, ExpressionBinder(body.scope, binder.catalog, "the select list"))
    node = join_sub_queries(body, binder)
    if node is None or columns is None:
        return None
    return Right(node, tuple(e for _, e in columns), body.correlated)
