"""Every aggregate in plain Python, over a list of values in order: what the accumulators are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

import numpy as np

from penstock.operators.aggregates.user import evaluate as evaluate_user
from penstock.operators.base import Row, value_key
from penstock.operators.histories import row_key
from penstock.operators.kernels import sketch
from penstock.plan.aggregates import canonical
from penstock.plan.functions import user_functions
from penstock.plan.nodes import AggregateCall
from penstock.plan.schema import Schema
from penstock.plan.types import NULL, Type


def grouped(keys: Sequence[str], calls: Sequence[AggregateCall], schema: Schema, rows: Sequence[Row]) -> list[Row]:
    """One row for each group of `rows`: its keys (NULL is one value) and the aggregates of its rows, in order."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(row_key(tuple(row[schema.index(k)] for k in keys)), []).append(row)
    return [
        (*(members[0][schema.index(k)] for k in keys), *(evaluate(c, *_column(c, schema, members)) for c in calls))
        for members in groups.values()
    ]


def _column(call: AggregateCall, schema: Schema, rows: Sequence[Row]) -> tuple[Type | None, Sequence[Any]]:
    if call.argument is None:
        return None, rows
    place = schema.index(call.argument)
    return schema.types[place], [row[place] for row in rows]


def evaluate(call: AggregateCall, argument: Type | None, values: Sequence[Any]) -> Any:
    """The aggregate of `values`, internal values in order (for count(*) anything that is not None)."""
    function = canonical(call.function)
    if function in ("first", "last"):
        return values[0 if function == "first" else -1]
    present = [v for v in values if v is not None]
    if function in user_functions.aggregates:
        return evaluate_user(user_functions.aggregates[function], argument or NULL, present)
    if call.distinct:
        present = list({value_key(v): v for v in present}.values())
    if function == "count":
        return len(present)
    return _FUNCTIONS[function](call, present) if present else None


def _sum(call: AggregateCall, values: list[Any]) -> Any:
    if call.type.name == "double":
        return _double_total(values, to_float)
    if call.type.name == "decimal":
        return _fitted(sum(map(Fraction, values), Fraction()), call.type)
    total = sum(values)
    return total if -(1 << 63) <= total < 1 << 63 else None


def _avg(call: AggregateCall, values: list[Any]) -> Any:
    if call.type.name == "decimal":
        return _fitted(sum(map(Fraction, values), Fraction()) / len(values), call.type)
    if call.type.name == "interval":
        return int(_rounded(Fraction(sum(values), len(values)), 0))
    return _double_total(values, lambda total: _quotient(total, len(values)))


def _double_total(values: list[Any], then: Callable[[Fraction], float]) -> float:
    """`then` of the exact sum; what NaN and infinities make of it where there are some."""
    special = [v for v in values if isinstance(v, float) and not math.isfinite(v)]
    return (
        math.fsum(special[:1])
        if len(set(special)) == 1
        else math.nan
        if special
        else then(sum(map(Fraction, values), Fraction()))
    )


def to_float(value: Fraction) -> float:
    """The nearest double; infinite where there is none."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _quotient(total: Fraction, count: int) -> float:
    """The sum rounded to a double, by the count; the sum itself may be too large for a double."""
    rounded = to_float(total)
    return rounded / count if math.isfinite(rounded) else math.ldexp(float(total / 2**1024) / count, 1024)


def _extreme(call: AggregateCall, values: list[Any]) -> Any:
    found = (max if canonical(call.function) == "max" else min)(values, key=value_key)
    return found + 0.0 if isinstance(found, float) else found


def _variance(call: AggregateCall, values: list[Any]) -> float | None:
    """n * sum(x**2) - sum(x)**2 as a whole number, rounded once, by n and by n or n - 1."""
    function, count = canonical(call.function), len(values)
    population, root = function.endswith("_pop"), function.startswith("stddev")
    if count == 1 and not population:
        return None
    doubles = [float(v) for v in values]
    if not all(map(math.isfinite, doubles)):
        return math.nan
    exact = [Fraction(v) for v in doubles]
    numerator = count * sum(x * x for x in exact) - sum(exact) ** 2
    exponent = 0
    while numerator and not Fraction(1, 4) <= numerator / Fraction(4) ** exponent < 1:
        exponent += 1 if numerator / Fraction(4) ** exponent >= 1 else -1
    variance = float(numerator / Fraction(4) ** exponent) / count / (count if population else count - 1)
    return _ldexp(math.sqrt(variance), exponent) if root else _ldexp(variance, 2 * exponent)


def _ldexp(m: float, e: int) -> float:
    try:
        return math.ldexp(m, e)
    except OverflowError:
        return math.inf


def _quantile(call: AggregateCall, values: list[Any]) -> float:
    """The value of the wanted rank, cut to its bucket's bound."""
    rank: Any = call.parameters[0]
    chosen = sorted((float(v) for v in values), key=value_key)[math.floor(float(rank) * (len(values) - 1))]
    return float(sketch.representatives(sketch.buckets(np.array([chosen])))[0])


def _fitted(value: Fraction, t: Type) -> Decimal | None:
    """The decimal of type `t` nearest to `value`, halves away from zero; None where it has too many digits."""
    rounded = _rounded(value, t.scale)
    return rounded if rounded.copy_abs() < Decimal(10) ** (t.precision - t.scale) else None


def _rounded(value: Fraction, scale: int) -> Decimal:
    with localcontext(prec=200):
        shifted = value * 10**scale
        whole: Decimal = (Decimal(shifted.numerator) / shifted.denominator).to_integral_value(ROUND_HALF_UP)
        return whole.scaleb(-scale)


_FUNCTIONS: Final[dict[str, Callable[[AggregateCall, list[Any]], Any]]] = {
    "sum": _sum, "avg": _avg, "min": _extreme, "max": _extreme, "approx_quantile": _quantile,
    **dict.fromkeys(("variance", "var_pop", "stddev", "stddev_pop"), _variance),
}  # fmt: skip
