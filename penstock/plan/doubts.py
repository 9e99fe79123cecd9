"""Doubts: which queries do not know yet whether a row is theirs, a bit a query in words, a line of words a row.

A filter has to see the rows about which some query that has it is in doubt; its verdict ends the doubts of all of them
on the rows that it drops (see `penstock.adapt.shared_orders`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
BITS: Final = 64


def users(queries: Sequence[int], conditions: int) -> Array:
    """For each condition the queries that have it: a query is a word of conditions.

    >>> users((0b01, 0b11), 2).tolist()
    [[3], [2]]
    """
    found = np.zeros((conditions, max(1, -(-len(queries) // BITS))), np.uint64)
    for q, word in enumerate(queries):
        for c in range(conditions):
            if word >> c & 1:
                found[c, q // BITS] |= np.uint64(1 << q % BITS)
    return found


@njit(cache=True)
def all_open(rows: int, queries: int) -> Array:
    """Every query in doubt about every row."""
    words = max(1, (queries + 63) // 64)
    doubts = np.empty((rows, words), np.uint64)
    for w in range(words):
        rest = min(64, queries - 64 * w)
        word = np.uint64(0xFFFFFFFFFFFFFFFF) if rest == 64 else (np.uint64(1) << np.uint64(max(0, rest))) - np.uint64(1)
        doubts[:, w] = word
    return doubts


@njit(cache=True)
def in_doubt(doubts: Array, having: Array) -> Array:
    """The rows about which one of the queries `having` is in doubt."""
    found, used = np.empty(len(doubts), np.int64), 0
    for r in range(len(doubts)):
        word = np.uint64(0)
        for w in range(len(having)):
            word |= doubts[r, w] & having[w]
        found[used] = r
        used += word != 0
    return found[:used]


@njit(cache=True)
def settle(doubts: Array, having: Array, rows: Array, passed: Array) -> None:
    """A filter of the queries `having` has said of `rows` which of them it passes."""
    for k in range(len(rows)):
        if not passed[k]:
            for w in range(len(having)):
                doubts[rows[k], w] &= ~having[w]


@njit(cache=True)
def ended(doubts: Array, having: Array, dropped: Array) -> tuple[int, int]:
    """Rows that a filter of the queries `having` would see, and doubts that it would end: it drops `dropped`."""
    seen, ends = 0, 0
    for r in range(len(doubts)):
        any_ = np.uint64(0)
        for w in range(len(having)):
            word = doubts[r, w] & having[w]
            any_ |= word
            ends += _bits(word) if dropped[r] else 0
        seen += any_ != 0
    return seen, ends


@njit(cache=True)
def _bits(word: Any) -> Any:
    """How many bits are set: by pairs, fours and bytes, whose counts one multiplication adds up."""
    word -= word >> np.uint64(1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (word >> np.uint64(2) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def dealt(doubts: Array, queries: int) -> tuple[Array, Array]:
    """The rows of each query, one query after another, and where each query's rows begin."""
    starts = np.zeros(queries + 1, np.int64)
    for r in range(len(doubts)):
        for w in range(doubts.shape[1]):
            word = doubts[r, w]
            while word:
                starts[64 * w + _lowest(word) + 1] += 1
                word &= word - np.uint64(1)
    for q in range(queries):
        starts[q + 1] += starts[q]
    places, rows = starts[:-1].copy(), np.empty(starts[-1], np.int64)
    for r in range(len(doubts)):
        for w in range(doubts.shape[1]):
            word = doubts[r, w]
            while word:
                q = 64 * w + _lowest(word)
                rows[places[q]] = r
                places[q] += 1
                word &= word - np.uint64(1)
    return rows, starts


@njit(cache=True)
def _lowest(word: Any) -> int:
    """The place of the lowest bit that is set."""
    place = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if word & ((np.uint64(1) << np.uint64(shift)) - np.uint64(1)) == 0:
            word >>= np.uint64(shift)
            place += shift
    return place
