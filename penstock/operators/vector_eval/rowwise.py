"""Functions without a form on arrays: their plain meaning, row by row."""

from __future__ import annotations

from typing import Any

from penstock.operators.columns.vector import Vector
from penstock.operators.vector_eval.scope import Kernel, Scope, spread
from penstock.operators.vector_eval.values import to_values, to_vector
from penstock.plan.expressions import Call
from penstock.plan.functions.evaluate import meaning
from penstock.plan.functions.registry import FUNCTIONS


def rowwise(call: Call, scope: Scope) -> Kernel:
    """The kernel that decodes its arguments, applies the meaning to each row, and encodes the results."""
    types = tuple(a.type for a in call.arguments)
    apply, strict = meaning(call.function, types, call.type), FUNCTIONS[call.function].strict

    def one(row: tuple[Any, ...]) -> Any:
        return None if strict and None in row else apply(*row)

    def run(*vectors: Vector) -> Vector:
        count = next((len(v) for v in vectors if v.values.ndim), 1)
        lists = [to_values(spread(v, count), t, scope.context) for v, t in zip(vectors, types, strict=True)]
        return to_vector([one(row) for row in zip(*lists, strict=True)], call.type, scope.context)

    return run
