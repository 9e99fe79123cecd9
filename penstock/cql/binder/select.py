"""SELECT: whether it is a stream or a relation, and its plan.

* Over one unwindowed stream, with plain conditions: the stream, filtered and mapped. With sub-queries in WHERE: that
  stream [Now], and Istream of the result.
* An aggregate over one sliding window of a stream: the stream of the windows' results, unless something asks for the
  relation (Istream, DISTINCT, a join, a sub-query condition, a query around it that needs one).
* Everything else: a relation, over windows and relations; Istream, Dstream and Rstream make a stream of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.cql.binder.bodies import (
    Body,
    Need,
    bind_body,
    bind_conditions,
    conditions,
    is_sub_query_condition,
    make_scope,
    outputs_and_having,
)
from penstock.cql.binder.calls import is_aggregate
from penstock.cql.binder.core import Binder
from penstock.cql.binder.expressions import ExpressionBinder
from penstock.cql.binder.grouping import Grouping
from penstock.cql.binder.outputs import bind_outputs, project
from penstock.cql.binder.scopes import Scope
from penstock.cql.binder.sources import Bound, bind_item
from penstock.cql.binder.streams import to_stream
from penstock.cql.binder.subqueries import join_sub_queries
from penstock.cql.grammar.syntax import Select, Star
from penstock.plan import functions
from penstock.plan.expressions import Column, Expression, Literal, conjunction
from penstock.plan.node import Node
from penstock.plan.nodes import Aggregate, Delay, Distinct, Filter, IStream, Map, Window, WindowAggregate
from penstock.plan.types import BIGINT
from penstock.plan.windows import SlideRange, Sliding


@dataclass(frozen=True, slots=True)
class Shape:
    """What a SELECT asks for, seen before anything is bound."""

    grouped: bool
    sub_queries: bool

    @classmethod
    def of(cls, select: Select) -> Shape:
        """The shape of `select`."""
        aggregated = any(is_aggregate(n) for part in outputs_and_having(select) for n in part.walk())
        grouped = bool(select.group) or select.having is not None or aggregated
        return cls(grouped, any(map(is_sub_query_condition, conditions(select))))


def bind_select(select: Select, binder: Binder, as_relation: bool, outer: Scope | None = None) -> Node | None:
    """The plan of `select`; None where it is wrong, which has been reported."""
    shape = Shape.of(select)
    entries = [bind_item(i, binder, as_relation or _stateful(select, shape)) for i in select.items]
    if shape.grouped and not as_relation and _is_window_stream(select, shape, entries):
        return _window_stream(select, entries[0], binder, outer)
    body = bind_body(select, entries, binder, _need(select, shape), outer)
    result = _grouped(select, body, binder) if shape.grouped else _plain(select, body, binder)
    if result is None:
        return None
    result = Distinct(result) if select.distinct is not None else result
    if select.operator is not None:
        return to_stream(select.operator, result, binder.catalog.problems)
    return IStream(result) if body.now else result


def _stateful(select: Select, shape: Shape) -> bool:
    return len(select.items) > 1 or select.distinct is not None or select.operator is not None or shape.grouped


def _need(select: Select, shape: Shape) -> Need | None:
    """What needs a relation besides a join."""
    if shape.grouped:
        return Need("an aggregate")
    return Need("DISTINCT", select.distinct) if select.distinct is not None else None


def _is_window_stream(select: Select, shape: Shape, entries: list[Bound]) -> bool:
    """True for an aggregate over one sliding window of a stream where nothing asks for a relation."""
    other = len(entries) > 1 or select.distinct is not None or select.operator is not None or shape.sub_queries
    return entries[0].slides and not other


def _plain(select: Select, body: Body, binder: Binder) -> Node | None:
    """Without aggregates: conditions and projection."""
    columns = bind_outputs(select.outputs, ExpressionBinder(body.scope, binder.catalog, "the select list"))
    node = join_sub_queries(body, binder)
    return None if node is None or columns is None else project(node, columns)


def _grouped(select: Select, body: Body, binder: Binder) -> Node | None:
    """With aggregates, over a relation. The bounds of its sliding windows, where they are named, are keys."""
    grouping = Grouping(ExpressionBinder(body.scope, binder.catalog, "an aggregate"))
    grouping.add_keys(select.group, select.outputs)
    for entry in body.scope.entries:
        for hidden in entry.hidden:
            grouping.add_key(Column(entry.prefix + hidden.name, hidden.type))
    after = _after_grouping(select, grouping, binder)
    node = join_sub_queries(body, binder)
    if node is None or after is None:
        return None
    node = grouping.prepared(node)
    if grouping.ordered and not _in_order(node):
        _report_order(grouping, binder)
        return None
    result: Node = Aggregate(node, tuple(n for n, _ in grouping.keys), tuple(grouping.calls))
    return project(Filter(result, after.having) if after.having is not None else result, after.columns)


@dataclass(frozen=True, slots=True)
class After:
    """What is said over keys and aggregates: the select list, and HAVING."""

    columns: list[tuple[str, Expression]]
    having: Expression | None


def _after_grouping(select: Select, grouping: Grouping, binder: Binder) -> After | None:
    """The select list and HAVING; None where they, or the keys, are wrong."""
    columns = None
    starred = next((o.span for o in select.outputs if isinstance(o.value, Star)), None)
    if starred is not None:
        binder.catalog.problems.report(
            "* has no place beside GROUP BY and aggregates", starred, help="name the keys and the aggregates"
        )
    else:
        columns = bind_outputs(select.outputs, grouping.after_grouping("the select list"))
    having = None
    if select.having is not None:
        having = grouping.having(select.having, select.outputs)
    wrong = columns is None or grouping.broken or (select.having is not None and having is None)
    return None if wrong or columns is None else After(columns, having)


def _window_stream(select: Select, bound: Bound, binder: Binder, outer: Scope | None) -> Node | None:
    """An aggregate over one sliding window of a stream: the stream of its windows' results."""
    scope = make_scope([bound], False, select, binder, outer)
    scope.late_bounds = True
    where, _ = bind_conditions(select, scope, binder)
    stream, spec = bound.source, bound.spec
    assert isinstance(spec, Sliding)
    grouping = Grouping(ExpressionBinder(scope, binder.catalog, "an aggregate"), bound.bounds(), windowed=True)
    grouping.kept = _needed(spec, stream)
    if where and not _commutes(spec):
        grouping.guard = conjunction(where)
    grouping.add_keys(select.group, select.outputs)
    after = _after_grouping(select, grouping, binder)
    if grouping.guard is not None and grouping.ordered:
        _report_order(grouping, binder)
        return None
    if stream is None or after is None:
        return None
    if where and grouping.guard is None:
        stream = Filter(stream, conjunction(where))
    return project(_windowed(stream, spec, grouping, after.having), after.columns)


