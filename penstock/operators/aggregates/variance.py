"""variance, var_pop, stddev and stddev_pop, of exact sums of x and of x**2; integers and decimals count as the
nearest double.

Partial from outside: (count of arguments, their sum, the sum of their squared differences from their mean), doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import NO_FLAGS, Rows, with_nulls
from penstock.operators.aggregates.double_sum import Doubles, special_column
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels import exact_sum
from penstock.operators.kernels.exact_square import add_square, read_variance


class Variance(Doubles):
    """`population`: divide by n, not n - 1. `root`: the standard deviation."""

    powers = 2

    def __init__(self, population: bool = False, root: bool = False) -> None:
        super().__init__()
        self.population = population
        self.root = root

    def deposit(self, rows: Rows, copies: Array) -> None:
        """See `Linear`."""
        bits = rows.values.view(np.int64)
        layout = (self.first, self.sizes[0], self.base)
        _deposit(self.state, *layout, rows.slots, bits, rows.nulls, rows.signs, rows.marks, copies)

    def absorb(self, slots: Array, columns: Sequence[Vector]) -> None:
        """See `Partial`: the sum of the squares is the given one and sum**2 / count, taken as a quotient and its
        remainder. One argument alone is taken in as a row, whose square has no bounds.
        """
        count = columns[0].values
        alone, several = count == 1, count > 1
        self.apply(Rows(slots[alone], columns[1].take(alone)))
        self._absorb_sums(slots[several], [c.values[several] for c in columns])

    def _absorb_sums(self, slots: Array, columns: Sequence[Array]) -> None:
        count, total, spread = columns
        with np.errstate(over="ignore", invalid="ignore"):
            pieces = np.stack([spread, *_square_over(total, count)], axis=1)
        total = np.where(np.isfinite(pieces).all(axis=1), total, np.nan)
        self.prepare(Rows(slots, Vector(total)))
        pieces[~np.isfinite(total)] = 0.0
        least, greatest, _ = exact_sum.exponents(pieces.reshape(-1).view(np.int64), NO_FLAGS)
        if greatest:
            base, top = exact_sum.span(least, greatest)
            self.fit(base // 64 * 32, -(-top // 64) * 32, False)
        layout = (self.first, self.sizes[0], self.base)
        _absorb(self.state, *layout, slots, total.view(np.int64), pieces.view(np.int64), count)

    def value(self, copies: Array) -> Vector:
        """See `Linear`."""
        layout = (self.first, self.sizes[0], self.base)
        values = _values(copies, *layout, self.population, self.root)
        return with_nulls(values, copies[:, 0] < (1 if self.population else 2))


def _square_over(total: Array, count: Array) -> tuple[Array, Array]:
    """total**2 / count as a double and what is missing to it."""
    square, rest = _product(total, total)
    quotient = square / count
    back, lost = _product(quotient, count.astype(np.float64))
    return quotient, ((square - back) + (rest - lost)) / count


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b and its rounding error (Dekker's product)."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    product = a * b
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


@njit(cache=True)
def _absorb(
    state: Array, first: int, size: int, base: int, slots: Array, totals: Array, pieces: Array, counts: Array
) -> None:
    for i in range(len(slots)):
        row = state[slots[i]]
        row[0] += counts[i]
        if (totals[i] >> 52) & exact_sum.SPECIAL == exact_sum.SPECIAL:
            row[special_column(totals[i])] += 1
            continue
        if totals[i] << 1:
            exact_sum.add_double(row[first:], totals[i], base, 1)
        for piece in pieces[i]:
            if piece << 1:
                exact_sum.add_double(row[first + size :], piece, 2 * base, 1)


@njit(cache=True)
def _deposit(state: Array, first: int, size: int, base: int, slots: Array, bits: Array, nulls: Array, signs: Array,
             marks: Array, copies: Array) -> None:  # fmt: skip
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
                add_square(row[first + size :], bits[i], base, sign)
        if len(marks) and marks[i]:
            copies[at] = row
            at += 1


@njit(cache=True)
def _values(copies: Array, first: int, size: int, base: int, population: bool, root: bool) -> Any:
    values = np.zeros(len(copies), np.float64)
    scratch = np.zeros((3, copies.shape[1] + 5), np.int64)
    for i in range(len(copies)):
        count = copies[i, 0]
        if count < (1 if population else 2):
            continue
        if first > 1 and (copies[i, 1] or copies[i, 2] or copies[i, 3]):
            values[i] = np.nan
        elif size:
            sums, squares = copies[i, first : first + size], copies[i, first + size :]
            values[i] = read_variance(sums, squares, base, count, population, root, scratch)
    return values
