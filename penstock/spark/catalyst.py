"""Expressions as Catalyst columns, where both mean exactly the same; None where they may not.

Only what is the same to the last NULL is translated: columns, literals, comparisons, the logic of three values and
tests for NULL. Arithmetic differs in overflow, division by zero and types, and stays in the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.plan.expressions import Call, Expression, Literal
from penstock.plan.types import Type

_BINARY: Final[dict[str, Callable[[Column, Column], Column]]] = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
_COMPARED: Final = ("boolean", "int", "bigint", "double", "string", "date")


_LOGIC: Final[dict[str, Callable[[list[Column]], Column]]] = {
    "and": lambda given: reduce(lambda a, b: a & b, given),
    "or": lambda given: reduce(lambda a, b: a | b, given),
    "not": lambda given: ~given[0],
    "is_null": lambda given: given[0].isNull(),
    "is_not_null": lambda given: given[0].isNotNull(),
}


def catalyst(expression: Expression) -> Column | None:
    """`expression` over a DataFrame that has its columns by name."""
    return _said(expression) if sayable(expression) else None


def sayable(expression: Expression) -> bool:
    """True where `catalyst` has something to say; this needs no session.

    >>> from penstock.cql import parse_expression
    >>> from penstock.plan.schema import Schema
    >>> [sayable(parse_expression(text, Schema.parse("a int"))) for text in ("a > 1 AND a < 7", "a + 1 > 2")]
    [True, False]
    """
    if isinstance(expression, Literal):
        plain = isinstance(expression.value, bool | int | float | str) or expression.value is None
        return plain and expression.type.name in (*_COMPARED, "null")
    if not isinstance(expression, Call):
        return True
    kinds = {a.type.name for a in expression.arguments}
    known = expression.function in _LOGIC or (
        expression.function in _BINARY and len(kinds) == 1 and kinds.issubset(_COMPARED)
    )
    return known and all(map(sayable, expression.arguments))


def _said(expression: Expression) -> Column:
    if isinstance(expression, Literal):
        return F.lit(expression.value).cast(_name(expression.type))
    if not isinstance(expression, Call):
        return F.col(f"`{expression.name}`")
    given = [_said(a) for a in expression.arguments]
    if expression.function in _BINARY:
        return _BINARY[expression.function](*given)
    return _LOGIC[expression.function](given)


def _name(t: Type) -> str:
    return "void" if t.name == "null" else t.name
