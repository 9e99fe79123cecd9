"""Three-valued logic and choice. `and`, `or`, `case` and `coalesce` evaluate their arguments in order, and only as far
as needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.plan.expressions import Expression, Literal
from penstock.plan.functions.function import Shape, define
from penstock.plan.functions.signature import coercible, unified
from penstock.plan.types import BOOLEAN

Evaluate = Callable[[Expression], Any]


def case_parts(arguments: tuple[Any, ...]) -> tuple[tuple[tuple[Any, Any], ...], Any]:
    """The (condition, value) pairs of a `case`, and its ELSE (None where it has none).

    >>> case_parts(("a", 1, "b", 2, 3))
    ((('a', 1), ('b', 2)), 3)
    """
    pairs = tuple(zip(arguments[0::2], arguments[1::2], strict=False))
    return pairs, arguments[-1] if len(arguments) % 2 else None


def _case_rule(arguments: tuple[Expression, ...]) -> Shape | None:
    if len(arguments) < 2:
        return None
    pairs, otherwise = case_parts(arguments)
    values = [v for _, v in pairs] + ([] if otherwise is None else [otherwise])
    result = unified(values)
    if result is None or not all(coercible(c, BOOLEAN) and c.type.name in ("boolean", "null") for c, _ in pairs):
        return None
    wanted = [t for _ in pairs for t in (BOOLEAN, result)] + ([] if otherwise is None else [result])
    return Shape(tuple(wanted), result)


def _and(arguments: tuple[Expression, ...], evaluate: Evaluate) -> bool | None:
    result: bool | None = True
    for argument in arguments:
        value = evaluate(argument)
        if value is False:
            return False
        result = None if value is None else result
    return result


def _or(arguments: tuple[Expression, ...], evaluate: Evaluate) -> bool | None:
    result: bool | None = False
    for argument in arguments:
        value = evaluate(argument)
        if value is True:
            return True
        result = None if value is None else result
    return result


def _case(arguments: tuple[Expression, ...], evaluate: Evaluate) -> Any:
    pairs, otherwise = case_parts(arguments)
    for condition, value in pairs:
        if evaluate(condition) is True:
            return evaluate(value)
    return None if otherwise is None else evaluate(otherwise)


def _coalesce(arguments: tuple[Expression, ...], evaluate: Evaluate) -> Any:
    for argument in arguments:
        value = evaluate(argument)
        if value is not None:
            return value
    return None


LAZY: Final[dict[str, Callable[[tuple[Expression, ...], Evaluate], Any]]] = {
    "and": _and,
    "or": _or,
    "case": _case,
    "coalesce": _coalesce,
}
"""The functions that evaluate their own arguments."""


def _eager(name: str) -> Callable[..., Any]:
    return lambda *values: LAZY[name](values, lambda value: value)


def _between(call: Callable[..., Expression], arguments: tuple[Expression, ...]) -> Expression:
    value, low, high = arguments
    return call("and", call(">=", value, low), call("<=", value, high))


def _nullif(call: Callable[..., Expression], arguments: tuple[Expression, ...]) -> Expression:
    value, other = arguments
    return call("case", call("=", value, other), Literal(None, value.type), value)


FUNCTIONS: Final = (
    define(
        "and(boolean...) -> boolean",
        "true where all are; stops at the first that is false",
        _eager("and"),
        strict=False,
    ),
    define(
        "or(boolean...) -> boolean", "true where one is; stops at the first that is true", _eager("or"), strict=False
    ),
    define("not(boolean) -> boolean", "the opposite; NULL stays NULL", lambda a: not a, aliases=("!",)),
    define(
        "is_null(any) -> boolean",
        "true for NULL, false for all else",
        lambda a: a is None,
        aliases=("isnull",),
        strict=False,
    ),
    define(
        "is_not_null(any) -> boolean",
        "false for NULL, true for all else",
        lambda a: a is not None,
        aliases=("isnotnull",),
        strict=False,
    ),
    define(
        "case(boolean, T [, boolean, T...]) -> T",
        "the value after the first condition that is true, else the last one, else NULL",
        _eager("case"),
        strict=False,
        rule=_case_rule,
    ),
    define(
        "coalesce(T...) -> T", "the first that is not NULL", _eager("coalesce"), strict=False, aliases=("ifnull", "nvl")
    ),
    define(
        "if(boolean, T, T) -> T",
        "the second where the first is true, else the third",
        rewrite=lambda call, arguments: call("case", *arguments),
        aliases=("iff",),
    ),
    define("nullif(T, T) -> T", "the first, NULL where the two are equal", rewrite=_nullif),
    define("between(T, T, T) -> boolean", "the first is at least the second and at most the third", rewrite=_between),
)
