"""Arithmetic on arrays. What leaves 64 bits is found without a loop and is NULL, as in
`penstock.plan.functions.arithmetic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from penstock.operators.columns.vector import SHORT_DECIMAL_PRECISION, Array, Vector
from penstock.operators.vector_eval.scope import Kernel, Scope, masked, refused, union
from penstock.plan.expressions import Call, Expression, Literal
from penstock.plan.types import DATE, DOUBLE, FIRST_DAY, INTERVAL, LAST_DAY, Type

_SAFE_PRODUCT: Final = 9.223372036854e18
"""A product that is below this in doubles is below 2 ** 63."""
_MIN: Final = np.iinfo(np.int64).min


def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    total = a.values + b.values
    if b.values.ndim == 0:
        overflow = _turned(a.values, total, rising=b.values >= 0)
    else:
        overflow = ((a.values ^ total) & (b.values ^ total)) < 0
    return refused(total, overflow, union(a.nulls, b.nulls))


def subtract(a: Vector, b: Vector) -> Vector:
    """a - b."""
    difference = a.values - b.values
    if b.values.ndim == 0:
        overflow = _turned(a.values, difference, rising=b.values < 0)
    else:
        overflow = ((a.values ^ b.values) & (a.values ^ difference)) < 0
    return refused(difference, overflow, union(a.nulls, b.nulls))


def _turned(before: Array, after: Array, *, rising: Array) -> Array:
    """Where one constant, added to `before`, led past the end of 64 bits: what should be larger is smaller."""
    return after < before if rising else after > before


def multiply(a: Vector, b: Vector) -> Vector:
    """a * b; rows whose product in doubles comes near 2 ** 63 are multiplied exactly."""
    product = a.values * b.values
    near = np.abs(np.multiply(a.values, b.values, dtype=np.float64)) >= _SAFE_PRODUCT
    if near.any():
        near[near] = _leaves_64_bits(*(np.broadcast_to(v.values, near.shape)[near] for v in (a, b)))
    return refused(product, near, union(a.nulls, b.nulls))


def _leaves_64_bits(a: Array, b: Array) -> list[bool]:
    return [not -(1 << 63) <= x * y < (1 << 63) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


def negate(a: Vector) -> Vector:
    """-a."""
    return refused(-a.values, a.values == _MIN, a.nulls)


def _divisors(b: Array) -> tuple[Array, Array]:
    """`b` with a harmless 1 for 0, and where that was."""
    zero = b == 0
    return (np.where(zero, 1, b), zero) if zero.any() else (b, zero)


def remainder(a: Vector, b: Vector) -> Vector:
    """a % b with the sign of a; -1 divides everything, and the processor cannot take it for the smallest integer."""
    divisor, zero = _divisors(b.values)
    rest = np.fmod(a.values, np.where(divisor == -1, 1, divisor))
    return _full(rest, zero, union(a.nulls, b.nulls))


def quotient(a: Vector, b: Vector) -> Vector:
    """a div b, without the fraction."""
    divisor, zero = _divisors(b.values)
    harmless = np.where(divisor == -1, 1, divisor)
    whole = (a.values - np.fmod(a.values, harmless)) // harmless
    negated = divisor == -1
    bad = zero | (negated & (a.values == _MIN))
    return _full(np.where(negated, np.negative(whole), whole), bad, union(a.nulls, b.nulls))


def _full(values: Array, bad: Array, nulls: Array | None) -> Vector:
    return refused(values, np.broadcast_to(bad, values.shape), nulls)


def _of_doubles(operation: Callable[[Array, Array], Array]) -> Kernel:
    def run(a: Vector, b: Vector) -> Vector:
        with np.errstate(all="ignore"):
            return masked(operation(a.values, b.values), union(a.nulls, b.nulls))

    return run


def _dividing(operation: Callable[[Array, Array], Array]) -> Kernel:
    def run(a: Vector, b: Vector) -> Vector:
        with np.errstate(all="ignore"):
            return _full(operation(a.values, b.values), b.values == 0, union(a.nulls, b.nulls))

    return run


def within_dates(kernel: Kernel) -> Kernel:
    """`kernel`, NULL where its result is no DATE."""

    def run(*arguments: Vector) -> Vector:
        values, nulls = kernel(*arguments)
        return refused(values, (values < FIRST_DAY) | (values > LAST_DAY), nulls)

    return run


def _scaling_interval(operation: Kernel) -> Kernel:
    """An interval times or by a double, rounded half away from zero."""

    def run(a: Vector, b: Vector) -> Vector:
        values, nulls = operation(
            Vector(a.values.astype(np.float64), a.nulls), Vector(b.values.astype(np.float64), b.nulls)
        )
        return to_integers(half_away(values), nulls)

    return run


def half_away(values: Array) -> Array:
    """Doubles rounded to whole numbers, ties away from zero; exact, unlike floor(x + 0.5)."""
    with np.errstate(all="ignore"):
        whole = np.trunc(values)
        result: Array = whole + np.copysign(np.abs(values - whole) >= 0.5, values)
    return result


def to_integers(values: Array, nulls: Array | None, bits: int = 63) -> Vector:
    """Doubles without their fraction as integers, NULL where they have too many bits or are no number."""
    limit = 2.0**bits
    whole = np.trunc(values)
    fits = (whole >= -limit) & (whole < limit)
    if fits.all():
        return Vector(whole.astype(np.int64), nulls)
    return masked(np.where(fits, whole, 0.0).astype(np.int64), union(nulls, ~fits))


def rescaled(kernel: Kernel, scales: tuple[int, ...], target: int) -> Kernel:
    """`kernel` on decimals brought to one scale."""
    factors = [np.array(10 ** (target - s), np.int64) for s in scales]

    def run(*vectors: Vector) -> Vector:
        return kernel(*(v if f == 1 else Vector(v.values * f, v.nulls) for v, f in zip(vectors, factors, strict=True)))

    return run


_INTEGER: Final[dict[str, Kernel]] = {"+": add, "-": subtract, "*": multiply, "%": remainder, "div": quotient}
_DOUBLE: Final[dict[str, Kernel]] = {
    "+": _of_doubles(np.add),
    "-": _of_doubles(np.subtract),
    "*": _of_doubles(np.multiply),
    "/": _dividing(np.divide),
    "%": _dividing(np.fmod),
}


_UNCHECKED: Final[dict[str, Kernel]] = {**_DOUBLE, "/": _of_doubles(np.divide), "%": _of_doubles(np.fmod)}
"""For constants on the right that can be divided by."""


def _harmless(divisor: Expression) -> bool:
    return isinstance(divisor, Literal) and divisor.value is not None and divisor.value != 0 and divisor.value != -1


def _plain_remainder(a: Vector, b: Vector) -> Vector:
    return masked(np.fmod(a.values, b.values), a.nulls)


def kernel(call: Call, scope: Scope) -> Kernel | None:
    """The kernel of an arithmetic call; None for decimals that do not fit 64 bits."""
    types = tuple(a.type for a in call.arguments)
    if len(types) == 1:
        return _minus(call.type)
    if call.type == DOUBLE:
        return (_UNCHECKED if _harmless(call.arguments[1]) else _DOUBLE)[call.function]
    if call.type == INTERVAL and DOUBLE in types:
        return _scaling_interval(_DOUBLE[call.function])
    if any(t.name == "decimal" for t in types):
        return _of_decimals(call, types)
    plain = _plain_remainder if call.function == "%" and _harmless(call.arguments[1]) else _INTEGER[call.function]
    return within_dates(plain) if call.type == DATE else plain


def _minus(t: Type) -> Kernel | None:
    if t == DOUBLE:
        return lambda a: masked(-a.values, a.nulls)
    return None if t.name == "decimal" and t.precision > SHORT_DECIMAL_PRECISION else negate


def _of_decimals(call: Call, types: tuple[Type, ...]) -> Kernel | None:
    scale = max(t.scale for t in types)
    widest = max(t.precision - t.scale + scale for t in types)
    if max(widest, call.type.precision) > SHORT_DECIMAL_PRECISION or call.function in ("/", "div"):
        return None
    if call.function == "*":
        return multiply if call.type.scale == sum(t.scale for t in types) else None
    return rescaled(_INTEGER[call.function], tuple(t.scale for t in types), scale) if call.type.scale == scale else None
