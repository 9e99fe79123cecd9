"""Constant folding: what can be known of an expression without a row is put in its place. No row's value changes.

Users' functions are not called here, and a part that may set a row aside is only left out where evaluation would not
have reached it. Conjuncts keep their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from penstock.plan.expressions import Call, Expression, Literal, transform
from penstock.plan.functions.evaluate import can_raise, evaluate
from penstock.plan.functions.logic import case_parts
from penstock.plan.functions.registry import FUNCTIONS


def fold(expression: Expression) -> Expression:
    """`expression` with its constant parts evaluated.

    >>> from penstock.plan.expressions import Column, format_expression
    >>> from penstock.plan.functions import call
    >>> from penstock.plan.types import BIGINT, INT
    >>> x, two, three = Column("x", BIGINT), Literal(2, INT), Literal(3, INT)
    >>> format_expression(fold(call("and", call("<", two, three), call(">", x, call("*", two, three)))))
    'x > 6'
    >>> format_expression(fold(call("=", x, call("/", two, Literal(0, INT)))))
    'NULL'
    """
    return transform(expression, _rule)


def _rule(expression: Expression) -> Expression:
    if not isinstance(expression, Call) or expression.function not in FUNCTIONS:
        return expression
    special = _SPECIAL.get(expression.function)
    if special is not None:
        return special(expression)
    if all(isinstance(a, Literal) for a in expression.arguments):
        return Literal(evaluate(expression, {}), expression.type)
    if FUNCTIONS[expression.function].strict and any(_is(a, None) for a in expression.arguments):
        return expression if can_raise(expression) else Literal(None, expression.type)
    return expression


def _is(expression: Expression, value: bool | None) -> bool:
    return isinstance(expression, Literal) and expression.value is value


def _junction(absorbing: bool) -> Callable[[Call], Expression]:
    """AND and OR: the neutral constant goes; nothing after the absorbing one is evaluated, and nothing before it
    matters unless it may raise.
    """

    def folded(expression: Call) -> Expression:
        parts: list[Expression] = []
        for part in (p for a in expression.arguments for p in _members(a, expression.function)):
            if not _is(part, not absorbing):
                parts.append(part)
            if _is(part, absorbing):
                parts = [*_up_to_last_that_raises(parts), part]
                break
        if all(_is(p, None) for p in parts):
            return Literal(None, expression.type) if parts else Literal(not absorbing, expression.type)
        return parts[0] if len(parts) == 1 else replace(expression, arguments=tuple(parts))

    return folded


def _up_to_last_that_raises(parts: list[Expression]) -> list[Expression]:
    """`parts` without the end that nobody misses; what stands before one that may raise decides whether that one is
    evaluated.
    """
    last = max((i for i, p in enumerate(parts) if can_raise(p)), default=-1)
    return parts[: last + 1]


def _members(expression: Expression, function: str) -> tuple[Expression, ...]:
    return expression.arguments if isinstance(expression, Call) and expression.function == function else (expression,)


def _case(expression: Call) -> Expression:
    pairs, otherwise = case_parts(expression.arguments)
    kept: list[tuple[Expression, Expression]] = []
    for condition, value in pairs:
        if _is(condition, True):
            otherwise = value
            break
        if not isinstance(condition, Literal):
            kept.append((condition, value))
    if not kept:
        return Literal(None, expression.type) if otherwise is None else otherwise
    tail = () if otherwise is None else (otherwise,)
    return replace(expression, arguments=(*(part for pair in kept for part in pair), *tail))


def _coalesce(expression: Call) -> Expression:
    parts: list[Expression] = []
    for part in expression.arguments:
        if not _is(part, None):
            parts.append(part)
        if isinstance(part, Literal) and part.value is not None:
            break
    if not parts:
        return Literal(None, expression.type)
    return parts[0] if len(parts) == 1 else replace(expression, arguments=tuple(parts))


_SPECIAL: Final[dict[str, Callable[[Call], Expression]]] = {
    "and": _junction(False),
    "or": _junction(True),
    "case": _case,
    "coalesce": _coalesce,
    "weight": lambda expression: expression,
}
