"""Columns and calls: the parts of an expression that have names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from penstock.cql.binder.catalog import Catalog
from penstock.cql.binder.problems import Problems
from penstock.cql.binder.scopes import Scope
from penstock.cql.grammar.syntax import FunctionCall, Name, span_of
from penstock.errors import PenstockError, suggestion
from penstock.plan import aggregates, functions
from penstock.plan.expressions import Column, Expression, Literal, transform
from penstock.plan.types import STRING

_OPERATORS = ("istream", "dstream", "rstream")
_CLOCKS = ("now", "current_timestamp", "current_date", "localtimestamp", "getdate", "rand", "random", "randn", "uuid")
_CHANGING = "a result depends on its input alone: name a column, such as the one that stamps the stream"


@dataclass(slots=True)
class CallBinder:
    """Binds columns and calls over `scope`; `clause` names where they stand, for messages."""

    scope: Scope
    catalog: Catalog
    clause: str

    @property
    def problems(self) -> Problems:
        """Where mistakes go."""
        return self.catalog.problems

    def bind(self, node: exp.Expr) -> Expression | None:
        """The plan's expression for `node`; `ExpressionBinder` says how."""
        raise TypeError("names alone make no expressions")

    def column(self, node: exp.Column) -> Expression | None:
        """The column that `node` names."""
        return self.scope.resolve(*names_of(node))

    def call(self, node: exp.Expr, name: str, *arguments: Expression | None) -> Expression | None:
        """A call of `name`, None where an argument is None or the call has no type."""
        given = [a for a in arguments if a is not None]
        if len(given) < len(arguments):
            return None
        return self.made(node, lambda *parts: functions.call(name, *parts), *given)

    def made(self, node: exp.Expr, make: Callable[..., Expression], *parts: Expression) -> Expression | None:
        """What `make` makes of `parts`; where it refuses, the message names columns as the query does."""

        def attempt() -> Expression:
            try:
                return make(*parts)
            except PenstockError:
                make(*(transform(p, self._shown) for p in parts))
                raise

        return self.problems.guarded(attempt, span_of(node))

    def _shown(self, part: Expression) -> Expression:
        return Column(self.scope.shown(part.name), part.type) if isinstance(part, Column) else part

    def function(self, node: FunctionCall) -> Expression | None:
        """A scalar function; an aggregate has no place where this is asked."""
        if is_aggregate(node):
            self.problems.report(
                f"aggregate {node.this.lower()} has no place in {self.clause}",
                span_of(node),
                help="aggregates stand in the select list and in HAVING, not inside one another",
            )
            return None
        arguments = [self._argument(a) for a in node.expressions]
        if node.this.lower() not in functions.known_functions():
            self._report_unknown(node)
            return None
        if node.args.get("star") or node.args.get("distinct"):
            self.problems.report(f"{node.this.lower()} is no aggregate: it takes neither * nor DISTINCT", span_of(node))
            return None
        return self.call(node, node.this, *arguments)

    def _report_unknown(self, node: FunctionCall) -> None:
        named = [n for n in (*functions.known_functions(), *aggregates.NAMES) if n[0].isalpha()]
        known = sorted({*named, *functions.user_functions.aggregates, *_OPERATORS})
        alike = [n for n in known if n[0] == node.this[0].lower()] or known
        notes = (f"known: {', '.join(alike)}",)
        near = _CHANGING if node.this.lower() in _CLOCKS else suggestion(node.this, known)
        self.problems.report(f"unknown function '{node.this}'", node.args["name_span"], notes, near)

    def _argument(self, node: exp.Expr) -> Expression | None:
        """An argument; the name of a relation that is no column's is the name itself (section 4.1.1's `lookup(a,
        T)`)."""
        if isinstance(node, exp.Column) and not node.args.get("table"):
            relation = self.catalog.relation_named(node.name)
            if relation is not None and self.scope.peek(*names_of(node)) is None:
                return Literal(relation, STRING)
        return self.bind(node)


def names_of(node: exp.Column) -> tuple[Name | None, Name]:
    """The qualifier and the name that `node` was written with."""
    table, column = node.args.get("table"), node.this
    return (Name(table.this, span_of(table)) if table is not None else None), Name(column.this, span_of(column))


def is_aggregate(node: exp.Expr) -> bool:
    """True for a call of an aggregate, built in or a user's."""
    return isinstance(node, FunctionCall) and aggregates.is_aggregate(node.this)
