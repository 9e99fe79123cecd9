"""Expressions as Catalyst columns, where both mean exactly the same; None where they may not.

Only what is the same to the last NULL is translated: columns, literals, comparisons, the logic of three values, tests
for NULL, and regular expressions of the part of the language in which Java and Python agree. Arithmetic differs in
overflow, division by zero and types, and stays in the lanes.
"""

from __future__ import annotations

import re
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
_PLAIN: Final = r"[A-Za-z0-9 _,:;=@#%&<>!'\"~`/-]"
_REGEX: Final = re.compile(
    rf"\^?(?:(?:{_PLAIN}|\.|\[(?:[A-Za-z0-9_]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])+\])[*+?]?|\({_PLAIN}+(?:\|{_PLAIN}+)*\))*"
)
"""Regular expressions that mean the same in Java: characters, dots, simple classes, repeated or not, and choices of
texts; no end of text, which differs, and nothing that Java answers by recursion."""
_COMPARED: Final = ("boolean", "int", "bigint", "double", "string", "date")


_LOGIC: Final[dict[str, Callable[[list[Column]], Column]]] = {
    "and": lambda given: reduce(lambda a, b: a & b, given),
    "or": lambda given: reduce(lambda a, b: a | b, given),
    "not": lambda given: ~given[0],
    "is_null": lambda given: given[0].isNull(),
    "is_not_null": lambda given: given[0].isNotNull(),
}


def named(name: str) -> Column:
    """The column called exactly so, dots and backticks included."""
    return F.col(f"`{name.replace('`', '``')}`")


def catalyst(expression: Expression) -> Column | None:
    """`expression` over a DataFrame that has its columns by name."""
    return _said(expression) if sayable(expression) else None


def sayable(expression: Expression) -> bool:
    """True where `catalyst` has something to say; this needs no session.

    >>> from penstock.cql import parse_expression
    >>> from penstock.plan.schema import Schema
    >>> texts = ("a > 1 AND a < 7", "a + 1 > 2", "b RLIKE 'x.*[0-9]+y'", "b RLIKE 'y$'")
    >>> [sayable(parse_expression(text, Schema.parse("a int, b string"))) for text in texts]
    [True, False, True, False]
    """
    if isinstance(expression, Literal):
        plain = isinstance(expression.value, bool | int | float | str) or expression.value is None
        return plain and expression.type.name in (*_COMPARED, "null")
    if not isinstance(expression, Call):
        return True
    if expression.function == "rlike":
        return _same_regex(expression) and sayable(expression.arguments[0])
    kinds = {a.type.name for a in expression.arguments}
    known = expression.function in _LOGIC or (
        expression.function in _BINARY and len(kinds) == 1 and kinds.issubset(_COMPARED)
    )
    return known and all(map(sayable, expression.arguments))


def _same_regex(call: Call) -> bool:
    text, pattern = call.arguments
    known = isinstance(pattern, Literal) and isinstance(pattern.value, str) and text.type.name == "string"
    return known and _REGEX.fullmatch(str(pattern.value)) is not None  # type: ignore[union-attr]


def _said(expression: Expression) -> Column:
    if isinstance(expression, Literal):
        return F.lit(expression.value).cast(_name(expression.type))
    if not isinstance(expression, Call):
        return named(expression.name)
    if expression.function == "rlike":
        text, pattern = expression.arguments
        # A dot of Python's is anything but a line feed; Java knows more ends of lines.
        return _said(text).rlike(str(pattern.value).replace(".", r"[^\n]"))  # type: ignore[union-attr]
    given = [_said(a) for a in expression.arguments]
    if expression.function in _BINARY:
        return _BINARY[expression.function](*given)
    return _LOGIC[expression.function](given)


def _name(t: Type) -> str:
    return "void" if t.name == "null" else t.name
