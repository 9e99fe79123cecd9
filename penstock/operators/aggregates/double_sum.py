"""sum and avg over doubles: exact superaccumulators, so that evicting a row undoes it; NaN and infinities are counted
apart.

Partial from outside: (count of arguments, their sum as a double); an infinite or NaN sum counts as one such argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import NO_FLAGS, Rows, with_nulls
from penstock.operators.aggregates.linear import Linear
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels import exact_sum

SPECIALS: Final = 3
"""Columns for the numbers of NaN, of +inf and of -inf."""


class Doubles(Linear):
    """Base of the accumulators over doubles: (count, [NaN, +inf, -inf,] limbs), laid out as the data need it.

    `powers` integers follow one another: the sum of x, then that of x**2. The base of the second is twice that of the
    first.
    """

    powers: int = 1

    def __init__(self) -> None:
        super().__init__(1)
        self.base = 0
        self.sizes: tuple[int, ...] = (0,) * self.powers
        self.special = False

    @property
    def first(self) -> int:
        """The column of the first limb."""
        return 1 + SPECIALS * self.special

    def prepare(self, rows: Rows) -> None:
        """See `Linear`."""
        least, greatest, special = exact_sum.exponents(rows.values.view(np.int64), rows.nulls)
        base, top = (0, 0) if greatest == 0 else exact_sum.span(least, greatest)
        self.fit(base, top, special)

    def fit(self, base: int, top: int, special: bool) -> None:
        """Widens the layout so that limbs reach from 2**base up to 2**top (nothing where they are equal)."""
        if self.sizes[0] and base != top:
            base, top = min(base, self.base), max(top, self.base + exact_sum.LIMB_BITS * self.sizes[0])
        elif self.sizes[0]:
            base, top = self.base, self.base + exact_sum.LIMB_BITS * self.sizes[0]
        size = (top - base) // exact_sum.LIMB_BITS
        special = special or self.special
        if (base, size, special) != (self.base, self.sizes[0], self.special):
            self._relay(base, size, special)

    def align(self, source: Self) -> None:
        """See `Linear`."""
        for a, b in ((self, source), (source, self)):
            a.fit(b.base, b.base + exact_sum.LIMB_BITS * b.sizes[0], b.special)

    def _relay(self, base: int, size: int, special: bool) -> None:
        sizes = (size, 2 * size + 1)[: self.powers]
        first = 1 + SPECIALS * special
        state = np.zeros((len(self.state), first + sum(sizes)), np.int64)
        state[:, 0] = self.state[:, 0]
        if self.special:
            state[:, 1:first] = self.state[:, 1:first]
        at, old = first, self.first
        for power, (new_size, old_size) in enumerate(zip(sizes, self.sizes, strict=True), 1):
            start = at + power * (self.base - base) // exact_sum.LIMB_BITS
            if old_size:
                state[:, start : start + old_size] = self.state[:, old : old + old_size]
            at, old = at + new_size, old + old_size
        self.state, self.base, self.sizes, self.special = state, base, sizes, special
        self.limbs = tuple(slice(first + sum(sizes[:i]), first + sum(sizes[: i + 1])) for i in range(self.powers))


class DoubleSum(Doubles):
    """`mean`: the value is the average, else the sum."""

    def __init__(self, mean: bool = False) -> None:
        super().__init__()
        self.mean = mean

    def deposit(self, rows: Rows, copies: Array) -> None:
        """See `Linear`."""
        bits = rows.values.view(np.int64)
        _deposit(self.state, self.first, self.base, rows.slots, bits, rows.nulls, rows.signs, rows.marks, copies)

    def absorb(self, slots: Array, columns: Sequence[Vector]) -> None:
        """See `Partial`."""
        count, total = columns
        nulls = NO_FLAGS if total.nulls is None else total.nulls
        self.apply(Rows(slots, Vector(total.values, nulls if len(nulls) else None)))
        np.add.at(self.state[:, 0], slots, count.values - (1 if not len(nulls) else ~nulls))

    def value(self, copies: Array) -> Vector:
        """See `Linear`."""
        values = _values(copies, self.first, self.base, self.mean)
        return with_nulls(values, copies[:, 0] == 0)


@njit(cache=True)
def _deposit(state: Array, first: int, base: int, slots: Array, bits: Array, nulls: Array, signs: Array, marks: Array,
             copies: Array) -> None:  # fmt: skip
    at = 0
    for i in range(len(slots)):
        row = state[slots[i]]
        if not (len(nulls) and nulls[i]):
            sign = np.int64(signs[i]) if len(signs) else np.int64(1)
            row[0] += sign
            if (bits[i] >> 52) & exact_sum.SPECIAL == exact_sum.SPECIAL:
                row[special_column(bits[i])] += sign
            elif bits[i] << 1:
                exact_sum.add_double(row[first:], bits[i], base, sign)
        if len(marks) and marks[i]:
            copies[at] = row
            at += 1


@njit(cache=True)
def special_column(bits: int) -> int:
    """The column that counts this NaN or infinity."""
    if bits & exact_sum.FRACTION:
        return 1
    return 3 if bits < 0 else 2


@njit(cache=True)
def special_value(row: Array) -> float:
    """What NaN and infinities make of the sum; 0 where there are none."""
    if row[1] or (row[2] and row[3]):
        return np.nan
    return np.inf if row[2] else -np.inf if row[3] else 0.0


@njit(cache=True)
def _values(copies: Array, first: int, base: int, mean: bool) -> Any:
    values = np.zeros(len(copies), np.float64)
    digits = np.zeros(copies.shape[1] + 1, np.int64)
    for i in range(len(copies)):
        special = special_value(copies[i]) if first > 1 else 0.0
        if special != 0.0:
            values[i] = special
        elif copies[i, 0] and copies.shape[1] > first:
            limbs = copies[i, first:]
            values[i] = (
                exact_sum.read_mean(limbs, base, digits, copies[i, 0])
                if mean
                else exact_sum.read_sum(limbs, base, digits)
            )
    return values
