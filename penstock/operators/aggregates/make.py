"""Which accumulator computes which aggregate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial as bound
from typing import Any

import numpy as np

from penstock.operators.aggregates.base import Partial, Whole
from penstock.operators.aggregates.best import Best, Keys, Queue
from penstock.operators.aggregates.count import Count
from penstock.operators.aggregates.decimal_sum import DecimalSum
from penstock.operators.aggregates.distinct import Distinct, DistinctPartial
from penstock.operators.aggregates.double_sum import DoubleSum
from penstock.operators.aggregates.edge import EdgeKeys
from penstock.operators.aggregates.extreme import ExtremeKeys
from penstock.operators.aggregates.integer_sum import IntegerSum
from penstock.operators.aggregates.ordering import Labels
from penstock.operators.aggregates.quantile import Quantile
from penstock.operators.aggregates.sliding_best import SlidingBest
from penstock.operators.aggregates.user import UserState
from penstock.operators.aggregates.variance import Variance
from penstock.operators.base import Context
from penstock.operators.columns.vector import Vector, interned
from penstock.operators.vector_eval.values import to_values
from penstock.plan.aggregates import canonical, properties
from penstock.plan.functions import user_functions
from penstock.plan.nodes import AggregateCall
from penstock.plan.types import BIGINT, DOUBLE, NULL, Type

EXACT_INTEGERS = 1 << 53


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one aggregate of a node is computed: its accumulators, and whether they take the argument as doubles.

    A partial and a whole that are used together come from one recipe, since they may share what orders values.
    """

    partial: Callable[[], Partial]
    whole: Callable[[], Whole]
    doubles: bool = False
    sliding: Callable[[], Whole] | None = None
    """A whole for partials that leave in the order in which they entered; None: `whole` is good enough."""


def recipe(call: AggregateCall, argument: Type | None, context: Context) -> Recipe:
    """The recipe of `call` over an argument of this type (None: `*`)."""
    function = canonical(call.function)
    if function in user_functions.aggregates:
        entry, t = user_functions.aggregates[function], argument or NULL
        return _both(bound(UserState, entry, t, context))
    if call.distinct and function not in ("min", "max"):
        return _distinct(call, argument or NULL, context)
    if function in ("min", "max", "first", "last"):
        return _best(function, argument or NULL, context)
    return _linear(call, function, argument or NULL, context)


def partial_types(call: AggregateCall, argument: Type | None) -> tuple[Type, ...]:
    """The columns of a partial result that comes from outside, as the accumulators' files say."""
    function, t = canonical(call.function), argument or NULL
    if not properties(call.function, call.distinct).panes or (interned(t) and function in ("sum", "avg")):
        raise TypeError(f"{call} takes no partial results")
    if function == "count":
        return (BIGINT,)
    if function in ("min", "max"):
        return (t,)
    if function not in ("sum", "avg"):
        return (BIGINT, DOUBLE, DOUBLE)
    return (BIGINT, DOUBLE) if t.name in ("double", "null") else (BIGINT, BIGINT, BIGINT)


def as_doubles(vector: Vector, t: Type, context: Context) -> Vector:
    """Numbers of any type as the nearest doubles."""
    values = vector.values
    if t.name == "decimal" and (interned(t) or (np.abs(values) > EXACT_INTEGERS).any()):
        doubles = np.array([0.0 if v is None else float(v) for v in to_values(vector, t, context)], np.float64)
        return Vector(doubles, vector.nulls)
    return Vector(values / 10.0**t.scale if t.name == "decimal" else values.astype(np.float64), vector.nulls)


def _linear(call: AggregateCall, function: str, argument: Type, context: Context) -> Recipe:
    if function == "count":
        return _both(Count)
    if function == "approx_quantile":
        rank: Any = call.parameters[0]
        return _both(bound(Quantile, float(rank)), doubles=argument.name != "double")
    if function not in ("sum", "avg"):
        population, root = function.endswith("_pop"), function.startswith("stddev")
        return _both(bound(Variance, population, root), doubles=argument.name != "double")
    mean = function == "avg"
    if argument.name == "decimal" or (argument.name == "interval" and mean):
        return _both(bound(DecimalSum, argument, call.type, mean, context))
    if argument.name in ("int", "bigint", "interval"):
        return _both(bound(IntegerSum, mean))
    return _both(bound(DoubleSum, mean), doubles=argument.name != "double")


def _best(function: str, argument: Type, context: Context) -> Recipe:
    flip = function in ("max", "last")
    if function in ("first", "last"):
        keys: Keys = EdgeKeys(argument, flip)
    else:
        keys = ExtremeKeys(argument, flip, Labels(context.dictionaries.of(argument)) if interned(argument) else None)
    return Recipe(bound(Best, keys), bound(Queue, keys), sliding=bound(SlidingBest, keys))


def _distinct(call: AggregateCall, argument: Type, context: Context) -> Recipe:
    inner = _linear(call, canonical(call.function), argument, context)
    return Recipe(
        bound(DistinctPartial, argument, inner.whole), bound(_distinct_whole, argument, inner.whole), inner.doubles
    )


def _distinct_whole(argument: Type, inner: Callable[[], Whole]) -> Distinct:
    return Distinct(argument, inner())


def _both(make: Callable[[], Any], doubles: bool = False) -> Recipe:
    return Recipe(make, make, doubles)
