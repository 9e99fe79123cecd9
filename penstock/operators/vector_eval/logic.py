"""Three-valued logic on masks, and choice. What may set rows aside or costs much is evaluated only for the rows that
reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, physical
from penstock.operators.vector_eval.scope import Build, Closure, masked, spread, union
from penstock.plan.expressions import Call, Expression
from penstock.plan.functions import SetAside, can_raise, expensive
from penstock.plan.functions.logic import case_parts
from penstock.plan.types import Type


def part(closure: Closure, train: Train, rows: Array) -> Vector:
    """`closure` for the rows at these positions of `train`; what it sets aside is named by its place in `train`."""
    try:
        return spread(closure(train.take(rows)), len(rows))
    except SetAside as failure:
        assert failure.rows is not None
        raise SetAside(failure.function, rows[failure.rows]) from failure


def both(a: Vector, b: Vector) -> Vector:
    """a AND b."""
    values = np.logical_and(a.values, b.values)
    if a.nulls is None and b.nulls is None:
        return Vector(values)
    nulls = union(a.nulls, b.nulls)
    assert nulls is not None
    return Vector(values, nulls & ~(_false(a) | _false(b)))


def either(a: Vector, b: Vector) -> Vector:
    """a OR b."""
    values = np.logical_or(a.values, b.values)
    nulls = union(a.nulls, b.nulls)
    return Vector(values, None if nulls is None else nulls & ~values)


def _false(a: Vector) -> Array:
    inverted: Array = np.logical_not(a.values)
    return inverted if a.nulls is None else inverted & ~a.nulls


def _junction(
    combine: Callable[[Vector, Vector], Vector], settled: Callable[[Vector], Array]
) -> Callable[[Call, Build], Closure]:
    def compile_junction(call: Call, build: Build) -> Closure:
        parts = [build(a) for a in call.arguments]
        if _reached_by_all(call.arguments[1:]):
            return _eager(parts, combine)
        return _shrinking(parts, combine, settled)

    return compile_junction


def _reached_by_all(expressions: Sequence[Expression]) -> bool:
    """True where it neither matters nor costs much to evaluate these for rows that need not reach them."""
    return not any(can_raise(e) or expensive(e) for e in expressions)


def _eager(parts: list[Closure], combine: Callable[[Vector, Vector], Vector]) -> Closure:
    def run(train: Train) -> Vector:
        result = parts[0](train)
        for closure in parts[1:]:
            result = combine(result, closure(train))
        return result

    return run


def _shrinking(
    parts: list[Closure], combine: Callable[[Vector, Vector], Vector], settled: Callable[[Vector], Array]
) -> Closure:
    def run(train: Train) -> Vector:
        first = spread(parts[0](train), len(train))
        values, nulls = (
            first.values.copy(),
            np.zeros(len(train), np.bool_) if first.nulls is None else first.nulls.copy(),
        )
        for closure in parts[1:]:
            rows = np.flatnonzero(~settled(Vector(values, nulls)))
            if len(rows):
                joined = combine(Vector(values[rows], nulls[rows]), part(closure, train, rows))
                values[rows], nulls[rows] = joined.values, False if joined.nulls is None else joined.nulls
        return Vector(values, nulls if nulls.any() else None)

    return run


def _not(call: Call, build: Build) -> Closure:
    inner = build(call.arguments[0])

    def run(train: Train) -> Vector:
        values, nulls = inner(train)
        return Vector(np.logical_not(values) if nulls is None else ~(values | nulls), nulls)

    return run


def _is_null(wanted: bool) -> Callable[[Call, Build], Closure]:
    def compile_test(call: Call, build: Build) -> Closure:
        inner = build(call.arguments[0])

        def run(train: Train) -> Vector:
            nulls = inner(train).nulls
            if nulls is None:
                return Vector(np.full(len(train), not wanted))
            return Vector(nulls if wanted else ~nulls)

        return run

    return compile_test


def _case(call: Call, build: Build) -> Closure:
    pairs, otherwise = case_parts(call.arguments)
    conditions = [build(c) for c, _ in pairs]
    values = [build(v) for _, v in pairs] + ([] if otherwise is None else [build(otherwise)])
    if _reached_by_all(call.arguments[1:]):
        return lambda train: _chosen([c(train) for c in conditions], [v(train) for v in values], call.type, len(train))
    return _stepwise(conditions, values, call.type)


def _chosen(conditions: list[Vector], values: list[Vector], t: Type, count: int) -> Vector:
    nothing = Vector(np.zeros((), physical(t)), np.array(True))
    result = values[-1] if len(values) > len(conditions) else nothing
    for condition, value in zip(reversed(conditions), reversed(values[: len(conditions)]), strict=True):
        result = _where(condition.values, value, result)
    return spread(result, count)


def _where(mask: Array, yes: Vector, no: Vector) -> Vector:
    values = np.where(mask, yes.values, no.values)
    if yes.nulls is None and no.nulls is None:
        return Vector(values)
    absent = np.array(False)
    nulls = np.where(mask, absent if yes.nulls is None else yes.nulls, absent if no.nulls is None else no.nulls)
    return Vector(values, nulls)


def _stepwise(conditions: list[Closure], values: list[Closure], t: Type) -> Closure:
    def run(train: Train) -> Vector:
        out = np.zeros(len(train), physical(t))
        nulls = np.ones(len(train), np.bool_)
        left = np.arange(len(train))
        for condition, value in zip(conditions, values[: len(conditions)], strict=True):
            met = part(condition, train, left).values
            _put(out, nulls, left[met], value, train)
            left = left[~met]
        if len(values) > len(conditions):
            _put(out, nulls, left, values[-1], train)
        return masked(out, nulls if nulls.any() else None)

    return run


def _put(out: Array, nulls: Array, rows: Array, value: Closure, train: Train) -> None:
    if len(rows):
        given = part(value, train, rows)
        out[rows], nulls[rows] = given.values, False if given.nulls is None else given.nulls


def _coalesce(call: Call, build: Build) -> Closure:
    parts = [build(a) for a in call.arguments]
    if not _reached_by_all(call.arguments[1:]):
        return _first_found(parts, call.type)

    def run(train: Train) -> Vector:
        result = spread(parts[0](train), len(train))
        for closure in parts[1:]:
            if result.nulls is None:
                return result
            result = _where(~result.nulls, result, closure(train))
        return result

    return run


def _first_found(parts: list[Closure], t: Type) -> Closure:
    def run(train: Train) -> Vector:
        out = np.zeros(len(train), physical(t))
        nulls = np.ones(len(train), np.bool_)
        for closure in parts:
            _put(out, nulls, np.flatnonzero(nulls), closure, train)
        return masked(out, nulls if nulls.any() else None)

    return run


LOGIC: Final[dict[str, Callable[[Call, Build], Closure]]] = {
    "and": _junction(both, _false),
    "or": _junction(either, lambda a: a.values),
    "not": _not,
    "is_null": _is_null(True),
    "is_not_null": _is_null(False),
    "case": _case,
    "coalesce": _coalesce,
}
"""Functions that build the closures of their arguments themselves."""
