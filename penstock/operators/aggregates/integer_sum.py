"""sum and avg over integers and intervals, exact however large the sums on the way get.

The sum is three limbs (see `penstock.operators.kernels.exact_sum`) from 2**0 on: 64 bits a value, and 2**32 values
and more before the last limb could be full. Partial from outside: (count of arguments, sum of x >> 32, sum of x &
(2**32 - 1)), which a source can compute in 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import Rows, with_nulls
from penstock.operators.aggregates.linear import Linear
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.exact_sum import LOW, read_mean

WIDTH: Final = 4


class IntegerSum(Linear):
    """State: (count, three limbs). `mean`: the value is the average as a double, else the sum, NULL where 64 bits do
    not hold it.
    """

    limbs = (slice(1, WIDTH),)

    def __init__(self, mean: bool = False) -> None:
        super().__init__(WIDTH)
        self.mean = mean

    def deposit(self, rows: Rows, copies: Array) -> None:
        """See `Linear`."""
        _deposit(self.state, rows.slots, rows.values, rows.nulls, rows.signs, rows.marks, copies)

    def absorb(self, slots: Array, columns: Sequence[Vector]) -> None:
        """See `Partial`."""
        count, high, low = (c.values for c in columns)
        for j, part in enumerate((count, low & LOW, (low >> 32) + (high & LOW), high >> 32)):
            np.add.at(self.state[:, j], slots, part)

    def value(self, copies: Array) -> Vector:
        """See `Linear`."""
        if self.mean:
            return with_nulls(_means(copies), copies[:, 0] == 0)
        sums, nulls = _sums(copies)
        return with_nulls(sums, nulls)


def exact(copies: Array) -> list[tuple[int, int]]:
    """(count, sum) of copied states, as Python integers.

    >>> exact(np.array([[2, 5, 1, -1]]))
    [(2, -18446744069414584315)]
    """
    return [(count, low + (middle << 32) + (high << 64)) for count, low, middle, high in copies.tolist()]


@njit(cache=True)
def _deposit(
    state: Array, slots: Array, values: Array, nulls: Array, signs: Array, marks: Array, copies: Array
) -> None:
    at = 0
    for i in range(len(slots)):
        row = state[slots[i]]
        if not (len(nulls) and nulls[i]):
            sign = np.int64(signs[i]) if len(signs) else np.int64(1)
            value = values[i]
            row[0] += sign
            row[1] += sign * (value & LOW)
            row[2] += sign * (value >> 32)
        if len(marks) and marks[i]:
            copies[at] = row
            at += 1


@njit(cache=True)
def _words(row: Array) -> Any:
    """The low 64 bits of the sum, and what lies above them."""
    middle = row[2] + (row[1] >> 32)
    return (middle << 32) | (row[1] & LOW), row[3] + (middle >> 32)


@njit(cache=True)
def _sums(copies: Array) -> Any:
    sums = np.empty(len(copies), np.int64)
    nulls = np.empty(len(copies), np.bool_)
    for i in range(len(copies)):
        low, high = _words(copies[i])
        sums[i] = low
        nulls[i] = copies[i, 0] == 0 or high != low >> 63
    return sums, nulls


@njit(cache=True)
def _means(copies: Array) -> Any:
    means = np.zeros(len(copies), np.float64)
    digits = np.zeros(WIDTH, np.int64)
    for i in range(len(copies)):
        count = copies[i, 0]
        low, high = _words(copies[i])
        if count and high == low >> 63:
            means[i] = low / count
        elif count:
            means[i] = read_mean(copies[i, 1:], 0, digits, count)
    return means
