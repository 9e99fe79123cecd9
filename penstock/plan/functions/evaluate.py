"""What an expression means for one row: plain Python, the reference that the fast engines are held against."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from penstock.errors import PenstockError, unknown
from penstock.plan.expressions import Call, Column, Expression, Literal, walk
from penstock.plan.functions.function import Meaning
from penstock.plan.functions.logic import LAZY
from penstock.plan.functions.registry import FUNCTIONS
from penstock.plan.functions.user import evaluate_user, user_functions
from penstock.plan.types import Type


def evaluate(expression: Expression, row: Mapping[str, Any]) -> Any:
    """The value of `expression` for a row of internal values by column name.

    `and`, `or`, `case` and `coalesce` evaluate their arguments in order and only as far as needed. Raises SetAside
    where a user's function fails: the row then has no result.

    >>> from penstock.plan.functions import call
    >>> from penstock.plan.types import BIGINT
    >>> evaluate(call("+", Column("x", BIGINT), Literal(1, BIGINT)), {"x": 41})
    42
    """
    if isinstance(expression, Literal):
        return expression.value
    if isinstance(expression, Column):
        return row[expression.name]
    lazy = LAZY.get(expression.function)
    if lazy is not None:
        return lazy(expression.arguments, lambda argument: evaluate(argument, row))
    return apply(expression, [evaluate(a, row) for a in expression.arguments])


def apply(call: Call, values: list[Any]) -> Any:
    """The value of `call` where its arguments have these values."""
    types = tuple(a.type for a in call.arguments)
    if call.function not in FUNCTIONS:
        return evaluate_user(user_function(call.function), values, types)
    if FUNCTIONS[call.function].strict and any(v is None for v in values):
        return None
    return meaning(call.function, types, call.type)(*values)


@lru_cache(maxsize=4096)
def meaning(function: str, arguments: tuple[Type, ...], result: Type) -> Meaning:
    """The meaning of a built-in function for these types; where it is strict, for values that are not NULL."""
    return FUNCTIONS[function].bind(arguments, result)


def user_function(name: str) -> Any:
    """The user's function of that name."""
    found = user_functions.functions.get(name)
    if found is None:
        raise PenstockError(unknown("function", name, list(user_functions.functions)))
    return found


def can_raise(expression: Expression) -> bool:
    """True where a row may be set aside: only users' functions fail, a built-in one gives NULL."""
    return any(isinstance(e, Call) and e.function not in FUNCTIONS for e in walk(expression))


def expensive(expression: Expression) -> bool:
    """True where evaluating costs much more than a few comparisons."""
    return any(
        isinstance(e, Call) and (e.function not in FUNCTIONS or FUNCTIONS[e.function].expensive)
        for e in walk(expression)
    )
