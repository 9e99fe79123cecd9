"""Functions of numbers. Outside its domain a function is NULL; NaN gives NaN; what leaves the result type is NULL, in
doubles infinity.

Logarithms, powers and angles are NumPy's, here and on trains alike, so that both give the same last digit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import numpy as np

from penstock.plan.expressions import Expression, Literal
from penstock.plan.functions.arithmetic import in_range, remainder
from penstock.plan.functions.decimals import EXACT, fitted
from penstock.plan.functions.function import Bind, Function, Meaning, Shape, define
from penstock.plan.functions.signature import coercible
from penstock.plan.types import BIGINT, DOUBLE, MAX_DECIMAL_PRECISION, NULL, STRING, Type, decimal

Inside = Callable[[Any], Any]
"""Whether a double, or each of an array of doubles, is in a function's domain; what it says of NaN does not matter."""
UNARY: Final[dict[str, tuple[np.ufunc, Inside | None]]] = {
    "sqrt": (np.sqrt, lambda x: x >= 0),
    "cbrt": (np.cbrt, None),
    "exp": (np.exp, None),
    "ln": (np.log, lambda x: x > 0),
    "log10": (np.log10, lambda x: x > 0),
    "log2": (np.log2, lambda x: x > 0),
    "sin": (np.sin, lambda x: abs(x) < math.inf),
    "cos": (np.cos, lambda x: abs(x) < math.inf),
    "tan": (np.tan, lambda x: abs(x) < math.inf),
    "asin": (np.arcsin, lambda x: abs(x) <= 1),
    "acos": (np.arccos, lambda x: abs(x) <= 1),
    "atan": (np.arctan, None),
    "sinh": (np.sinh, None),
    "cosh": (np.cosh, None),
    "tanh": (np.tanh, None),
    "degrees": (np.degrees, None),
    "radians": (np.radians, None),
}
"""Functions of one double, and where they are defined; None: everywhere."""
_MASK: Final = {"int": (1 << 32) - 1, "bigint": (1 << 64) - 1}
_WIDTH: Final = {"int": 32, "bigint": 64}
_UNARY_ABOUT: Final = {
    "sqrt": "square root",
    "cbrt": "cube root",
    "exp": "e to the power",
    "ln": "natural logarithm",
    "log10": "logarithm to base 10",
    "log2": "logarithm to base 2",
    "sin": "sine",
    "cos": "cosine",
    "tan": "tangent",
    "asin": "arc sine",
    "acos": "arc cosine",
    "atan": "arc tangent",
    "sinh": "hyperbolic sine",
    "cosh": "hyperbolic cosine",
    "tanh": "hyperbolic tangent",
    "degrees": "radians in degrees",
    "radians": "degrees in radians",
}


def _unary(name: str) -> Function:
    ufunc, inside = UNARY[name]

    def meaning(x: float) -> float | None:
        if inside is not None and x == x and not inside(x):
            return None
        with np.errstate(all="ignore"):
            return float(ufunc(x))

    return define(f"{name}(double) -> double", _UNARY_ABOUT[name], meaning)


def power(x: float, y: float) -> float | None:
    """x to the power y; NULL for a negative x and a y with a fraction. Arrays of one: scalars have shortcuts that
    differ.
    """
    with np.errstate(all="ignore"):
        result = float(np.power(np.array([x]), np.array([y]))[0])
    return None if result != result and x == x and y == y else result


def _log(base: float, x: float | None = None) -> float | None:
    """`log(x)` is the natural logarithm, `log(base, x)` the one to another base."""
    if x is None:
        return None if base <= 0 else float(np.log(base))
    if base <= 0 or x <= 0 or base == 1:
        return None
    with np.errstate(all="ignore"):
        return float(np.log(x) / np.log(base))


def _sign(x: Any) -> float:
    return math.nan if x != x else float((x > 0) - (x < 0))


def _absolute(arguments: tuple[Type, ...], result: Type) -> Meaning:
    return (
        (lambda n: in_range(abs(n), result))
        if result.name in _WIDTH
        else EXACT.abs
        if result.name == "decimal"
        else abs
    )


def _to_whole(rounding: Callable[[Any], int]) -> Bind:
    def bind(arguments: tuple[Type, ...], result: Type) -> Meaning:
        if result == BIGINT:
            return lambda x: in_range(rounding(x), BIGINT) if not isinstance(x, float) or math.isfinite(x) else None
        return lambda x: fitted(Decimal(rounding(x)), result)

    return bind


def _whole_rule(arguments: tuple[Expression, ...]) -> Shape | None:
    """Doubles and integers give BIGINT, decimals one digit more and none after the point."""
    if len(arguments) != 1 or not (arguments[0].type.numeric or arguments[0].type == NULL):
        return None
    t = arguments[0].type
    if t.name == "decimal":
        return Shape((t,), decimal(min(t.precision - t.scale + 1, MAX_DECIMAL_PRECISION), 0))
    return Shape((DOUBLE if t == DOUBLE else BIGINT,), BIGINT)


def rounded(value: Any, digits: int, rounding: str, result: Type) -> Any:
    """`value` with so many digits after the point (before it where negative), a double by the fewest digits that mean
    it.
    """
    if isinstance(value, float) and (not math.isfinite(value) or digits > 400):
        return value
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if digits < -400:
        cut = Decimal(0)
    elif -(digits) <= int(exact.as_tuple().exponent):
        cut = exact
    else:
        cut = exact.quantize(Decimal(1).scaleb(-digits), rounding, EXACT)
    if result == DOUBLE:
        return float(cut) + 0.0
    return fitted(cut, result) if result.name == "decimal" else in_range(int(cut), result)


