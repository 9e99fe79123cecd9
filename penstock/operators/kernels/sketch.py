"""A quantile sketch that can be merged and subtracted: exact counts of values in buckets of 0.78 % relative width.

The idea is DDSketch's with its linearly interpolated mapping, cut so that it needs no arithmetic: a value's bucket is
the upper 19 bits of the double (exponent and 7 bits of the fraction), counted from zero in both directions, so that
every engine agrees on every value. A bucket stands for its bound nearer to zero: an answer lies within 1/128 of the
value of exactly the wanted rank, and whole numbers below 256 come out exactly. -inf, +inf and NaN (the largest) have
buckets of their own; values nearer to zero than 2**-1029 share that of zero.

A slot's buckets are a sorted run of (bucket, count) in a pool (see `penstock.operators.kernels.pool`). The value of
rank q among n is the one numbered floor(q * (n - 1)), from 0.

Reference: Masson, Rim, Lee, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees",
VLDB 2019.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.pool import more, move

SHIFT = 45
INFINITE = 0x7FF << 7
NOT_A_NUMBER = INFINITE + 1


def buckets(values: Array) -> Array:
    """The buckets of doubles.

    >>> buckets(np.array([0.0, 1.0, -1.0, 1.01])).tolist()
    [0, 130944, -130944, 130945]
    """
    bits = np.abs(values).view(np.int64) >> SHIFT
    signed = np.where(values < 0, -bits, bits)
    return np.where(np.isnan(values), NOT_A_NUMBER, signed)


def representatives(buckets: Array) -> Array:
    """What buckets stand for.

    >>> representatives(np.array([130944, -130945, 0])).tolist()
    [1.0, -1.0078125, 0.0]
    """
    magnitude = (np.abs(buckets) << SHIFT).view(np.float64)
    signed = np.where(buckets < 0, -magnitude, magnitude)
    return np.where(buckets == NOT_A_NUMBER, np.nan, signed)


@njit(cache=True)
def tally(
    head: Array, keys: Array, words: Array, flags: Array, free: Array, top: Array, bucket: int, count: int
) -> bool:
    """Adds `count` (negative: takes away) to a slot's bucket; False where the pool is full."""
    at = _find(head, keys, bucket)
    end = head[0] + head[1]
    if at < end and keys[at] == bucket:
        words[at] += count
        if words[at] == 0:
            for i in range(at, end - 1):
                move(keys, words, flags, i + 1, i)
            head[1] -= 1
        return True
    if head[1] == head[2]:
        offset = at - head[0]
        if not more(head, 0, keys, words, flags, free, top):
            return False
        at, end = head[0] + offset, head[0] + head[1]
    for i in range(end, at, -1):
        move(keys, words, flags, i - 1, i)
    keys[at], words[at] = bucket, count
    head[1] += 1
    return True


@njit(cache=True)
def quantile(head: Array, keys: Array, words: Array, rank: float, total: int) -> Any:
    """The bucket of the value numbered floor(rank * (total - 1))."""
    left = np.int64(np.floor(rank * (total - 1)))
    i = head[0]
    while left >= words[i]:
        left -= words[i]
        i += 1
    return keys[i]


@njit(cache=True)
def _find(head: Array, keys: Array, bucket: int) -> Any:
    low, high = head[0], head[0] + head[1]
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < bucket:
            low = middle + 1
        else:
            high = middle
    return low
