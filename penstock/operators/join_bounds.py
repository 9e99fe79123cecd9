"""Comparisons as bounds: which values of one side's term can match, given the rows of the other sides.

    0.v - 1.v <= 5    bounds 0.v from above by 1.v + 5, and 1.v from below by 0.v - 5
    abs(0.v - 1.v) < 5    is two of them

A bound only says where to look: the comparison itself is checked afterwards, so a limit may be too generous.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.operators.columns.vector import interned
from penstock.operators.join_terms import Term, bare, comparable, sides_of, term_of
from penstock.plan.expressions import Call, Expression
from penstock.plan.functions import can_raise
from penstock.plan.types import Type

MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
UNITS: Final = {"int": "number", "bigint": "number", "timestamp": "us", "interval": "us"}
"""Types whose sums and differences are those of the integers in the arrays, by what they count."""
Sum = tuple[tuple[int, Expression], ...]
"""A sum of expressions, each with +1 or -1."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`term` compared (by <, <=, > or >=) with the sum `limit`, whose parts read other sides."""

    term: Term
    operator: str
    limit: Sum


def bounds_on(conjunct: Expression, side: int) -> Iterator[Bound]:
    """The bounds that `conjunct` puts on terms of `side`; none where an expression can fail."""
    if isinstance(conjunct, Call) and conjunct.function in MIRRORED and not can_raise(conjunct):
        for total, operator in _totals(conjunct):
            yield from _solved(total, operator, side)


def _totals(conjunct: Call) -> Iterator[tuple[Sum, str]]:
    """The comparison as sums that are < or <= 0."""
    (a, b), operator = conjunct.arguments, conjunct.function
    if operator in (">", ">="):
        a, b, operator = b, a, MIRRORED[operator]
    if not _countable(a.type) or UNITS[a.type.name] != UNITS.get(b.type.name):
        if comparable(a.type, b.type) and not interned(a.type):
            yield ((1, a), (-1, b)), operator
    elif isinstance(a, Call) and a.function == "abs":
        inside = _parts(a.arguments[0])
        yield inside + _opposite(_parts(b)), operator
        yield _opposite(inside) + _opposite(_parts(b)), operator
    else:
        yield _parts(a) + _opposite(_parts(b)), operator


def _parts(expression: Expression) -> Sum:
    """`expression` as a sum."""
    expression = bare(expression)
    if isinstance(expression, Call) and expression.function in ("+", "-") and len(expression.arguments) == 2:
        a, b = expression.arguments
        if all(_countable(e.type) and UNITS[e.type.name] == UNITS.get(expression.type.name) for e in (a, b)):
            return _parts(a) + (_parts(b) if expression.function == "+" else _opposite(_parts(b)))
    return ((1, expression),)


def _opposite(parts: Sum) -> Sum:
    return tuple((-sign, e) for sign, e in parts)


def _countable(t: Type) -> bool:
    return t.name in UNITS


def _solved(total: Sum, operator: str, side: int) -> Iterator[Bound]:
    """`total` < 0 (or <=) solved for the one part that reads `side`, where there is one and it reads nothing else."""
    mine = [(sign, e) for sign, e in total if side in sides_of(e)]
    if len(mine) == 1 and sides_of(mine[0][1]) == {side}:
        (sign, expression), rest = mine[0], tuple(part for part in total if part != mine[0])
        limit, operator = (_opposite(rest), operator) if sign > 0 else (rest, MIRRORED[operator])
        yield Bound(term_of(expression), operator, limit)
