"""Many growing runs of elements in one pool of flat arrays: keys, words, flags.

A run lies in a segment of 4, 8, 16, ... elements; `head[part : part + 3]` is its (start, size, capacity). Segments
that were given back are linked through their first key, one list a size (`free`, -1 for none); `top[0]` is where the
pool's untouched part begins. A function that may need a new segment says False where the pool is full, before it
changed anything: the caller grows the pool and goes on from there.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from penstock.operators.columns.vector import Array

SMALLEST = 4
SIZES = 48


@njit(cache=True)
def move(keys: Array, words: Array, flags: Array, source: int, target: int) -> None:
    """Copies an element."""
    keys[target], words[target], flags[target] = keys[source], words[source], flags[source]


@njit(cache=True)
def more(head: Array, part: int, keys: Array, words: Array, flags: Array, free: Array, top: Array) -> bool:
    """Moves the run at head[part:] to a segment twice as large; False where the pool is full."""
    capacity = max(SMALLEST, 2 * head[part + 2])
    start = segment(capacity, keys, free, top)
    if start < 0:
        return False
    for i in range(head[part + 1]):
        move(keys, words, flags, head[part] + i, start + i)
    give_back(head[part], head[part + 2], keys, free)
    head[part], head[part + 2] = start, capacity
    return True


@njit(cache=True)
def segment(capacity: int, keys: Array, free: Array, top: Array) -> Any:
    """Where a free segment of this capacity starts, which is taken; -1 where the pool is full."""
    size_class = size_class_of(capacity)
    start = free[size_class]
    if start >= 0:
        free[size_class] = keys[start]
    elif top[0] + capacity <= len(keys):
        start = top[0]
        top[0] += capacity
    return start


@njit(cache=True)
def give_back(start: int, capacity: int, keys: Array, free: Array) -> None:
    """Frees a segment."""
    if capacity:
        size_class = size_class_of(capacity)
        keys[start] = free[size_class]
        free[size_class] = start


@njit(cache=True)
def size_class_of(capacity: int) -> int:
    """Which list of `free` holds segments of this capacity."""
    size_class = 0
    while SMALLEST << size_class < capacity:
        size_class += 1
    return size_class
