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


def catalyst(expression: Expression) -> Column | None:
    """`expression` over a DataFrame that has its columns by name."""
    if isinstance(expression, Call):
        return _call(expression)
    if isinstance(expression, Literal):
        plain = isinstance(expression.value, bool | int | float | str) or expression.value is None
        known = expression.type.name in (*_COMPARED, "null")
        return F.lit(expression.value).cast(_name(expression.type)) if plain and known else None
    return F.col(f"`{expression.name}`")


def _name(t: Type) -> str:
    return "void" if t.name == "null" else t.name


def _call(call: Call) -> Column | None:
    arguments = [catalyst(a) for a in call.arguments]
    given = [a for a in arguments if a is not None]
    if len(given) < len(arguments):
        return None
    if call.function in _BINARY and len({a.type.name for a in call.arguments}) == 1:
        return _BINARY[call.function](*given) if call.arguments[0].type.name in _COMPARED else None
    match call.function:
        case "and":
            return reduce(lambda a, b: a & b, given)
        case "or":
            return reduce(lambda a, b: a | b, given)
        case "not":
            return ~given[0]
        case "is_null":
            return given[0].isNull()
        case "is_not_null":
            return given[0].isNotNull()
    return None
