"""Expressions on trains, as nested closures over NumPy arrays; `penstock.plan.functions.evaluate` is the reference."""

from penstock.operators.vector_eval.compiled import (
    Compiled,
    Condition,
    Predicate,
    Projection,
    compiled,
    predicate,
    projection,
)
from penstock.operators.vector_eval.values import to_values, to_vector
from penstock.plan.functions import SetAside, can_raise, expensive

__all__ = [
    "Compiled",
    "Condition",
    "Predicate",
    "Projection",
    "SetAside",
    "can_raise",
    "compiled",
    "expensive",
    "predicate",
    "projection",
    "to_values",
    "to_vector",
]
