"""Expressions over one side of a join: what its rows are known by."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.operators.columns.vector import interned
from penstock.plan.expressions import Call, Column, Expression, columns, transform
from penstock.plan.types import BIGINT, INT, Type


@dataclass(frozen=True, slots=True)
class Term:
    """An expression over the columns of one side, as that side names them."""

    side: int
    expression: Expression


def term_of(expression: Expression) -> Term:
    """`expression`, which reads one side alone, as a term of it."""
    (side,) = sides_of(expression)
    return Term(side, localised(bare(expression)))


def sides_of(expression: Expression) -> set[int]:
    """The positions of the inputs whose columns `expression` reads."""
    return {int(name.partition(".")[0]) for name in columns(expression)}


def localised(expression: Expression) -> Expression:
    """`expression` with its columns as the one side that it reads names them."""

    def rename(e: Expression) -> Expression:
        return Column(e.name.partition(".")[2], e.type) if isinstance(e, Column) else e

    return transform(expression, rename)


def bare(expression: Expression) -> Expression:
    """`expression` without casts that only widen an integer: its values are the same in the arrays."""
    if isinstance(expression, Call) and expression.function == "cast" and expression.type == BIGINT:
        inner = expression.arguments[0]
        return inner if inner.type == INT else expression
    return expression


def comparable(a: Type, b: Type) -> bool:
    """True where equal values of the two types have equal words."""
    if a == b or {a.name, b.name} == {"int", "bigint"}:
        return True
    return a.name == b.name == "decimal" and a.scale == b.scale and not (interned(a) or interned(b))
