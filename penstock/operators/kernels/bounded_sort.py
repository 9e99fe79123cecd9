"""The heap under BSort."""

from __future__ import annotations

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array


@njit(cache=True)
def smallest_first(ranks: Array, room: int) -> tuple[Array, Array]:
    """Passes `ranks` through a buffer that holds `room` of them: an arrival that finds it full pushes the smallest out.

    Returns what was pushed out, in that order, and what is left, smallest first.
    """
    heap = np.empty(min(room, len(ranks)), np.int64)
    out = np.empty(max(0, len(ranks) - room), np.int64)
    held = 0
    for k in range(len(ranks)):
        if held == room:
            out[k - room] = heap[0]
            _sink(heap, held, ranks[k])
        else:
            _rise(heap, held, ranks[k])
            held += 1
    return out, np.sort(heap)


@njit(cache=True)
def _rise(heap: Array, held: int, rank: int) -> None:
    """Adds `rank` behind the `held` ones."""
    place = held
    while place > 0 and heap[(place - 1) // 2] > rank:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = rank


@njit(cache=True)
def _sink(heap: Array, held: int, rank: int) -> None:
    """Puts `rank` in the place of the smallest."""
    place = 0
    while True:
        child = 2 * place + 1
        if child + 1 < held and heap[child + 1] < heap[child]:
            child += 1
        if child >= held or heap[child] > rank:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = rank
