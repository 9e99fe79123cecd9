"""Between vectors and lists of internal values."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.vector import Vector, interned, physical
from penstock.operators.vector_eval.scope import unscaled
from penstock.plan.types import Type


def to_values(vector: Vector, t: Type, context: Context) -> list[Any]:
    """The vector's values as plain Python, None for NULL."""
    if interned(t):
        return context.dictionaries.of(t).decode(vector)
    values: list[Any] = vector.values.tolist()
    if t.name == "decimal":
        values = [Decimal(v).scaleb(-t.scale) for v in values]
    if vector.nulls is not None:
        values = [None if null else v for v, null in zip(values, vector.nulls.tolist(), strict=True)]
    return values


def to_vector(values: Sequence[Any], t: Type, context: Context) -> Vector:
    """The inverse of `to_values`."""
    if interned(t):
        return context.dictionaries.of(t).encode(values)
    nulls = np.fromiter((v is None for v in values), np.bool_, len(values))
    numbers = [0 if v is None else unscaled(v, t) for v in values]
    return Vector(np.array(numbers, physical(t)), nulls if nulls.any() else None)
