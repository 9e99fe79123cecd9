"""Sums of doubles without rounding: superaccumulators in flat arrays, so that what was added can be subtracted again.

A double is an integer of 53 bits times a power of two. A slot's sum is one wide integer, kept as signed 64-bit limbs
of 32 bits' weight: limb j counts units of 2**(base + 32 * j). Adding a double touches three limbs and carries
nothing; the upper halves of the limbs take up what overflows, and `propagate` carries it on long before they are
full. Reading rounds once, to nearest, ties to even.

All slots share `base` and the number of limbs, which follow the data: `exponents` finds what a batch needs.

Reference: Kulisch's long accumulator; Neal, "Fast exact summation using small and large superaccumulators", 2015,
section 3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array

LIMB_BITS = 32
LOW = np.int64(0xFFFFFFFF)
FRACTION = np.int64((1 << 52) - 1)
IMPLICIT = np.int64(1 << 52)
BIAS = 1075
"""A finite double with exponent field f and 53-bit significand m is m * 2**(max(f, 1) - BIAS)."""
SPECIAL = 0x7FF
POWERS = np.ldexp(1.0, np.arange(-900, 901))
"""2**-900 to 2**900: multiplying by these is exact for 63-bit numbers and takes a tenth of the time of ldexp."""


@njit(cache=True)
def exponents(bits: Array, nulls: Array) -> tuple[int, int, bool]:
    """The least and the greatest exponent field of the finite values that are not zero, and whether a value is NaN or
    infinite.
    """
    least, greatest, special = SPECIAL, 0, False
    for i in range(len(bits)):
        if len(nulls) and nulls[i]:
            continue
        field = (bits[i] >> 52) & SPECIAL
        if field == SPECIAL:
            special = True
        elif field or bits[i] & FRACTION:
            field = max(field, 1)
            least, greatest = min(least, field), max(greatest, field)
    return least, greatest, special


@njit(cache=True, inline="always")
def deposit(limbs: Array, magnitude: Any, position: Any, sign: Any) -> None:
    """Adds sign * magnitude * 2**position (counted from the base) to a row of limbs; 0 <= magnitude < 2**63."""
    j = position >> 5
    shift = position & 31
    rest = magnitude >> (LIMB_BITS - shift)
    limbs[j] += sign * ((magnitude << shift) & LOW)
    limbs[j + 1] += sign * (rest & LOW)
    limbs[j + 2] += sign * (rest >> LIMB_BITS)


@njit(cache=True, inline="always")
def add_double(limbs: Array, bits: Any, base: int, sign: Any) -> None:
    """Adds sign * (the finite double with these bits) to a row of limbs."""
    field = (bits >> 52) & SPECIAL
    magnitude = bits & FRACTION
    if field:
        magnitude |= IMPLICIT
    else:
        field = 1
    deposit(limbs, magnitude, field - BIAS - base, -sign if bits < 0 else sign)


@njit(cache=True)
def propagate(limbs: Array) -> None:
    """Carries every limb's upper half on, in every row; the last limb keeps the sign."""
    for row in range(limbs.shape[0]):
        carry = 0
        for j in range(limbs.shape[1] - 1):
            total = limbs[row, j] + carry
            limbs[row, j] = total & LOW
            carry = total >> LIMB_BITS
        limbs[row, limbs.shape[1] - 1] += carry


@njit(cache=True)
def digits_of(limbs: Array, digits: Array) -> int:
    """Writes the magnitude of a row of limbs as len(limbs) + 1 digits of 32 bits, least first; returns the sign."""
    count = len(limbs)
    carry = 0
    for j in range(count - 1):
        total = limbs[j] + carry
        digits[j] = total & LOW
        carry = total >> LIMB_BITS
    top = limbs[count - 1] + carry
    sign = 1
    if top < 0:
        sign = -1
        carry = 1
        for j in range(count - 1):
            total = LOW - digits[j] + carry
            digits[j] = total & LOW
            carry = total >> LIMB_BITS
        top = ~top + carry
    digits[count - 1] = top & LOW
    digits[count] = top >> LIMB_BITS
    return sign


@njit(cache=True)
def rounded(digits: Array, count: int) -> tuple[float, int]:
    """The number whose first `count` digits these are as (m, e), meaning m * 2**e with m rounded once to 53 bits;
    (0.0, 0) for zero.
    """
    t = count - 1
    while t >= 0 and digits[t] == 0:
        t -= 1
    if t < 0:
        return 0.0, 0
    first = np.uint64(digits[t])
    second = np.uint64(digits[t - 1]) if t > 0 else np.uint64(0)
    third = np.uint64(digits[t - 2]) if t > 1 else np.uint64(0)
    shift = LIMB_BITS - bit_length(digits[t])
    spill = np.uint64(LIMB_BITS - shift)
    window = ((first << np.uint64(LIMB_BITS)) | second) << np.uint64(shift)
    if shift:
        window |= third >> spill
    lost = (third & ((np.uint64(1) << spill) - np.uint64(1))) != 0
    j = t - 3
    while not lost and j >= 0:
        lost = digits[j] != 0
        j -= 1
    if lost:
        window |= np.uint64(1)
    return np.float64(window), LIMB_BITS * (t - 1) - shift


@njit(cache=True)
def bit_length(digit: Any) -> Any:
    """The number of bits of a positive number below 2**32, by the exponent of the double that it is."""
    return (np.float64(digit).view(np.int64) >> 52) - 1022


@njit(cache=True)
def read_sum(limbs: Array, base: int, digits: Array) -> Any:
    """A row of limbs, rounded once to a double; infinite where it is too large for one."""
    sign = digits_of(limbs, digits)
    m, e = rounded(digits, len(limbs) + 1)
    return sign * scaled(m, e + base)


@njit(cache=True)
def read_mean(limbs: Array, base: int, digits: Array, count: int) -> Any:
    """A row of limbs, rounded once, then divided by `count`; the sum itself may be too large for a double."""
    sign = digits_of(limbs, digits)
    m, e = rounded(digits, len(limbs) + 1)
    total = scaled(m, e + base)
    return sign * (scaled(m / count, e + base) if total == math.inf else total / count)


@njit(cache=True)
def scaled(m: float, e: int) -> Any:
    """m * 2**e, for m = 0 or 2**-63 <= m <= 2**64; infinite where that is too large for a double."""
    if -900 <= e <= 900:
        return m * POWERS[e + 900]
    if m == 0.0 or e < -2200:
        return 0.0
    if e > 1100:
        return math.inf
    return math.ldexp(m, e)


def span(least: int, greatest: int) -> tuple[int, int]:
    """Multiples of LIMB_BITS between which limbs must reach to hold doubles whose exponent fields lie in [least,
    greatest].
    """
    base = (least - BIAS) // LIMB_BITS * LIMB_BITS
    return base, base + LIMB_BITS * ((greatest - BIAS - base) // LIMB_BITS + 3)
