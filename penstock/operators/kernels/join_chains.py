"""The hash index of a join side: rows by a 64-bit key, as links between row positions in flat arrays.

A bucket links one row for each distinct key (`chain`, from the bucket's head); the rows of one key form a ring
(`after`, `before`) in the order in which they came. So a key with half a million rows is one link in its bucket, a new
row joins its ring's end and any row leaves in constant time. `chain` of a row that does not stand for its key is
`MEMBER`.

Positions count from the side's first row; `keys` is read at position + `shift`, because it may be a column of a window
store that keeps another base.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.index import mixed

NONE: Final = -1
MEMBER: Final = -2
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_BLOCK: Final = 128
"""Candidates whose keys are found together."""


@njit(cache=True)
def bucket(key: int, bits: int) -> np.uint64:
    """The bucket of `key` among 2 ** bits: multiplicative hashing of the two halves folded together."""
    word = np.uint64(key)
    return ((word ^ (word >> _HALF)) * _GOLDEN) >> np.uint64(64 - bits)


@njit(cache=True)
def insert(positions: Array, sign: Array, heads: Array, bits: int, chain: Array, after: Array, before: Array,
           keys: Array, shift: int) -> int:  # fmt: skip
    """Adds the rows at `positions` whose sign is +; returns how many keys are new."""
    fresh = 0
    for k in range(len(positions)):
        if sign[k] < 0:
            continue
        p = positions[k]
        key = keys[np.uint64(p + shift)]
        b = bucket(key, bits)
        r = heads[b]
        while r >= 0 and keys[np.uint64(r + shift)] != key:
            r = chain[np.uint64(r)]
        if r < 0:
            chain[p], after[p], before[p] = heads[b], p, p
            heads[b] = p
            fresh += 1
        else:
            last = before[r]
            after[last], before[p], after[p], before[r] = p, last, r, p
            chain[p] = MEMBER
    return fresh


@njit(cache=True)
def remove(positions: Array, sign: Array, heads: Array, bits: int, chain: Array, after: Array, before: Array,
           keys: Array, shift: int) -> int:  # fmt: skip
    """Takes out the rows at `positions` whose sign is -; returns how many keys are gone.

    Where the row stands for its key, the next one of the ring takes over its link in the bucket.
    """
    gone = 0
    for k in range(len(positions)):
        if sign[k] > 0:
            continue
        p = np.uint64(positions[k])
        following, last = after[p], before[p]
        after[np.uint64(last)], before[np.uint64(following)] = following, last
        link = chain[p]
        if link == MEMBER:
            continue
        heir = link
        if following != positions[k]:
            heir = following
            chain[np.uint64(following)] = link
        else:
            gone += 1
        b = bucket(keys[np.uint64(positions[k] + shift)], bits)
        r = heads[b]
        if r == positions[k]:
            heads[b] = heir
        else:
            while chain[np.uint64(r)] != positions[k]:
                r = chain[np.uint64(r)]
            chain[np.uint64(r)] = heir
    return gone


@njit(cache=True)
def probe(words: Array, events: Array, start: int, heads: Array, bits: int, chain: Array, after: Array, keys: Array,
          shift: int, row_shift: int, touch: Array, born: Array, died: Array, out_index: Array,
          out_row: Array) -> tuple[int, int]:  # fmt: skip
    """Joins candidates from `start` on with the rows of their key that live at their event.

    Writes (candidate, place of the row) pairs and returns (next candidate, pairs written); it stops before a candidate
    whose pairs do not fit. A row's place is its position plus `row_shift`. The keys of a block of candidates are found
    before any ring is followed: then the reads of one candidate do not wait for those of another. A pair is written
    before it is known whether it counts: a branch that is taken at random costs more.
    """
    count = 0
    room = len(out_row)
    standing = np.empty(_BLOCK, np.int32)
    for low in range(start, len(words), _BLOCK):
        high = min(low + _BLOCK, len(words))
        find(words, low, high, heads, bits, chain, keys, shift, standing)
        for i in range(low, high):
            r = standing[i - low]
            if r < 0:
                continue
            event, first, mark = events[i], r, count
            while True:
                if count == room:
                    return i, mark
                row = np.uint64(r)
                t = np.uint64(touch[row])
                out_index[count] = i
                out_row[count] = r + row_shift
                count += (born[t] < event) & (event < died[t])
                r = after[row]
                if r == first:
                    break
    return len(words), count


@njit(cache=True)
def find(words: Array, low: int, high: int, heads: Array, bits: int, chain: Array, keys: Array, shift: int,
         standing: Array) -> None:  # fmt: skip
    """Writes to `standing`, for each word from `low` up to `high`, the row that stands for it, NONE where none does."""
    for i in range(low, high):
        standing[i - low] = heads[bucket(words[i], bits)]
    for i in range(low, high):
        r = standing[i - low]
        while r >= 0 and keys[np.uint64(r + shift)] != words[i]:
            r = chain[np.uint64(r)]
        standing[i - low] = r


@njit(cache=True)
def rehash(old_heads: Array, heads: Array, bits: int, chain: Array, keys: Array, shift: int) -> None:
    """Moves every key into the buckets of `heads`, another number of them."""
    heads[:] = NONE
    for b in range(len(old_heads)):
        r = old_heads[b]
        while r >= 0:
            following = chain[r]
            target = bucket(keys[r + shift], bits)
            chain[r] = heads[target]
            heads[target] = r
            r = following


@njit(cache=True)
def moved(links: Array, dead: int, count: int, capacity: int) -> Array:
    """`links` for positions counted from `dead` on: its `count` entries from there, every link reduced by `dead`."""
    fresh = np.empty(capacity, np.int32)
    for p in range(count):
        link = links[p + dead]
        fresh[p] = link - dead if link >= 0 else link
    return fresh


@njit(cache=True)
def reduce_heads(heads: Array, dead: int) -> None:
    """Reduces every head, as `moved` does."""
    for b in range(len(heads)):
        if heads[b] >= 0:
            heads[b] -= dead


@njit(cache=True)
def mix_into(mix: Array, words: Array) -> None:
    """Makes each word of `mix` depend on the word beside it too: the key of several columns."""
    for k in range(len(mix)):
        mix[k] = np.int64((mixed(mix[k]) ^ np.uint64(words[k])) * _GOLDEN)
