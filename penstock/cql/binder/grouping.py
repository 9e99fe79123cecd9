"""GROUP BY and aggregates: which columns are keys, which are computed before grouping, and what may be said after
it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from penstock.cql.binder.aggregates import Pieces, aggregate_pieces
from penstock.cql.binder.calls import is_aggregate, names_of
from penstock.cql.binder.expressions import ExpressionBinder
from penstock.cql.binder.scopes import BOUNDS
from penstock.cql.grammar.syntax import FunctionCall, Output, span_of
from penstock.errors import Span
from penstock.plan import aggregates, functions
from penstock.plan.expressions import Column, Expression, Literal, format_expression
from penstock.plan.node import Node
from penstock.plan.nodes import AggregateCall, Map
from penstock.plan.schema import Field
from penstock.plan.types import BIGINT, BOOLEAN

_ONE_ROW: Final = Literal(True, BOOLEAN)


@dataclass(slots=True)
class Grouping:
    """Collects keys and aggregates while the select list and HAVING are bound.

    before    binds over the rows that are grouped
    after     the bounds of a window that only the result has, as far as they may be named
    guard     a condition that cannot be applied before the window counts the rows: aggregates skip what fails it
    windowed  the result has the bounds of a window as its last columns
    kept      columns that the window itself reads
    """

    before: ExpressionBinder
    after: tuple[Field, ...] = ()
    guard: Expression | None = None
    windowed: bool = False
    kept: tuple[Column, ...] = ()
    keys: list[tuple[str, Expression]] = field(default_factory=list)
    arguments: list[tuple[str, Expression]] = field(default_factory=list)
    calls: list[AggregateCall] = field(default_factory=list)
    ordered: list[tuple[str, Span]] = field(default_factory=list)
    broken: bool = False

    def add_keys(self, group: tuple[exp.Expr, ...], outputs: tuple[Output, ...]) -> None:
        """The keys of GROUP BY: columns, expressions, and aliases of the select list where no column has the name."""
        for node in group:
            if isinstance(node, exp.Column) and self._bound_of_window(node) is not None:
                continue
            key = self._key(_aliased(node, outputs, self.before))
            self.broken = self.broken or key is None
            if key is not None:
                self.add_key(key)

    def add_key(self, key: Expression) -> None:
        """One more key."""
        if all(e != key for _, e in self.keys):
            self.keys.append((self._fresh(key), key))

    def _key(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Literal) and not node.is_string:
            self.before.problems.report(
                "GROUP BY takes no positions", span_of(node), help="name the column or repeat the expression"
            )
            return None
        return self.before.bind(node)

    def instead(self, node: exp.Expr) -> tuple[bool, Expression | None]:
        """For `ExpressionBinder`: aggregates, keys, and columns that are neither."""
        if isinstance(node, FunctionCall) and is_aggregate(node):
            return True, self._aggregate(node)
        if isinstance(node, exp.Column):
            bound = self._bound_of_window(node)
            return True, bound if bound is not None else self._column(node)
        if all(isinstance(e, Column) for _, e in self.keys):
            return False, None
        key = self._whole_key(node)
        return key is not None, key

    def having(self, node: exp.Expr, outputs: tuple[Output, ...]) -> Expression | None:
        """HAVING: it may also name the aliases of the select list, where no key has the name: `sum(b) AS b` is meant by
        b, which could mean nothing else."""
        named = {o.alias.text.lower(): o.value for o in outputs if o.alias and isinstance(o.value, exp.Expr)}

        def instead(part: exp.Expr) -> tuple[bool, Expression | None]:
            if not isinstance(part, exp.Column) or part.args.get("table") or part.name.lower() not in named:
                return self.instead(part)
            known = self.before.scope.peek(*names_of(part))
            if known is not None and self._key_name(known) is not None:
                return self.instead(part)
            return True, self.after_grouping("the select list").bind(named[part.name.lower()])

        return ExpressionBinder(self.before.scope, self.before.catalog, "HAVING", instead).condition(node)

    def after_grouping(self, clause: str) -> ExpressionBinder:
        """Binds over keys and aggregates."""
        return ExpressionBinder(self.before.scope, self.before.catalog, clause, self.instead)

    def _bound_of_window(self, node: exp.Column) -> Column | None:
        named = next((f for f in self.after if f.name == node.name.lower()), None)
        if named is None or self.before.scope.peek(*names_of(node)) is not None:
            return None
        qualifier = names_of(node)[0]
        if qualifier is not None and self.before.scope.entry(qualifier.text) is None:
            return None
        return Column(named.name, named.type)

    def _column(self, node: exp.Column) -> Expression | None:
        column = self.before.column(node)
        if column is None:
            return None
        name = self._key_name(column)
        if name is None:
            self.before.problems.report(
                f"column '{node.name}' is neither a key nor inside an aggregate",
                span_of(node),
                help=f"add it to GROUP BY, or say which of the group's values is meant: max({node.name})",
            )
            return None
        return Column(name, column.type)

    def _whole_key(self, node: exp.Expr) -> Column | None:
        """The key that is this whole expression, as in GROUP BY a + 1."""
        if isinstance(node, exp.Literal | exp.Boolean | exp.Null) or any(map(is_aggregate, node.walk())):
            return None
        bound = self.before.problems.quietly(lambda: self.before.bind(node))
        name = None if bound is None else self._key_name(bound)
        return Column(name, bound.type) if name is not None and bound is not None else None

    def _key_name(self, expression: Expression) -> str | None:
        return next((name for name, e in self.keys if e == expression), None)

    def _aggregate(self, node: FunctionCall) -> Expression | None:
        pieces = aggregate_pieces(node, self.before)
        return None if pieces is None else self._call(pieces, span_of(node))

    def _call(self, pieces: Pieces, span: Span) -> Column:
        argument, kind = pieces.argument, pieces.type
        if self.guard is not None:
            argument = functions.call("case", self.guard, argument if argument is not None else _ONE_ROW)
        name = None if argument is None else self._argument_name(argument)
        call = pieces.call(name, kind)
        while any(call.name == key for key, _ in self.keys):
            call = replace(call, name=f"{call.name}'")
        if call.function in aggregates.RULES and aggregates.properties(call.function).order_sensitive:
            self.ordered.append((call.function, span))
        if call not in self.calls:
            self.calls.append(call)
        return Column(call.name, kind)

    def _argument_name(self, argument: Expression) -> str:
        known = next((name for name, e in self.arguments if e == argument), None)
        if known is None:
            known = self._fresh(argument)
            self.arguments.append((known, argument))
        return known

    def _fresh(self, expression: Expression) -> str:
        """A column's own name, or the text of an expression; made different where something else has that name
        already."""
        name = expression.name if isinstance(expression, Column) else format_expression(expression)
        others: dict[str, Expression] = {c.name: c for c in self.kept} | dict((*self.keys, *self.arguments))
        while (name in BOUNDS and self.windowed) or others.get(name, expression) != expression:
            name += "'"
        return name

    def passed(self) -> AggregateCall:
        """Counts the rows of a group that meet the guard."""
        assert self.guard is not None
        column = self._call(Pieces("count", None, BIGINT), Span(0, 0))
        return next(c for c in self.calls if c.name == column.name)

    def prepared(self, node: Node) -> Node:
        """`node` with the computed keys and arguments; `node` itself where all are columns of it under their own
        names."""
        wanted = dict((*self.keys, *self.arguments))
        if all(isinstance(e, Column) and e.name == name for name, e in wanted.items()):
            return node
        return Map(node, tuple((wanted | {c.name: c for c in self.kept}).items()))


def _aliased(node: exp.Expr, outputs: tuple[Output, ...], before: ExpressionBinder) -> exp.Expr:
    """The expression that an alias of the select list stands for, where no column has that name."""
    if (
        not isinstance(node, exp.Column)
        or node.args.get("table") is not None
        or before.scope.peek(*names_of(node)) is not None
    ):
        return node
    named = [o.value for o in outputs if o.alias is not None and o.alias.text.lower() == node.name.lower()]
    return named[0] if named and isinstance(named[0], exp.Expr) else node
