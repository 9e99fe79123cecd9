"""Expressions: from sqlglot's trees to typed ones of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from penstock.cql.binder.calls import CallBinder
from penstock.cql.binder.literals import as_decimal, literal, negated
from penstock.cql.grammar.syntax import CastTo, Duration, FunctionCall, SubQuery, span_of
from penstock.plan import functions
from penstock.plan.expressions import Expression, Literal
from penstock.plan.types import BOOLEAN, INTERVAL, NULL

_BINARY: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.DPipe: "concat",
    exp.RegexpLike: "rlike",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
SUB_QUERY_HELP: Final = (
    "a sub-query stands in FROM, or as one of the conditions that AND joins in WHERE: x IN (...), EXISTS (...)"
)


@dataclass(slots=True)
class ExpressionBinder(CallBinder):
    """Binds expressions over `scope`.

    `instead`, where given, is asked about each part first: (True, result) where it knows the part, else (False, None).
    Grouped queries give one that knows keys and aggregates.
    """

    instead: Callable[[exp.Expr], tuple[bool, Expression | None]] | None = None

    def bind(self, node: exp.Expr) -> Expression | None:
        """The plan's expression for `node`, None where it is wrong, which has been reported."""
        if self.instead is not None:
            known, result = self.instead(node)
            if known:
                return result
        rule = _RULES.get(type(node))
        if rule is None:
            self.problems.report(f"CQL has no such expression in {self.clause}", span_of(node))
            return None
        return rule(self, node)

    def condition(self, node: exp.Expr) -> Expression | None:
        """As `bind`, for what must be true or false."""
        bound = self.bind(node)
        if bound is not None and bound.type not in (BOOLEAN, NULL):
            self.problems.report(
                f"{self.clause} needs a condition, and this is {bound.type}",
                span_of(node),
                help="compare it with something",
            )
            return None
        return bound

    def connective(self, node: exp.And | exp.Or) -> Expression | None:
        """AND and OR: a chain of them is one call."""
        kind, name = (exp.And, "and") if isinstance(node, exp.And) else (exp.Or, "or")
        parts = [self._boolean(part, name.upper()) for part in members(node, kind)]
        return self.call(node, name, *parts)

    def _boolean(self, node: exp.Expr, operator: str) -> Expression | None:
        bound = self.bind(node)
        if bound is not None and bound.type not in (BOOLEAN, NULL):
            self.problems.report(f"{operator} joins conditions, and this is {bound.type}", span_of(node))
            return None
        return bound

    def binary(self, node: exp.Expr) -> Expression | None:
        """An operator between two operands; `1.5` beside a decimal is a decimal."""
        left, right = self.bind(node.this), self.bind(node.expression)
        if left is not None and right is not None:
            left, right = _suited(left, node.this, right), _suited(right, node.expression, left)
        return self.call(node, _BINARY[type(node)], left, right)

    def negative(self, node: exp.Neg) -> Expression | None:
        """A sign; of a constant it is part of the constant."""
        bound = self.bind(node.this)
        if isinstance(bound, Literal) and bound.type.numeric and bound.value is not None:
            return negated(bound)
        return self.call(node, "-", bound)

    def inverse(self, node: exp.Not) -> Expression | None:
        """NOT."""
        inner = node.this
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return self.call(node, "is_null" if inner.args.get("negate") else "is_not_null", self.bind(inner.this))
        return self.call(node, "not", self.bind(inner))

    def identity(self, node: exp.Is) -> Expression | None:
        """IS [NOT] NULL, TRUE, FALSE."""
        value, negated = self.bind(node.this), bool(node.args.get("negate"))
        if isinstance(node.expression, exp.Null):
            return self.call(node, "is_not_null" if negated else "is_null", value)
        if not isinstance(node.expression, exp.Boolean):
            self.problems.report(
                "IS takes NULL, TRUE, FALSE or DISTINCT FROM", span_of(node.expression), help="= compares values"
            )
            return None
        wanted = value if node.expression.this else self.call(node, "not", value)
        return self.call(node, "coalesce", wanted, Literal(False, BOOLEAN))

    def distinct_from(self, node: exp.NullSafeNEQ) -> Expression | None:
        """IS DISTINCT FROM."""
        return self.call(node, "not", self.call(node, "<=>", self.bind(node.this), self.bind(node.expression)))

    def like(self, node: exp.Like | exp.ILike, escape: exp.Expr | None = None) -> Expression | None:
        """[NOT] LIKE and ILIKE, with or without ESCAPE."""
        arguments = [node.this, node.expression, *([escape] if escape is not None else [])]
        name = "like" if isinstance(node, exp.Like) else "ilike"
        matched = self.call(node, name, *[self.bind(a) for a in arguments])
        return self.call(node, "not", matched) if node.args.get("negate") else matched

    def escaped(self, node: exp.Escape) -> Expression | None:
        """The ESCAPE of a LIKE."""
        if isinstance(node.this, exp.Like | exp.ILike):
            return self.like(node.this, node.expression)
        self.problems.report("ESCAPE belongs to LIKE", span_of(node))
        return None

    def between(self, node: exp.Between) -> Expression | None:
        """x BETWEEN a AND b: both are included."""
        value, low, high = (self.bind(node.args[k]) for k in ("this", "low", "high"))
        if value is not None and low is not None and high is not None:
            low, high = _suited(low, node.args["low"], value), _suited(high, node.args["high"], value)
        return self.call(node, "and", self.call(node, ">=", value, low), self.call(node, "<=", value, high))

    def among(self, node: exp.In) -> Expression | None:
        """x IN (a, b): a query in place of the list is no matter of expressions."""
        if node.args.get("query") is not None:
            self.misplaced(node.args["query"])
            return None
        value = self.bind(node.this)
        listed = [(self.bind(v), v) for v in node.expressions]
        return self.call(
            node, "in", value, *[_suited(v, n, value) if v is not None and value is not None else v for v, n in listed]
        )

    def case(self, node: exp.Case) -> Expression | None:
        """CASE, with conditions or with an operand that is compared."""
        parts: list[Expression | None] = []
        for branch in node.args["ifs"]:
            parts += [self._case_condition(node, branch), self.bind(branch.args["true"])]
        if node.args.get("default") is not None:
            parts.append(self.bind(node.args["default"]))
        return self.call(node, "case", *parts)

    def _case_condition(self, node: exp.Case, branch: exp.If) -> Expression | None:
        condition = self.bind(branch.this)
        return condition if node.this is None else self.call(branch, "=", self.bind(node.this), condition)

    def cast(self, node: CastTo) -> Expression | None:
        """CAST, and typed constants such as DATE '2026-01-31'."""
        value = self.bind(node.this)
        if value is None:
            return None
        made = self.made(node, lambda part: functions.cast(part, node.args["to"]), value)
        constant = value.value if isinstance(value, Literal) else None
        if node.args.get("typed") and isinstance(made, Literal) and made.value is None:
            self.problems.report(f"{constant!r} is no {node.args['to']}", span_of(node.this))
            return None
        return made

    def misplaced(self, node: exp.Expr) -> None:
        """A sub-query where none may stand."""
        self.problems.report("a sub-query has no place here", span_of(node), help=SUB_QUERY_HELP)

    def row(self, node: exp.Tuple) -> None:
        """A row value outside of IN (query)."""
        self.problems.report(
            "a row of values has no place here", span_of(node), help="it stands left of IN (SELECT ...) alone"
        )


