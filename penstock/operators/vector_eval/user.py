"""Users' functions on trains: one call a train; where it raises, halving finds the rows that fail, and they are set
aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.errors import PenstockError
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, physical
from penstock.operators.vector_eval.scope import Build, Closure, Scope, any_null, spread
from penstock.operators.vector_eval.values import to_values, to_vector
from penstock.plan.expressions import Call
from penstock.plan.functions.evaluate import user_function
from penstock.plan.functions.user import NUMERIC_ARRAYS, SetAside, UserFunction, as_array, results


def compile_user(call: Call, scope: Scope, build: Build) -> Closure:
    """A closure that calls the user's function for the rows without NULL arguments; raises SetAside with the rows on
    which it fails.
    """
    function = user_function(call.function)
    parts = [build(a) for a in call.arguments]
    types = [a.type for a in call.arguments]

    def run(train: Train) -> Vector:
        vectors = tuple(spread(p(train), len(train)) for p in parts)
        nulls = any_null(vectors)
        rows = np.arange(len(train)) if nulls is None else np.flatnonzero(~nulls)
        arrays = [_argument(v.take(rows), t, scope) for v, t in zip(vectors, types, strict=True)]
        values = _called(function, arrays, rows, train, scope) if len(rows) else []
        return _placed(to_vector(values, call.type, scope.context), rows, call, len(train))

    return run


def _argument(vector: Vector, t: Any, scope: Scope) -> Array:
    if t.name in NUMERIC_ARRAYS:
        return vector.values
    return as_array(to_values(vector, t, scope.context), t)


def _placed(dense: Vector, rows: Array, call: Call, count: int) -> Vector:
    if len(rows) == count:
        return dense
    values, nulls = np.zeros(count, physical(call.type)), np.ones(count, np.bool_)
    values[rows], nulls[rows] = dense.values, False if dense.nulls is None else dense.nulls
    return Vector(values, nulls)


def _called(function: UserFunction, arrays: Sequence[Array], rows: Array, train: Train, scope: Scope) -> list[Any]:
    values, failed = halved(function, arrays, 0, len(rows))
    if failed:
        lost = rows[np.array(failed)]
        count = len(lost) if train.insertions_only else int(np.count_nonzero(train.sign[lost] > 0))
        scope.context.set_aside[function.name] = scope.context.set_aside.get(function.name, 0) + count
        raise SetAside(function.name, lost)
    return values


def halved(function: UserFunction, arrays: Sequence[Array], start: int, stop: int) -> tuple[list[Any], list[int]]:
    """Results for the rows from `start` up to `stop`, and the rows on which the function fails (then no results)."""
    try:
        return results(function, [a[start:stop].copy() for a in arrays]), []
    except PenstockError:
        raise
    except Exception:
        if stop - start == 1:
            return [], [start]
    middle = (start + stop) // 2
    (left, lost), (right, lost_too) = (halved(function, arrays, *half) for half in ((start, middle), (middle, stop)))
    return left + right, lost + lost_too
