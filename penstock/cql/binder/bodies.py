"""FROM and WHERE together: windows, one join over them, and the conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from penstock.cql.binder.calls import names_of
from penstock.cql.binder.core import Binder, require_relation
from penstock.cql.binder.expressions import ExpressionBinder, members
from penstock.cql.binder.scopes import BOUNDS, OUTER, Scope
from penstock.cql.binder.sources import Bound
from penstock.cql.grammar.syntax import Item, Select, Star
from penstock.errors import Span
from penstock.plan.expressions import Expression, columns, conjunction, conjuncts
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import Filter, Join, Window
from penstock.plan.windows import Range

NOW: Final = Range(0)


@dataclass(slots=True)
class Body:
    """FROM and WHERE of a query.

    node         after the plain conditions; None where FROM is broken
    correlated   the conditions that read the outer query
    sub_queries  the conditions that are yet to be joined
    now          an unwindowed stream was taken as [Now]
    """

    node: Node | None
    scope: Scope
    correlated: tuple[Expression, ...] = ()
    sub_queries: tuple[exp.Expr, ...] = ()
    now: bool = False


def make_scope(entries: list[Bound], bounds: bool, select: Select, binder: Binder, outer: Scope | None) -> Scope:
    """The scope of `entries`."""
    problems = binder.catalog.problems
    prefixes = [""] if len(entries) == 1 else [f"{i}." for i in range(len(entries))]
    scope = Scope([e.entry(bounds, p) for e, p in zip(entries, prefixes, strict=True)], problems, outer=outer)
    _check_aliases(entries, select, binder)
    scope.equated = _equated(conditions(select), scope)
    return scope


def conditions(select: Select) -> list[exp.Expr]:
    """The conditions that AND joins in WHERE and in every ON."""
    given = [*(i.on for i in select.items if i.on is not None), *([select.where] if select.where is not None else [])]
    return [part for condition in given for part in members(condition, exp.And)]


def outputs_and_having(select: Select) -> list[exp.Expr]:
    """The expressions of the select list, and HAVING."""
    values = [o.value for o in select.outputs if not isinstance(o.value, Star)]
    return [*values, *([select.having] if select.having is not None else [])]


def _names_bounds(select: Select) -> bool:
    """True where a part of `select` names a window's bounds."""
    parts = [*outputs_and_having(select), *conditions(select), *select.group]
    return any(isinstance(n, exp.Column) and n.name.lower() in BOUNDS for p in parts for n in p.walk())


def is_sub_query_condition(node: exp.Expr) -> bool:
    """True for [NOT] IN (query) and [NOT] EXISTS."""
    while isinstance(node, exp.Not | exp.Paren):
        node = node.this
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None)


@dataclass(frozen=True, slots=True)
class Need:
    """Why a query needs a relation even where FROM has one entry: `what` does, and where that is written (None: at the
    entry)."""

    what: str
    span: Span | None = None


def bind_body(
    select: Select,
    entries: list[Bound],
    binder: Binder,
    need: Need | None = None,
    outer: Scope | None = None,
    correlates: bool = False,
) -> Body:
    """FROM and WHERE of `select`. A lone unwindowed stream stays one where there is no `need`, unless conditions with
    sub-queries make it [Now]. `correlates` lets WHERE read the `outer` query."""
    bounds = _names_bounds(select)
    scope = make_scope(entries, bounds, select, binder, outer)
    sub_queries = tuple(c for c in conditions(select) if is_sub_query_condition(c))
    plain, correlated = bind_conditions(select, scope, binder, correlates)
    body = Body(None, scope, correlated, sub_queries)
    nodes = [e.node(bounds) for e in entries]
    if len(entries) == 1:
        _bind_lone(body, nodes[0], entries[0], plain, need, binder)
        return body
    relations = [
        require_relation(n, "a join", e.name, e.span, binder.catalog.problems)
        for n, e in zip(nodes, entries, strict=True)
    ]
    joined = tuple(r for r in relations if r is not None)
    if len(joined) == len(entries):
        body.node = Join(joined, conjunction(plain))
    return body


def _bind_lone(
    body: Body, node: Node | None, entry: Bound, plain: tuple[Expression, ...], need: Need | None, binder: Binder
) -> None:
    if need is not None:
        node = require_relation(node, need.what, entry.name, need.span or entry.span, binder.catalog.problems)
    elif node is not None and node.kind is Kind.STREAM and body.sub_queries:
        node, body.now = Window(node, NOW), True
    body.node = Filter(node, conjunction(plain)) if node is not None and plain else node


def bind_conditions(
    select: Select, scope: Scope, binder: Binder, correlates: bool = False
) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """The conditions without sub-queries: those over this query alone, and those that read the outer one."""
    scope.outer_readable = correlates
    expressions = ExpressionBinder(scope, binder.catalog, "WHERE")
    bound = [expressions.condition(c) for c in conditions(select) if not is_sub_query_condition(c)]
    scope.outer_readable = False
    parts = [part for b in bound if b is not None for part in conjuncts(b)]
    outside = [any(name.startswith(OUTER) for name in columns(p)) for p in parts]
    plain = tuple(p for p, out in zip(parts, outside, strict=True) if not out)
    return plain, tuple(p for p, out in zip(parts, outside, strict=True) if out)


def _check_aliases(entries: list[Bound], select: Select, binder: Binder) -> None:
    seen: set[str] = set()
    for bound, item in zip(entries, select.items, strict=True):
        alias = (bound.alias or "").lower()
        if alias and alias in seen:
            binder.catalog.problems.report(
                f"the name '{bound.alias}' stands twice in FROM",
                _alias_span(item),
                help="give one an alias: S [Rows 10] AS other",
            )
        seen.add(alias)


def _alias_span(item: Item) -> Span:
    return item.alias.span if item.alias else item.span


def _equated(conditions: list[exp.Expr], scope: Scope) -> list[frozenset[str]]:
    """The groups of columns that the conditions make equal."""
    groups: list[frozenset[str]] = []
    for condition in conditions:
        node = condition.unnest()
        if (
            not isinstance(node, exp.EQ)
            or not isinstance(node.this, exp.Column)
            or not isinstance(node.expression, exp.Column)
        ):
            continue
        left, right = scope.peek(*names_of(node.this)), scope.peek(*names_of(node.expression))
        if left is not None and right is not None:
            pair = frozenset((left.name, right.name))
            groups = [pair.union(*(g for g in groups if g & pair)), *(g for g in groups if not g & pair)]
    return groups