def members(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The operands of a chain of `kind`, left to right, parentheses around parts of the chain left out."""
    stack = [node]
    while stack:
        part = stack.pop()
        inside = part.this if isinstance(part, exp.Paren) and isinstance(part.unnest(), kind) else part
        if isinstance(inside, kind):
            stack += [inside.expression, inside.this]
        elif inside is not part:
            stack.append(inside)
        else:
            yield part


def _suited(bound: Expression, node: exp.Expr, beside: Expression) -> Expression:
    """`bound`, as a decimal where it is a constant with a point beside a decimal."""
    return (as_decimal(node) or bound) if beside.type.name == "decimal" else bound


_RULES: Final[dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Expression | None]]] = {
    **dict.fromkeys(_BINARY, ExpressionBinder.binary),
    exp.And: ExpressionBinder.connective,
    exp.Or: ExpressionBinder.connective,
    exp.Not: ExpressionBinder.inverse,
    exp.Column: ExpressionBinder.column,
    exp.Neg: ExpressionBinder.negative,
    exp.Is: ExpressionBinder.identity,
    exp.NullSafeNEQ: ExpressionBinder.distinct_from,
    exp.Like: ExpressionBinder.like,
    exp.ILike: ExpressionBinder.like,
    exp.Escape: ExpressionBinder.escaped,
    exp.Between: ExpressionBinder.between,
    exp.In: ExpressionBinder.among,
    exp.Case: ExpressionBinder.case,
    CastTo: ExpressionBinder.cast,
    FunctionCall: ExpressionBinder.function,
    SubQuery: ExpressionBinder.misplaced,
    exp.Exists: ExpressionBinder.misplaced,
    exp.Tuple: ExpressionBinder.row,
    exp.BitwiseNot: lambda binder, node: binder.call(node, "~", binder.bind(node.this)),
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Literal: lambda binder, node: literal(node, binder.problems),
    exp.Null: lambda binder, node: Literal(None, NULL),
    exp.Boolean: lambda binder, node: Literal(bool(node.this), BOOLEAN),
    Duration: lambda binder, node: Literal(node.this, INTERVAL),
}
