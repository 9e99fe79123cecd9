"""Comparisons of arrays in SQL's order: NaN equals NaN and is above all numbers. Where one side is a constant no pass
over the other looks for NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned
from penstock.operators.vector_eval.scope import Build, Closure, Kernel, Scope, any_null, union, unscaled
from penstock.plan.expressions import Call, Column, Expression, Literal
from penstock.plan.types import DOUBLE, Type

Operation = Callable[[Array, Array], Array]
PLAIN: Final[dict[str, Operation]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
"""For integers, booleans and codes."""
MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TO_NUMBER: Final[dict[str, Operation]] = {
    **PLAIN,
    ">": lambda x, c: ~(x <= c),
    ">=": lambda x, c: ~(x < c),
}
"""For doubles on the left and, on the right, a number that is not NaN: IEEE comparisons with NaN are false, so the
negated ones are true.
"""
_TO_NAN: Final[dict[str, Operation]] = {
    "=": lambda x, c: x != x,
    "<>": lambda x, c: x == x,
    "<": lambda x, c: x == x,
    "<=": lambda x, c: np.ones(len(x), np.bool_),
    ">": lambda x, c: np.zeros(len(x), np.bool_),
    ">=": lambda x, c: x != x,
}
DOUBLES: Final[dict[str, Operation]] = {
    "=": lambda x, y: (x == y) | ((x != x) & (y != y)),
    "<>": lambda x, y: (x != y) & ((x == x) | (y == y)),
    "<": lambda x, y: (x == x) & ~(x >= y),
    "<=": lambda x, y: (x <= y) | (y != y),
    ">": lambda x, y: (y == y) & ~(x <= y),
    ">=": lambda x, y: (x >= y) | (x != x),
}
"""For doubles on both sides."""


def compile_comparison(call: Call, scope: Scope, build: Build) -> Closure | None:
    """A closure for a comparison; None where strings or arrays are compared by order and not just for equality."""
    left, right = call.arguments
    if isinstance(left, Literal):
        return compile_comparison(Call(MIRRORED[call.function], (right, left), call.type), scope, build)
    if interned(left.type) and call.function not in ("=", "<>"):
        return None
    if isinstance(right, Literal) and right.value is not None:
        return _with_constant(call.function, left, right, scope, build)
    operation = (DOUBLES if left.type == DOUBLE else PLAIN)[call.function]
    return _of_two(operation, build(left), build(right))


def _of_two(operation: Operation, left: Closure, right: Closure) -> Closure:
    def run(train: Train) -> Vector:
        a, b = left(train), right(train)
        return _answered(operation(a.values, b.values), union(a.nulls, b.nulls))

    return run


def _answered(values: Array, nulls: Array | None) -> Vector:
    if nulls is not None:
        values &= ~nulls
    return Vector(values, nulls)


def _with_constant(function: str, left: Expression, right: Literal, scope: Scope, build: Build) -> Closure:
    if interned(right.type):
        return _with_code(PLAIN[function], build(left), right, scope)
    operation = _operation(function, right)
    limit = np.array(unscaled(right.value, right.type))
    if isinstance(left, Column):
        return _of_column(operation, scope.schema.index(left.name), limit)
    inner = build(left)

    def run(train: Train) -> Vector:
        values, nulls = inner(train)
        return _answered(operation(values, limit), nulls)

    return run


def _operation(function: str, right: Literal) -> Operation:
    if right.type != DOUBLE:
        return PLAIN[function]
    return _TO_NAN[function] if right.value != right.value else _TO_NUMBER[function]


def _of_column(operation: Operation, index: int, limit: Array) -> Closure:
    def run(train: Train) -> Vector:
        values, nulls = train.column(index)
        result = operation(values, limit)
        if nulls is not None:
            result &= ~nulls
        return Vector(result, nulls)

    return run


def _with_code(operation: Operation, inner: Closure, right: Literal, scope: Scope) -> Closure:
    dictionary, value = scope.dictionary(right.type), right.value

    def run(train: Train) -> Vector:
        values, nulls = inner(train)
        return _answered(operation(values, np.array(dictionary.find(value))), nulls)

    return run


def same_kernel(t: Type) -> Kernel:
    """`<=>`: equality in which NULL equals NULL."""
    operation = (DOUBLES if t == DOUBLE else PLAIN)["="]

    def run(a: Vector, b: Vector) -> Vector:
        values = operation(a.values, b.values)
        if a.nulls is None and b.nulls is None:
            return Vector(values)
        absent = np.array(False)
        nulls_a, nulls_b = absent if a.nulls is None else a.nulls, absent if b.nulls is None else b.nulls
        return Vector(np.where(nulls_a | nulls_b, nulls_a & nulls_b, values))

    return run


def in_kernel(t: Type) -> Kernel:
    """IN over a list: equal to one of the others."""
    operation = (DOUBLES if t == DOUBLE else PLAIN)["="]

    def run(value: Vector, *items: Vector) -> Vector:
        found = np.zeros(value.values.shape, np.bool_)
        for item in items:
            equal = operation(value.values, item.values)
            found = found | (equal if item.nulls is None else equal & ~item.nulls)
        if value.nulls is not None:
            found = found & ~value.nulls
        nulls = any_null((value, *items))
        return Vector(found, None if nulls is None else nulls & ~found)

    return run
