"""What all kernels share: where columns and dictionaries are, constants, NULL masks.

A **closure** turns a train into a vector as long as the train, or into a constant: a vector whose arrays have no
dimension, which NumPy spreads by itself. In every vector the values below NULL are 0 (False), so a boolean's `values`
alone say where it is true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.dictionary import Dictionary
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned, physical
from penstock.plan.expressions import Call, Expression, Literal
from penstock.plan.schema import Schema
from penstock.plan.types import Type

Closure = Callable[[Train], Vector]
Kernel = Callable[..., Vector]
"""Vectors, one an argument, to a vector."""
Build = Callable[[Expression], Closure]
NULL_CONSTANT: Final = np.array(True)


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that an expression may read, and the running network's dictionaries and counters."""

    schema: Schema
    context: Context

    def dictionary(self, t: Type) -> Dictionary:
        """The dictionary of an interned type."""
        return self.context.dictionaries.of(t)


KernelFactory = Callable[[Call, Scope], "Kernel | None"]
"""The kernel for a call, or None where there is none for these types."""


def constant(literal: Literal, scope: Scope) -> Closure:
    """A closure that gives `literal` without a dimension. Interned values are coded anew for each train: codes may be
    given back in between.
    """
    if literal.value is None:
        nothing = Vector(np.zeros((), physical(literal.type)), NULL_CONSTANT)
        return lambda train: nothing
    if interned(literal.type):
        dictionary, value = scope.dictionary(literal.type), literal.value
        return lambda train: Vector(np.array(dictionary.code(value), np.int64))
    something = Vector(np.array(unscaled(literal.value, literal.type), physical(literal.type)))
    return lambda train: something


def unscaled(value: Any, t: Type) -> Any:
    """A value that is not interned, as its array holds it: short decimals without their point."""
    return int(value.scaleb(t.scale)) if t.name == "decimal" else value


def spread(vector: Vector, count: int) -> Vector:
    """`vector` at full length, where it is a constant."""
    if vector.values.ndim:
        return vector
    values = np.full(count, vector.values)
    return Vector(values, None if vector.nulls is None else np.full(count, True))


def union(a: Array | None, b: Array | None) -> Array | None:
    """Where one of two masks is set."""
    if a is None or b is None:
        return b if a is None else a
    return np.logical_or(a, b)


def any_null(vectors: tuple[Vector, ...]) -> Array | None:
    """Where one of `vectors` is NULL."""
    nulls = None
    for vector in vectors:
        nulls = union(nulls, vector.nulls)
    return nulls


def masked(values: Array, nulls: Array | None) -> Vector:
    """A vector of `values`, a fresh array, in which what is NULL is set to 0."""
    if nulls is None:
        return Vector(values)
    np.copyto(values, False, where=nulls)
    return Vector(values, nulls)


def refused(values: Array, bad: Array, nulls: Array | None) -> Vector:
    """`values`, NULL where `bad` or `nulls` is set; cheap where nothing is."""
    return masked(values, union(nulls, bad) if np.count_nonzero(bad) else nulls)