def _windowed(stream: Node, spec: Sliding, grouping: Grouping, having: Expression | None) -> Node:
    conditions_after = [] if having is None else [having]
    if grouping.guard is not None:
        passed = grouping.passed()
        conditions_after.insert(0, functions.call(">", Column(passed.name, BIGINT), Literal(0, BIGINT)))
    prepared = grouping.prepared(stream)
    result: Node = WindowAggregate(prepared, spec, tuple(n for n, _ in grouping.keys), tuple(grouping.calls))
    return Filter(result, conjunction(tuple(conditions_after))) if conditions_after else result


def _needed(spec: Sliding, stream: Node | None) -> tuple[Column, ...]:
    """The columns that the window itself reads."""
    names = ((spec.on,) if spec.on else ()) if isinstance(spec, SlideRange) else spec.by
    return tuple(Column(n, stream.schema.type_of(n)) for n in names) if stream is not None else ()


def _commutes(spec: object) -> bool:
    """True for windows that a filter may stand before: those over time (Babu 2.2.4)."""
    return isinstance(spec, SlideRange) and spec.on is None


def _in_order(node: Node) -> bool:
    """True where the rows of a relation are in the order of a stream: a window, filtered and mapped."""
    while isinstance(node, Filter | Map | Delay):
        node = node.input
    return isinstance(node, Window)


def _report_order(grouping: Grouping, binder: Binder) -> None:
    for name, span in grouping.ordered:
        binder.catalog.problems.report(
            f"{name} needs rows in the order of a stream, and these have none",
            span,
            help="use it over one window of a stream, with conditions that a time window takes; or use min or max",
        )
