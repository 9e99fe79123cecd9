"""`+ - * / % div` and unary minus, over numbers, times and intervals.

Integers give BIGINT, a double makes a double, decimals follow Spark's precision rules. What the result type cannot hold
is NULL, and so is anything divided by zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from penstock.plan.expressions import Expression
from penstock.plan.functions.decimals import EXACT, fitted, result_type
from penstock.plan.functions.function import Bind, Function, Meaning, Shape, define
from penstock.plan.functions.signature import narrow
from penstock.plan.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FIRST_DAY,
    INT,
    INTERVAL,
    LAST_DAY,
    NULL,
    TIMESTAMP,
    Type,
    decimal,
    digits,
)

LIMITS: Final = {"int": (-(1 << 31), (1 << 31) - 1), "date": (FIRST_DAY, LAST_DAY)}
"""The least and the greatest value of an integer-like type; 64 bits where it is not named."""
_WHOLE: Final = (-(1 << 63), (1 << 63) - 1)
_PAST_64_BITS: Final = 10**30
_TEMPORAL: Final = {
    ("+", "timestamp", "interval"): TIMESTAMP,
    ("+", "interval", "timestamp"): TIMESTAMP,
    ("-", "timestamp", "interval"): TIMESTAMP,
    ("-", "timestamp", "timestamp"): INTERVAL,
    ("+", "interval", "interval"): INTERVAL,
    ("-", "interval", "interval"): INTERVAL,
    ("*", "interval", "bigint"): INTERVAL,
    ("*", "bigint", "interval"): INTERVAL,
    ("*", "interval", "double"): INTERVAL,
    ("*", "double", "interval"): INTERVAL,
    ("/", "interval", "double"): INTERVAL,
    ("+", "date", "bigint"): DATE,
    ("+", "bigint", "date"): DATE,
    ("-", "date", "bigint"): DATE,
}
_TEMPORAL_TYPES: Final = ("timestamp", "date", "interval")


def in_range(value: int, t: Type) -> int | None:
    """`value`, or None where the integer-like type `t` does not hold it."""
    least, greatest = LIMITS.get(t.name, _WHOLE)
    return value if least <= value <= greatest else None


def half_up(value: float) -> int | None:
    """`value` rounded to the nearest whole number, ties away from zero; None where it has no 64 bits."""
    return int(Decimal(value).quantize(Decimal(1), context=EXACT)) if abs(value) < _PAST_64_BITS else None


def remainder(a: Any, b: Any) -> Any:
    """a - b * trunc(a / b), with the sign of `a`; None for b = 0."""
    if b == 0:
        return None
    if isinstance(a, float):
        return math.fmod(a, b) if math.isfinite(a) else math.nan
    return EXACT.remainder(a, b) if isinstance(a, Decimal) else int(math.copysign(1, a)) * (abs(a) % abs(b))


def quotient(a: int, b: int) -> int | None:
    """a / b without its fraction; None for b = 0."""
    if b == 0:
        return None
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _divided(a: float, b: float) -> float | None:
    return None if b == 0 else a / b


_INTEGER: Final[dict[str, Meaning]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": remainder,
    "div": quotient,
}
_DOUBLE: Final[dict[str, Meaning]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": remainder,
    "/": _divided,
}
_DECIMAL: Final[dict[str, Meaning]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "%": remainder,
    "/": EXACT.divide,
}


def _checked(meaning: Meaning, result: Type) -> Meaning:
    def checked(*values: int) -> int | None:
        value = meaning(*values)
        return None if value is None else in_range(value, result)

    return checked


def _decimal_meaning(symbol: str, result: Type) -> Meaning:
    meaning, divides = _DECIMAL[symbol], symbol in "/%"

    def rounded(a: Decimal, b: Decimal) -> Decimal | None:
        return None if divides and not b else fitted(meaning(a, b), result)

    return rounded


def _scaled_interval(symbol: str) -> Meaning:
    def scaled(a: float, b: float) -> int | None:
        value = _divided(a, b) if symbol == "/" else a * b
        whole = None if value is None else half_up(value)
        return None if whole is None else in_range(whole, INTERVAL)

    return scaled


def _bind(symbol: str) -> Bind:
    def bind(arguments: tuple[Type, ...], result: Type) -> Meaning:
        if result == DOUBLE:
            return _DOUBLE[symbol]
        if result == INTERVAL and DOUBLE in arguments:
            return _scaled_interval(symbol)
        return _decimal_meaning(symbol, result) if result.name == "decimal" else _checked(_INTEGER[symbol], result)

    return bind


def _rule(symbol: str) -> Callable[[tuple[Expression, ...]], Shape | None]:
    def rule(arguments: tuple[Expression, ...]) -> Shape | None:
        if len(arguments) != 2:
            return None
        types = [a.type for a in arguments]
        if any(t.name in _TEMPORAL_TYPES for t in types):
            return _temporal(symbol, types)
        types = [_of_partner(t, o) for t, o in zip(types, reversed(types), strict=True)]
        if not all(t.numeric for t in types):
            return None
        if DOUBLE in types or (symbol == "/" and not any(t.name == "decimal" for t in types)):
            return None if symbol == "div" else Shape((DOUBLE, DOUBLE), DOUBLE)
        return _exact(symbol, [as_exact(t, a) for t, a in zip(types, arguments, strict=True)], types)

    return rule


def _of_partner(t: Type, other: Type) -> Type:
    """NULL takes the type of what it is combined with."""
    return t if t != NULL else other if other != NULL else BIGINT


def as_exact(t: Type, argument: Expression) -> Type:
    """The decimal type that holds an exact number; a whole constant needs only the digits that it has."""
    if t.name == "decimal":
        return t
    narrowed = narrow(argument, (decimal(),))
    return narrowed if narrowed.name == "decimal" else decimal(*digits(t))


def _exact(symbol: str, decimals: list[Type], types: list[Type]) -> Shape:
    if any(t.name == "decimal" for t in types):
        a, b = decimals
        return Shape((a, b), BIGINT if symbol == "div" else result_type(symbol, a, b))
    if symbol == "%" and types == [INT, INT]:
        return Shape((INT, INT), INT)
    return Shape((BIGINT, BIGINT), BIGINT)


def _temporal(symbol: str, types: list[Type]) -> Shape | None:
    """Dates move by whole days, or become timestamps; a factor or divisor of an interval is a bigint or a double."""
    a, b = types
    if "date" in (a.name, b.name) and not {a.name, b.name} & {"int", "bigint"}:
        a, b = (TIMESTAMP if t.name == "date" else t for t in (a, b))
    if NULL in (a, b):
        a, b = (INTERVAL if t == NULL else t for t in (a, b))
    a, b = (BIGINT if t == INT else DOUBLE if t.name == "decimal" else t for t in (a, b))
    if symbol == "/" and b == BIGINT:
        b = DOUBLE
    result = _TEMPORAL.get((symbol, a.name, b.name))
    return None if result is None else Shape((a, b), result)


def _minus_rule(arguments: tuple[Expression, ...]) -> Shape | None:
    if len(arguments) == 2:
        return _rule("-")(arguments)
    t = arguments[0].type if arguments else NULL
    if not t.numeric and t not in (INTERVAL, NULL):
        return None
    kept = t if t.name in ("double", "decimal", "interval") else BIGINT
    return Shape((kept,), kept)


def _minus_bind(arguments: tuple[Type, ...], result: Type) -> Meaning:
    if len(arguments) == 2:
        return _bind("-")(arguments, result)
    return (
        EXACT.minus
        if result.name == "decimal"
        else operator.neg
        if result == DOUBLE
        else _checked(operator.neg, result)
    )


def _div_bind(arguments: tuple[Type, ...], result: Type) -> Meaning:
    if arguments[0].name != "decimal":
        return _bind("div")(arguments, result)

    def whole(a: Decimal, b: Decimal) -> int | None:
        return None if not b else in_range(int(EXACT.divide_int(a, b)), result)

    return whole


def _operator(symbol: str, signatures: str, about: str, aliases: tuple[str, ...] = ()) -> Function:
    return define(signatures, about, bind=_bind(symbol), rule=_rule(symbol), aliases=aliases)


FUNCTIONS: Final = (
    _operator(
        "+",
        "+(N, N) -> N; +(timestamp, interval) -> timestamp; +(interval, interval) -> interval; "
        "+(date, bigint) -> date; +(date, interval) -> timestamp",
        "sum; a bigint of integers; a date and a number make the date that many days later",
    ),
    define(
        "-(N, N) -> N; -(N) -> N; -(timestamp, interval) -> timestamp; -(timestamp, timestamp) -> interval; "
        "-(interval, interval) -> interval; -(interval) -> interval; "
        "-(date, bigint) -> date; -(date, date) -> interval",
        "difference, or the opposite of one number",
        bind=_minus_bind,
        rule=_minus_rule,
    ),
    _operator("*", "*(N, N) -> N; *(interval, N) -> interval", "product"),
    _operator(
        "/",
        "/(N, N) -> N; /(interval, N) -> interval",
        "quotient, a double where neither is a decimal; NULL where the divisor is 0",
    ),
    _operator("%", "%(N, N) -> N", "remainder, with the sign of the dividend; NULL where the divisor is 0", ("mod",)),
    define(
        "div(bigint, bigint) -> bigint; div(decimal, decimal) -> bigint",
        "quotient without its fraction; NULL where the divisor is 0",
        bind=_div_bind,
        rule=_rule("div"),
    ),
)
