"""Expressions over the columns of one node: frozen, typed, without a place in a text.

Everything but a literal and a column is a `Call` of a named function: `and`, `=`, `+`, `case`, `cast`, `like`,
`lower`, a user's own. What a function's types are and what it means is said once, in `penstock.plan.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.plan.types import BOOLEAN, Type


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `value` is internal (see `penstock.plan.types`)."""

    value: Any
    type: Type


@dataclass(frozen=True, slots=True)
class Column:
    """The column of the input that bears this name."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to arguments; `function` is lower case, `type` what it returns."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type


Expression = Literal | Column | Call
TRUE = Literal(True, BOOLEAN)


def walk(expression: Expression) -> Iterator[Expression]:
    """`expression` and everything below it, top down."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from walk(argument)


def columns(expression: Expression) -> frozenset[str]:
    """The names of the columns that `expression` reads."""
    return frozenset(e.name for e in walk(expression) if isinstance(e, Column))


def transform(expression: Expression, rule: Callable[[Expression], Expression]) -> Expression:
    """`expression` with `rule` applied to every part, bottom up."""
    if isinstance(expression, Call):
        expression = replace(expression, arguments=tuple(transform(a, rule) for a in expression.arguments))
    return rule(expression)


def substitute(expression: Expression, by_name: Mapping[str, Expression]) -> Expression:
    """`expression` with each column that `by_name` names replaced."""
    return transform(expression, lambda e: by_name.get(e.name, e) if isinstance(e, Column) else e)


def conjuncts(predicate: Expression | None) -> tuple[Expression, ...]:
    """The parts that AND joins, left to right.

    >>> a, b = Column("a", BOOLEAN), Column("b", BOOLEAN)
    >>> conjuncts(conjunction((a, b))) == (a, b)
    True
    """
    if predicate is None or predicate == TRUE:
        return ()
    if isinstance(predicate, Call) and predicate.function == "and":
        return tuple(c for a in predicate.arguments for c in conjuncts(a))
    return (predicate,)


def conjunction(parts: tuple[Expression, ...]) -> Expression:
    """The AND of `parts`; TRUE for none. One n-ary call, in the given order: that order is the order of evaluation."""
    if not parts:
        return TRUE
    return parts[0] if len(parts) == 1 else Call("and", parts, BOOLEAN)


def format_expression(expression: Expression) -> str:
    """`expression` as a person reads it.

    >>> format_expression(Call(">", (Column("bytes", BOOLEAN), Literal(100, BOOLEAN)), BOOLEAN))
    'bytes > 100'
    """
    if isinstance(expression, Literal):
        return "NULL" if expression.value is None else repr(expression.value)
    if isinstance(expression, Column):
        return expression.name
    parts = [_bracketed(a) for a in expression.arguments]
    if expression.function in ("and", "or"):
        return f" {expression.function.upper()} ".join(parts)
    if len(parts) == 2 and not expression.function[0].isalpha():
        return f"{parts[0]} {expression.function} {parts[1]}"
    if expression.function == "cast":
        return f"cast({parts[0]} as {expression.type})"
    return f"{expression.function}({', '.join(map(format_expression, expression.arguments))})"


def _bracketed(expression: Expression) -> str:
    text = format_expression(expression)
    infix = isinstance(expression, Call) and (
        expression.function in ("and", "or") or not expression.function[0].isalpha()
    )
    return f"({text})" if infix else text