def rounder(rounding: str) -> Bind:
    """The meanings of functions that round in one of the ways of `decimal`."""

    def bind(arguments: tuple[Type, ...], result: Type) -> Meaning:
        return lambda value, digits=0: rounded(value, digits, rounding, result)

    return bind


def round_rule(carries: bool) -> Callable[[tuple[Expression, ...]], Shape | None]:
    """Integers and doubles keep their type, decimals lose digits after the point, and get one before it where rounding
    may carry.
    """

    def rule(arguments: tuple[Expression, ...]) -> Shape | None:
        if not 1 <= len(arguments) <= 2 or not (arguments[0].type.numeric or arguments[0].type == NULL):
            return None
        if len(arguments) == 2 and (
            (isinstance(arguments[1], Literal) and arguments[1].type == STRING) or not coercible(arguments[1], BIGINT)
        ):
            return None
        t = DOUBLE if arguments[0].type == NULL else arguments[0].type
        result = _cut_decimal(t, arguments[1:], carries) if t.name == "decimal" else t
        return Shape((t, BIGINT)[: len(arguments)], result)

    return rule


def _cut_decimal(t: Type, digits: tuple[Expression, ...], carries: bool) -> Type:
    places = digits[0].value if digits and isinstance(digits[0], Literal) else 0 if not digits else None
    if places is None:
        return decimal(min(t.precision + carries, MAX_DECIMAL_PRECISION), t.scale)
    scale = max(0, min(t.scale, places))
    whole = max(t.precision - t.scale + carries, min(-places + 1, MAX_DECIMAL_PRECISION) if places < 0 else 0, 1)
    return decimal(min(whole + scale, MAX_DECIMAL_PRECISION), scale)


def _positive_remainder(arguments: tuple[Type, ...], result: Type) -> Meaning:
    def meaning(a: Any, b: Any) -> Any:
        rest = remainder(a, b)
        return rest if rest is None or rest != rest or rest >= 0 else remainder(rest + b, b)

    return meaning


def signed(bits: int, t: Type) -> int:
    """The integer whose two's complement the low bits are."""
    width = _WIDTH[t.name]
    low = bits & _MASK[t.name]
    return low - (1 << width) if low >> (width - 1) else low


def _shift(left: bool) -> Bind:
    """Bits that leave are lost; the distance counts modulo the width, as on the processor."""

    def bind(arguments: tuple[Type, ...], result: Type) -> Meaning:
        width = _WIDTH[result.name]
        return lambda n, by: signed(n << (by % width), result) if left else n >> (by % width)

    return bind


FUNCTIONS: Final = (
    define("abs(N) -> N", "without its sign", bind=_absolute),
    define("sign(double) -> double", "-1, 0 or 1", _sign, aliases=("signum",)),
    define(
        "ceil(N) -> bigint; ceil(decimal) -> decimal",
        "the least whole number that is not less",
        bind=_to_whole(math.ceil),
        rule=_whole_rule,
        aliases=("ceiling",),
    ),
    define(
        "floor(N) -> bigint; floor(decimal) -> decimal",
        "the greatest whole number that is not greater",
        bind=_to_whole(math.floor),
        rule=_whole_rule,
    ),
    define(
        "round(N [, bigint]) -> N",
        "to so many digits after the point (0), halves away from zero; negative: before the point",
        bind=rounder("ROUND_HALF_UP"),
        rule=round_rule(True),
    ),
    define(
        "bround(N [, bigint]) -> N",
        "as round, halves to the even digit",
        bind=rounder("ROUND_HALF_EVEN"),
        rule=round_rule(True),
    ),
    *map(_unary, UNARY),
    define(
        "log(double [, double]) -> double",
        "natural logarithm; of two numbers: the logarithm of the second to the base of the first",
        _log,
    ),
    define("power(double, double) -> double", "the first to the power of the second", power, aliases=("pow",)),
    define(
        "atan2(double, double) -> double",
        "the angle of the point (second, first)",
        lambda y, x: float(np.arctan2(y, x)),
    ),
    define("pi() -> double", "3.14159...", lambda: math.pi),
    define("e() -> double", "2.71828...", lambda: math.e),
    define(
        "pmod(I, I) -> I; pmod(double, double) -> double",
        "remainder that is not negative for a positive divisor",
        bind=_positive_remainder,
    ),
    define("isnan(double) -> boolean", "true for NaN", lambda x: x != x, aliases=("is_nan",)),
    define(
        "isinf(double) -> boolean",
        "true for infinity and minus infinity",
        lambda x: abs(x) == math.inf,
        aliases=("is_inf",),
    ),
    define("&(I, I) -> I", "bits set in both", operator.and_, aliases=("bitand", "bitwise_and")),
    define("|(I, I) -> I", "bits set in one or both", operator.or_, aliases=("bitor", "bitwise_or")),
    define("^(I, I) -> I", "bits set in one only", operator.xor, aliases=("xor", "bitxor", "bitwise_xor")),
    define("~(I) -> I", "all bits turned", operator.invert, aliases=("bitnot", "bitwise_not")),
    define(
        "<<(I, bigint) -> I",
        "bits moved to the left; the distance counts modulo 32 or 64",
        bind=_shift(True),
        aliases=("shiftleft",),
    ),
    define(
        ">>(I, bigint) -> I",
        "bits moved to the right, the sign kept; the distance counts modulo 32 or 64",
        bind=_shift(False),
        aliases=("shiftright",),
    ),
    define("bit_count(I) -> int", "the number of bits set", lambda n: (n & _MASK["bigint"]).bit_count()),
)
