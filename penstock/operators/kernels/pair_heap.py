"""A binary heap of (key, value) pairs in an int64 array: the smallest key, then the smallest value, on top."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array


def heap() -> Array:
    """An empty heap. Its first row is (number of pairs, unused), the pairs follow."""
    return np.zeros((16, 2), np.int64)


@njit(cache=True)
def pushed(pairs: Array, key: int, value: int) -> Any:
    """The heap with one more pair, in a longer array where it was full."""
    size = pairs[0, 0] + 1
    if size == len(pairs):
        pairs = np.concatenate((pairs, np.zeros_like(pairs)))
    pairs[0, 0] = size
    place = size
    while place > 1 and _below(key, value, pairs, place >> 1):
        pairs[place] = pairs[place >> 1]
        place >>= 1
    pairs[place, 0], pairs[place, 1] = key, value
    return pairs


@njit(cache=True)
def pop(pairs: Array) -> Any:
    """Takes the top out and returns its value."""
    top = pairs[1, 1]
    size = pairs[0, 0] - 1
    pairs[0, 0] = size
    key, value = pairs[size + 1, 0], pairs[size + 1, 1]
    place = 1
    while 2 * place <= size:
        child = 2 * place
        if child < size and _below(pairs[child + 1, 0], pairs[child + 1, 1], pairs, child):
            child += 1
        if _below(key, value, pairs, child):
            break
        pairs[place] = pairs[child]
        place = child
    if size:
        pairs[place, 0], pairs[place, 1] = key, value
    return top


@njit(cache=True)
def _below(key: int, value: int, pairs: Array, place: int) -> Any:
    return key < pairs[place, 0] or (key == pairs[place, 0] and value < pairs[place, 1])
