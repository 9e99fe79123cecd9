"""Functions of numbers on arrays; each gives to the last bit what `penstock.plan.functions.numeric` gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from penstock.operators.columns.vector import Array, Vector, interned
from penstock.operators.vector_eval.arithmetic import to_integers
from penstock.operators.vector_eval.scope import Kernel, KernelFactory, Scope, masked, refused, spread, union
from penstock.plan.expressions import Call, Literal
from penstock.plan.functions.numeric import UNARY
from penstock.plan.functions.numeric import rounded as round_one
from penstock.plan.types import BIGINT, DOUBLE

_EXACT: Final = 2.0**52
"""Doubles from here on have no fraction."""
_MOST_DIGITS: Final = 15
_INT_MIN: Final = -(1 << 31)


def unary(name: str) -> KernelFactory:
    """The kernel of a function of one double: its ufunc, NULL outside its domain."""
    ufunc, inside = UNARY[name]

    def run(a: Vector) -> Vector:
        with np.errstate(all="ignore"):
            values = ufunc(a.values)
            if inside is None:
                return masked(values, a.nulls)
            return refused(values, ~(inside(a.values) | (a.values != a.values)), a.nulls)

    return lambda call, scope: run


def _power(a: Vector, b: Vector) -> Vector:
    """Constants are spread: NumPy has shortcuts for some that are one number."""
    x, y = (np.ascontiguousarray(v) for v in np.broadcast_arrays(a.values, b.values))
    with np.errstate(all="ignore"):
        values = np.power(x, y)
    return refused(values, (values != values) & (x == x) & (y == y), union(a.nulls, b.nulls))


def _atan2(a: Vector, b: Vector) -> Vector:
    return masked(np.arctan2(a.values, b.values), union(a.nulls, b.nulls))


def _absolute(call: Call, scope: Scope) -> Kernel | None:
    t = call.type
    if t == DOUBLE:
        return lambda a: Vector(np.abs(a.values), a.nulls)
    if t.name == "decimal":
        return None
    least = _INT_MIN if t.name == "int" else np.iinfo(np.int64).min

    def run(a: Vector) -> Vector:
        return refused(np.abs(a.values), a.values == least, a.nulls)

    return run


def _sign(a: Vector) -> Vector:
    return Vector(np.sign(a.values), a.nulls)


def _whole(rounding: np.ufunc) -> KernelFactory:
    """ceil and floor."""

    def kernel(call: Call, scope: Scope) -> Kernel | None:
        t = call.arguments[0].type
        if t == DOUBLE:
            return lambda a: to_integers(rounding(a.values), a.nulls)
        return (lambda a: a) if t == BIGINT else None

    return kernel


def _round(mode: str, near: Callable[[Array], Array]) -> KernelFactory:
    """Rounding of doubles to a constant number of digits; whatever lies near a tie, or is large, is rounded one by one
    by its digits.
    """

    def kernel(call: Call, scope: Scope) -> Kernel | None:
        digits = _constant_digits(call)
        if digits is None or call.type != DOUBLE or not 0 <= digits <= _MOST_DIGITS:
            return _unchanged(call, digits)
        return _scaled(mode, near, digits)

    return kernel


def _unchanged(call: Call, digits: int | None) -> Kernel | None:
    """Integers have no digits after the point."""
    whole = call.type.name in ("int", "bigint") and digits is not None and digits >= 0
    return (lambda a, *rest: a) if whole else None


def _scaled(mode: str, near: Callable[[Array], Array], digits: int) -> Kernel:
    factor = 10.0**digits

    def run(a: Vector, *_: Vector) -> Vector:
        with np.errstate(all="ignore"):
            scaled = a.values * factor
            hard = ~(np.abs(scaled) < _EXACT) | near(scaled)
            values = _NEAREST[mode](scaled) / factor + 0.0
        if hard.any():
            values[hard] = [round_one(v, digits, mode, DOUBLE) for v in a.values[hard].tolist()]
        return Vector(values, a.nulls)

    return run


def _near_tie(scaled: Array) -> Array:
    """Where the product, which is itself rounded, might be on the other side of a tie."""
    return np.asarray(np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5) <= np.abs(scaled) * 1e-15 + 1e-15)


def _near_whole(scaled: Array) -> Array:
    return np.asarray(np.abs(scaled - np.rint(scaled)) <= np.abs(scaled) * 1e-15 + 1e-15)


_NEAREST: Final[dict[str, Callable[[Array], Array]]] = {
    "ROUND_HALF_UP": np.rint,
    "ROUND_HALF_EVEN": np.rint,
    "ROUND_DOWN": np.trunc,
}


def _constant_digits(call: Call) -> int | None:
    if len(call.arguments) == 1:
        return 0
    digits = call.arguments[1]
    return digits.value if isinstance(digits, Literal) else None


def _bitwise(operation: Callable[[Array, Array], Array]) -> KernelFactory:
    def run(a: Vector, b: Vector) -> Vector:
        return masked(operation(a.values, b.values), union(a.nulls, b.nulls))

    return lambda call, scope: run


def _shift(left: bool) -> KernelFactory:
    def kernel(call: Call, scope: Scope) -> Kernel | None:
        narrow = call.type.name == "int"
        width = np.int64(31 if narrow else 63)

        def run(a: Vector, by: Vector) -> Vector:
            distance = by.values & width
            moved = a.values << distance if left else a.values >> distance
            kept = moved.astype(np.int32).astype(np.int64) if narrow and left else moved
            return masked(kept, union(a.nulls, by.nulls))

        return run

    return kernel


def _tested(test: Callable[[Array], Array]) -> KernelFactory:
    def run(a: Vector) -> Vector:
        return masked(test(a.values), a.nulls)

    return lambda call, scope: run


def _extreme(numbers: Any) -> KernelFactory:
    """greatest and least of numbers and times, NULLs passed over."""

    def kernel(call: Call, scope: Scope) -> Kernel | None:
        if interned(call.type):
            return None

        def run(*vectors: Vector) -> Vector:
            count = next((len(v) for v in vectors if v.values.ndim), 1)
            result = spread(vectors[0], count)
            for other in vectors[1:]:
                result = _better(numbers, result, spread(other, count))
            return result

        return run

    return kernel


def _better(choose: Any, a: Vector, b: Vector) -> Vector:
    values = choose(a.values, b.values)
    if a.nulls is None and b.nulls is None:
        return Vector(values)
    if a.nulls is not None:
        values = np.where(a.nulls, b.values, values)
    if b.nulls is not None:
        values = np.where(b.nulls, a.values, values)
    return Vector(values, None if a.nulls is None or b.nulls is None else a.nulls & b.nulls)


KERNELS: Final[dict[str, KernelFactory]] = {
    **{name: unary(name) for name in UNARY},
    "power": lambda call, scope: _power,
    "atan2": lambda call, scope: _atan2,
    "abs": _absolute,
    "sign": lambda call, scope: _sign,
    "ceil": _whole(np.ceil),
    "floor": _whole(np.floor),
    "round": _round("ROUND_HALF_UP", _near_tie),
    "bround": _round("ROUND_HALF_EVEN", _near_tie),
    "trunc": _round("ROUND_DOWN", _near_whole),
    "isnan": _tested(np.isnan),
    "isinf": _tested(np.isinf),
    "&": _bitwise(np.bitwise_and),
    "|": _bitwise(np.bitwise_or),
    "^": _bitwise(np.bitwise_xor),
    "~": _tested(np.invert),
    "<<": _shift(True),
    ">>": _shift(False),
    "greatest": _extreme(np.maximum),
    "least": _extreme(np.fmin),
}
"""The functions of numbers that have a form on arrays."""
