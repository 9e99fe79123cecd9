"""Decimal arithmetic: the types that Spark gives results, and values computed exactly and rounded once, half up."""

from __future__ import annotations

import decimal as dec
from decimal import Decimal
from typing import Final

from penstock.plan.types import MAX_DECIMAL_PRECISION, Type, decimal

EXACT: Final = dec.Context(prec=200, rounding=dec.ROUND_HALF_UP, Emin=-9999, Emax=9999, traps=[])
"""Wide enough that sums and products are exact, and that a quotient rounded to it and then to a scale is as if rounded
once.
"""
KEPT_SCALE: Final = 6
"""Digits after the point that a result which needs more than 38 digits keeps, if it has them."""


def adjusted(precision: int, scale: int) -> Type:
    """The decimal type for a result that needs these digits: where 38 are not enough, digits after the point go first,
    down to 6.

    >>> str(adjusted(40, 10)), str(adjusted(60, 10))
    ('decimal(38,8)', 'decimal(38,6)')
    """
    if precision <= MAX_DECIMAL_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_DECIMAL_PRECISION, max(MAX_DECIMAL_PRECISION - whole, min(scale, KEPT_SCALE)))


def result_type(operator: str, a: Type, b: Type) -> Type:
    """The type of `a operator b`.

    >>> str(result_type("/", decimal(10, 2), decimal(10, 2)))
    'decimal(23,13)'
    """
    (p, s), (q, r) = (a.precision, a.scale), (b.precision, b.scale)
    whole, scale = max(p - s, q - r), max(s, r)
    if operator == "*":
        return adjusted(p + q + 1, s + r)
    if operator == "/":
        scale = max(KEPT_SCALE, s + q + 1)
        return adjusted(p - s + r + scale, scale)
    if operator == "%":
        return adjusted(min(p - s, q - r) + scale, scale)
    return adjusted(whole + scale + 1, scale)


def fitted(value: Decimal, t: Type) -> Decimal | None:
    """`value` rounded half up to `t`, or None where it has too many digits or is no number.

    >>> fitted(Decimal("2.345"), decimal(3, 2)), fitted(Decimal("12.3"), decimal(3, 2))
    (Decimal('2.35'), None)
    """
    if not value.is_finite() or (value and value.adjusted() > t.precision - t.scale):
        return None
    rounded = value.quantize(Decimal(1).scaleb(-t.scale), context=EXACT)
    if not rounded:
        return Decimal(0).scaleb(-t.scale)
    return rounded if rounded.adjusted() < t.precision - t.scale else None
