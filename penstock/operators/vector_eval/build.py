"""From an expression to nested closures over arrays. What has no form on arrays runs once for each distinct string, or
row by row.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.operators.vector_eval import arithmetic, casts, numeric, times
from penstock.operators.vector_eval.by_code import compile_by_code, only_column
from penstock.operators.vector_eval.comparison import PLAIN, compile_comparison, in_kernel, same_kernel
from penstock.operators.vector_eval.logic import LOGIC
from penstock.operators.vector_eval.rowwise import rowwise
from penstock.operators.vector_eval.scope import Closure, Kernel, KernelFactory, Scope, constant
from penstock.operators.vector_eval.user import compile_user
from penstock.plan.expressions import Call, Column, Expression, Literal
from penstock.plan.functions.registry import FUNCTIONS

KERNELS: Final[dict[str, KernelFactory]] = {
    **dict.fromkeys(("+", "-", "*", "/", "%", "div"), arithmetic.kernel),
    **numeric.KERNELS,
    **times.KERNELS,
    "cast": casts.kernel,
    "<=>": lambda call, scope: same_kernel(call.arguments[0].type),
    "in": lambda call, scope: in_kernel(call.arguments[0].type),
}
"""Functions that have a form on arrays."""


def build(expression: Expression, scope: Scope) -> Closure:
    """The closure of a folded expression."""
    if isinstance(expression, Literal):
        return constant(expression, scope)
    if isinstance(expression, Column):
        return _column(scope.schema.index(expression.name))
    return _call(expression, scope)


def _column(index: int) -> Closure:
    return lambda train: train.column(index)


def _weight(train: Train) -> Vector:
    """What each tuple stands for."""
    return Vector(np.ones(len(train)) if train.weight is None else train.weight)


def _call(call: Call, scope: Scope) -> Closure:
    def inner(expression: Expression) -> Closure:
        return build(expression, scope)

    if call.function == "weight":
        return _weight
    if call.function not in FUNCTIONS:
        return compile_user(call, scope, inner)
    special = _on_codes(call, scope)
    if special is not None:
        return special
    if call.function in LOGIC:
        return LOGIC[call.function](call, inner)
    if call.function in PLAIN:
        compared = compile_comparison(call, scope, inner)
        if compared is not None:
            return compared
    kernel = KERNELS[call.function](call, scope) if call.function in KERNELS else None
    return _applied(kernel or rowwise(call, scope), [inner(a) for a in call.arguments])


def _on_codes(call: Call, scope: Scope) -> Closure | None:
    """By distinct value where only one interned column is read, except where codes alone give the answer."""
    column = only_column(call)
    plain = all(isinstance(a, Column | Literal) for a in call.arguments)
    if column is None or (plain and call.function in ("=", "<>", "is_null", "is_not_null")):
        return None
    return compile_by_code(call, column, scope)


def _applied(kernel: Kernel, parts: list[Closure]) -> Closure:
    if len(parts) == 1:
        (only,) = parts
        return lambda train: kernel(only(train))
    if len(parts) == 2:
        left, right = parts
        return lambda train: kernel(left(train), right(train))

    def run(train: Train) -> Vector:
        return kernel(*(p(train) for p in parts))

    return run
