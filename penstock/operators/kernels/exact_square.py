"""Sums of squares without rounding, and the variance that follows: n * sum(x**2) - sum(x)**2 in whole numbers, so that
nothing cancels and nothing gets negative.

A double's square is an integer of 106 bits times a power of two; it is deposited in three pieces. Limbs and digits
are those of `penstock.operators.kernels.exact_sum`; the squares' base is twice the sums' base, so that both terms
count the same unit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.exact_sum import (
    BIAS,
    FRACTION,
    IMPLICIT,
    LIMB_BITS,
    LOW,
    SPECIAL,
    deposit,
    digits_of,
    rounded,
    scaled,
)

HALF = 27
HALF_MASK = np.int64((1 << HALF) - 1)


@njit(cache=True, inline="always")
def add_square(limbs: Array, bits: Any, base: int, sign: Any) -> None:
    """Adds sign * (the square of the finite double with these bits) to a row of limbs from 2**(2 * base) on."""
    field = (bits >> 52) & SPECIAL
    magnitude = bits & FRACTION
    if field:
        magnitude |= IMPLICIT
    else:
        field = 1
    position = 2 * (field - BIAS - base)
    high, low = magnitude >> HALF, magnitude & HALF_MASK
    deposit(limbs, low * low, position, sign)
    deposit(limbs, 2 * high * low, position + HALF, sign)
    deposit(limbs, high * high, position + 2 * HALF, sign)


@njit(cache=True)
def read_variance(
    sums: Array, squares: Array, base: int, count: int, population: bool, root: bool, scratch: Array
) -> Any:
    """The variance, or its root, of `count` values with these sums; scratch has three rows of len(squares) + 4
    digits.
    """
    numerator, product, digits = scratch[0], scratch[1], scratch[2]
    size = len(squares) + 4
    digits_of(squares, product)
    _times(product, len(squares) + 1, count, numerator, size)
    digits_of(sums, digits)
    _square(digits, len(sums) + 1, product, size)
    _subtract(numerator, product, size)
    m, e = rounded(numerator, size)
    e += 2 * base
    m = m / count / (count if population else count - 1)
    if not root:
        return scaled(m, e)
    if e & 1:
        m, e = 2.0 * m, e - 1
    return scaled(math.sqrt(m), e >> 1)


@njit(cache=True)
def _times(digits: Array, length: int, factor: int, out: Array, size: int) -> None:
    """out = digits * factor, 0 <= factor < 2**63."""
    for j in range(size):
        out[j] = 0
    for k in range(2):
        part = np.uint64((factor >> (LIMB_BITS * k)) & LOW)
        if part == 0:
            continue
        carry = np.uint64(0)
        j = 0
        while j < length or carry:
            total = carry + np.uint64(out[j + k])
            if j < length:
                total += np.uint64(digits[j]) * part
            out[j + k] = np.int64(total & np.uint64(LOW))
            carry = total >> np.uint64(LIMB_BITS)
            j += 1


@njit(cache=True)
def _square(digits: Array, length: int, out: Array, size: int) -> None:
    """out = digits * digits."""
    for j in range(size):
        out[j] = 0
    while length > 0 and digits[length - 1] == 0:
        length -= 1
    for i in range(length):
        part = np.uint64(digits[i])
        carry = np.uint64(0)
        for j in range(length):
            total = np.uint64(digits[j]) * part + np.uint64(out[i + j]) + carry
            out[i + j] = np.int64(total & np.uint64(LOW))
            carry = total >> np.uint64(LIMB_BITS)
        if carry:
            out[i + length] = np.int64(carry)


@njit(cache=True)
def _subtract(digits: Array, other: Array, size: int) -> None:
    """digits -= other, which is not larger."""
    borrow = 0
    for j in range(size):
        total = digits[j] - other[j] + borrow
        digits[j] = total & LOW
        borrow = total >> LIMB_BITS
