"""Casts between arrays of numbers, booleans and times; to and from strings goes value by value."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.operators.columns.vector import SHORT_DECIMAL_PRECISION, Array, Vector
from penstock.operators.vector_eval.arithmetic import to_integers, within_dates
from penstock.operators.vector_eval.scope import Kernel, Scope, refused
from penstock.plan.expressions import Call
from penstock.plan.functions.calendar import DAY_US, SECOND_US
from penstock.plan.types import Type

_WHOLE: Final = ("int", "bigint")
_BITS: Final = {"int": 31, "bigint": 63}
_MAX: Final = np.iinfo(np.int64).max
_EXACT_IN_DOUBLE: Final = 1 << 53


def kernel(call: Call, scope: Scope) -> Kernel | None:
    """The kernel of a cast, None where values are cast one by one."""
    source, target = call.arguments[0].type, call.type
    if source.name == "decimal" or target.name == "decimal":
        return _decimal(source, target)
    if source.name in _WHOLE and target.name in _WHOLE:
        return _narrowed if _BITS[target.name] < _BITS[source.name] else lambda a: a
    return _PAIRS.get((source.name, target.name))


def _narrowed(a: Vector) -> Vector:
    limit = 1 << 31
    bad = (a.values < -limit) | (a.values >= limit)
    return refused(np.where(bad, 0, a.values), bad, a.nulls)


def _to_double(a: Vector) -> Vector:
    return Vector(a.values.astype(np.float64), a.nulls)


def _to_whole(a: Vector) -> Vector:
    return Vector(a.values.astype(np.int64), a.nulls)


def _to_boolean(a: Vector) -> Vector:
    return Vector(a.values != 0, a.nulls)


def _times(factor: int) -> Kernel:
    limit = _MAX // factor

    def run(a: Vector) -> Vector:
        return refused(a.values * factor, (a.values > limit) | (a.values < -limit), a.nulls)

    return run


def _over(divisor: int, then: Kernel | None = None) -> Kernel:
    def run(a: Vector) -> Vector:
        divided = Vector(a.values // divisor, a.nulls)
        return divided if then is None else then(divided)

    return run


def _seconds(a: Vector) -> Vector:
    return Vector(a.values.astype(np.float64) / SECOND_US, a.nulls)


_PAIRS: Final[dict[tuple[str, str], Kernel]] = {
    ("int", "double"): _to_double,
    ("bigint", "double"): _to_double,
    ("boolean", "double"): _to_double,
    ("boolean", "int"): _to_whole,
    ("boolean", "bigint"): _to_whole,
    ("int", "boolean"): _to_boolean,
    ("bigint", "boolean"): _to_boolean,
    ("double", "boolean"): _to_boolean,
    ("double", "int"): lambda a: to_integers(a.values, a.nulls, 31),
    ("double", "bigint"): lambda a: to_integers(a.values, a.nulls),
    ("timestamp", "date"): within_dates(_over(DAY_US)),
    ("timestamp", "bigint"): _over(SECOND_US),
    ("timestamp", "int"): _over(SECOND_US, _narrowed),
    ("timestamp", "double"): _seconds,
    ("date", "timestamp"): _times(DAY_US),
    ("int", "timestamp"): _times(SECOND_US),
    ("bigint", "timestamp"): _times(SECOND_US),
}


def _decimal(source: Type, target: Type) -> Kernel | None:
    """Between decimals of 18 digits at most and whole numbers. Doubles become decimals by their shortest digits, one by
    one.
    """
    if max(source.precision, target.precision) > SHORT_DECIMAL_PRECISION:
        return None
    if target.name == "double":
        return _decimal_to_double(10**source.scale)
    if target.name == "boolean":
        return _to_boolean
    if target.name in _WHOLE:
        return _cut(10**source.scale, target)
    exact = source.name in (*_WHOLE, "decimal") and target.name == "decimal"
    return _to_decimal(source.scale, target) if exact else None


def _decimal_to_double(factor: int) -> Kernel:
    """One division rounds once, where both sides are whole numbers that a double holds."""

    def run(a: Vector) -> Vector:
        doubles = a.values / float(factor)
        large = np.abs(a.values) > _EXACT_IN_DOUBLE
        if large.any():
            doubles[large] = [v / factor for v in a.values[large].tolist()]
        return Vector(doubles, a.nulls)

    return run


def _cut(factor: int, target: Type) -> Kernel:
    def run(a: Vector) -> Vector:
        whole = Vector((a.values - np.fmod(a.values, factor)) // factor, a.nulls)
        return _narrowed(whole) if target.name == "int" else whole

    return run


def _to_decimal(scale: int, target: Type) -> Kernel:
    up, down = 10 ** max(0, target.scale - scale), 10 ** max(0, scale - target.scale)
    limit = -(-(10**target.precision) // up)

    def run(a: Vector) -> Vector:
        rounded = _half_away(a.values, down)
        return refused(rounded * up, (rounded >= limit) | (rounded <= -limit), a.nulls)

    return run


def _half_away(values: Array, divisor: int) -> Array:
    if divisor == 1:
        return values
    whole = (values - np.fmod(values, divisor)) // divisor
    rest = np.abs(np.fmod(values, divisor))
    rounded: Array = whole + np.sign(values) * (rest >= divisor - rest)
    return rounded
