"""Priority queues from which any element may leave, for many slots, in one pool of flat arrays.

A slot has two binary heaps with the least key on top: what came, and what left but still lies in the first. Whenever
both tops are equal both go (lazy deletion), so a top read is a live one. Where the dead grow to half the living, both
are sorted and the dead struck out: amortised O(log n) an operation, and memory within a constant of the live
elements.

    head = heads[slot]   (start, size, capacity) of the living at 0, of the dead at 3
    keys, words, flags   the pool: the order key of an element, and what it stands for
    free, top            see `penstock.operators.kernels.pool`
"""

from __future__ import annotations

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.pool import give_back, more, move

LIVE, DEAD = 0, 3
HEAD = 6
COMPACT_FROM = 16


@njit(cache=True)
def insert(
    head: Array, keys: Array, words: Array, flags: Array, free: Array, top: Array, key: int, word: int, flag: bool
) -> bool:
    """Adds an element; False where the pool is full."""
    return _push(head, LIVE, keys, words, flags, free, top, key, word, flag)


@njit(cache=True)
def delete(
    head: Array, keys: Array, words: Array, flags: Array, free: Array, top: Array, key: int, word: int, flag: bool
) -> bool:
    """Takes an element with this key out; False where the pool is full."""
    if head[LIVE + 1] and head[DEAD + 1] == 0 and keys[head[LIVE]] == key:
        _pop(head, LIVE, keys, words, flags)
        return True
    if not _push(head, DEAD, keys, words, flags, free, top, key, word, flag):
        return False
    if head[DEAD + 1] >= COMPACT_FROM and 2 * head[DEAD + 1] > head[LIVE + 1]:
        _compact(head, keys, words, flags)
    return True


@njit(cache=True)
def settle(head: Array, keys: Array, words: Array, flags: Array) -> bool:
    """Brings the least live element to the top, at head[LIVE] in the pool; False where there is none."""
    while head[LIVE + 1] and head[DEAD + 1] and keys[head[LIVE]] == keys[head[DEAD]]:
        _pop(head, LIVE, keys, words, flags)
        _pop(head, DEAD, keys, words, flags)
    return bool(head[LIVE + 1] > 0)


@njit(cache=True)
def release(heads: Array, slots: Array, keys: Array, free: Array) -> None:
    """Empties slots and gives their segments back."""
    for slot in slots:
        for part in (LIVE, DEAD):
            give_back(heads[slot, part], heads[slot, part + 2], keys, free)
        heads[slot] = 0


@njit(cache=True)
def rekey(heads: Array, keys: Array, words: Array, key_of: Array, flip: bool) -> None:
    """Replaces every key by that of its word, where that keeps the order."""
    for slot in range(len(heads)):
        for part in (LIVE, DEAD):
            start = heads[slot, part]
            for i in range(start, start + heads[slot, part + 1]):
                keys[i] = ~key_of[words[i]] if flip else key_of[words[i]]


@njit(cache=True)
def held(heads: Array) -> Array:
    """The places in the pool at which elements lie."""
    places = np.empty(heads[:, LIVE + 1].sum() + heads[:, DEAD + 1].sum(), np.int64)
    n = 0
    for slot in range(len(heads)):
        for part in (LIVE, DEAD):
            for i in range(heads[slot, part + 1]):
                places[n] = heads[slot, part] + i
                n += 1
    return places


@njit(cache=True)
def _push(head: Array, part: int, keys: Array, words: Array, flags: Array, free: Array, top: Array,
          key: int, word: int, flag: bool) -> bool:  # fmt: skip
    size = head[part + 1]
    if size == head[part + 2] and not more(head, part, keys, words, flags, free, top):
        return False
    start = head[part]
    i = size
    while i > 0 and keys[start + ((i - 1) >> 1)] > key:
        move(keys, words, flags, start + ((i - 1) >> 1), start + i)
        i = (i - 1) >> 1
    keys[start + i], words[start + i], flags[start + i] = key, word, flag
    head[part + 1] = size + 1
    return True


@njit(cache=True)
def _pop(head: Array, part: int, keys: Array, words: Array, flags: Array) -> None:
    start, size = head[part], head[part + 1] - 1
    head[part + 1] = size
    last = start + size
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and keys[start + child + 1] < keys[start + child]:
            child += 1
        if keys[start + child] >= keys[last]:
            break
        move(keys, words, flags, start + child, start + i)
        i = child
    move(keys, words, flags, last, start + i)


@njit(cache=True)
def _compact(head: Array, keys: Array, words: Array, flags: Array) -> None:
    """Sorts both heaps and strikes out what is in both; a sorted array is a heap."""
    a, n, b, m = head[LIVE], head[LIVE + 1], head[DEAD], head[DEAD + 1]
    order = a + np.argsort(keys[a : a + n])
    live_keys, live_words, live_flags = keys[order], words[order], flags[order]
    order = b + np.argsort(keys[b : b + m])
    dead_keys, dead_words, dead_flags = keys[order], words[order], flags[order]
    i, kept, left = 0, 0, 0
    for j in range(m):
        while i < n and live_keys[i] < dead_keys[j]:
            keys[a + kept], words[a + kept], flags[a + kept] = live_keys[i], live_words[i], live_flags[i]
            kept += 1
            i += 1
        if i < n and live_keys[i] == dead_keys[j]:
            i += 1
        else:
            keys[b + left], words[b + left], flags[b + left] = dead_keys[j], dead_words[j], dead_flags[j]
            left += 1
    while i < n:
        keys[a + kept], words[a + kept], flags[a + kept] = live_keys[i], live_words[i], live_flags[i]
        kept += 1
        i += 1
    head[LIVE + 1], head[DEAD + 1] = kept, left
