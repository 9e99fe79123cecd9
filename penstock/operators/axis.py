"""The axis of a window over an attribute: values of any ordered numeric column as numbers that can be compared exactly.

Integers, timestamps, dates, intervals and decimals of at most 18 digits are int64 where the window's size, slide and
origin are whole in the column's unit; otherwise, and for doubles and longer decimals, the axis is float64. NULL, NaN
and the infinities have no place on it: such a tuple is in no window and ends none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.errors import Diagnostic, PenstockError
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.vector import Array, Vector, interned
from penstock.plan.types import Type

Number = int | float
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis over a column of `type`; `exact` where it is int64."""

    type: Type
    exact: bool

    @classmethod
    def over(cls, t: Type, *numbers: Number) -> Axis:
        """The axis for a window with these sizes, slides and origins."""
        whole = all((Fraction(str(n)) * 10**t.scale).denominator == 1 for n in numbers)
        return cls(t, whole and t.name != "double" and not interned(t))

    def number(self, value: Any) -> Number:
        """A window's size, slide or origin on the axis."""
        return int(Fraction(str(value)) * 10**self.type.scale) if self.exact else float(value)

    def place(self, value: Any) -> Number | None:
        """Where a value lies; None for nowhere."""
        if value is None or not math.isfinite(value):
            return None
        return self.number(value)

    def places(self, vector: Vector, dictionaries: Dictionaries) -> tuple[Array, Array]:
        """Where values lie, and a mask of those that lie somewhere."""
        present = np.ones(len(vector), np.bool_) if vector.nulls is None else ~vector.nulls
        if self.exact:
            return vector.values, present
        if interned(self.type):
            decoded = [float(v or 0) for v in dictionaries.of(self.type).decode(vector)]
            return np.array(decoded, np.float64), present
        values = vector.values / 10.0**self.type.scale + 0.0
        finite = np.isfinite(values)
        return np.where(finite, values, 0.0), present & finite

    def check_bounds(self) -> None:
        """Refuses an axis whose numbers the column's type cannot hold as window_start and window_end."""
        if not self.exact and self.type.name != "double":
            raise PenstockError(Diagnostic(
                f"window_start and window_end are {self.type}, which cannot hold this window's bounds",
                help="make size, slide and origin whole in the column's unit, or cast it to double"))  # fmt: skip

    def value(self, number: Number) -> Any:
        """The inverse of `number`, as a value of the column: what window_start and window_end are."""
        return Decimal(number).scaleb(-self.type.scale) if self.type.name == "decimal" else number


@dataclass(frozen=True, slots=True)
class Slides:
    """Windows on an axis: window k covers [origin + k * slide, origin + k * slide + size)."""

    origin: Number
    slide: Number
    size: Number

    @property
    def least(self) -> int:
        """On an exact axis, the first window: one that began before it would have a number or a start past 64 bits."""
        return max(_SMALLEST + 1, -((int(self.origin) - _SMALLEST - 1) // int(self.slide)))

    @property
    def greatest(self) -> int:
        """On an exact axis, the last window: one that began after it would end past 64 bits."""
        return min(_LARGEST, (_LARGEST - int(self.size) - int(self.origin)) // int(self.slide))

    def exists(self, k: int) -> bool:
        """False for a window whose bounds 64 bits do not hold."""
        return not isinstance(self.slide, int) or self.least <= k <= self.greatest

    def start(self, k: Any) -> Any:
        """Where window k (a number or an array of them) starts."""
        return self.origin + k * self.slide

    def end(self, k: Any) -> Any:
        """Where window k ends."""
        return self.origin + k * self.slide + self.size

    def last(self, places: Array) -> Array:
        """The last window that starts at or before each place."""
        if isinstance(self.slide, int):
            return np.minimum(_quotient(places, int(self.origin), self.slide), self.greatest)
        k = np.floor((places - self.origin) / self.slide)
        k = np.where(self.start(k) > places, k - 1, k)
        return _whole(np.where(self.start(k + 1) <= places, k + 1, k))

    def first(self, places: Array) -> Array:
        """The first window that ends after each place. A tuple there ends every window before it."""
        if isinstance(self.slide, int):
            ended = _quotient(places, int(self.origin + self.size), self.slide)
            following: Array = np.maximum(np.minimum(ended, _LARGEST - 1) + 1, self.least)
            return following
        k = np.floor((places - self.origin - self.size) / self.slide) + 1
        k = np.where(self.end(k) <= places, k + 1, k)
        return _whole(np.where(self.end(k - 1) > places, k - 1, k))


def _quotient(places: Array, shift: int, slide: int) -> Array:
    """floor((place - shift) / slide), or what 64 bits hold that is nearest to it."""
    far, near = divmod(shift, slide)
    quotient = np.clip(places // slide, _SMALLEST + max(far, 0), _LARGEST + min(far, 0)) - far
    result: Array = quotient - ((places % slide < near) & (quotient > _SMALLEST))
    return result


def _whole(k: Array) -> Array:
    limit = float(1 << 62)
    return np.clip(k, -limit, limit).astype(np.int64)


def sortable(places: Array) -> Array:
    """int64 keys that sort as the places do."""
    if places.dtype == np.int64:
        return places
    bits = (places + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(_LARGEST), bits)


def before(places: Array, size: Number) -> Array:
    """place - size, not below what 64 bits hold."""
    if isinstance(size, float):
        return places - size
    return np.where(places < _SMALLEST + size, _SMALLEST, places - min(size, _LARGEST))
