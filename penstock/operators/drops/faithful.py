"""A relation's `-` goes where its `+` went, although drops come, change and go in between.

A row that was dropped as it entered must not leave either, or the relation would lose a row that it never had; one that
was kept must leave, although a drop that came later would take it. So on a relation drops look at `+` alone, and what
they took is remembered until its `-` comes. Of equal rows (same values, and same place in a store where they have one)
the dropped ones leave first; then at every instant the relation is a part of what it would be without drops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numba import njit

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.drops.identity import draws
from penstock.plan.functions.hashing import hash_long
from penstock.plan.node import Node

_SEEDS: Final = (0x5EED, 0xD20B)
_LIMIT: Final = float(1 << 32)


class Faithful:
    """Remembers the rows of `node` that are gone and whose `-` has not come: how many of each."""

    __slots__ = ("_context", "_counts", "_keys", "_node")

    def __init__(self, node: Node, context: Context) -> None:
        self._node = node
        self._context = context
        self._keys: Array = np.empty(0, np.uint64)
        self._counts: Array = np.empty(0, np.int64)

    def __bool__(self) -> bool:
        return len(self._keys) > 0

    def kept(self, train: Train, drop: Callable[[Train], Train]) -> Array:
        """Positions of the elements that stay, where `drop` takes from the `+`."""
        sign, count = train.sign, len(train)
        numbered = Train(train.columns, train.ts, sign, train.seq, np.arange(count), train.weight, train.ids)
        stays = np.zeros(count, np.bool_)
        stays[drop(numbered).arrival] = True
        gone = (sign > 0) & ~stays
        if not len(self._keys) and not gone.any():
            return np.arange(count)
        keys, rows = np.unique(np.concatenate([self._keys, self._named(train)]), return_inverse=True)
        old = len(self._keys)
        counts = np.zeros(len(keys), np.int64)
        counts[rows[:old]] = self._counts
        kept = follow(sign, gone, rows[old:], counts)
        left = counts > 0
        self._keys, self._counts = keys[left], counts[left]
        return np.flatnonzero(kept)

    def _named(self, train: Train) -> Array:
        """64 bits that say which row an element is of."""
        high, low = ((draws(train, self._node, seed, self._context) * _LIMIT).astype(np.uint64) for seed in _SEEDS)
        if train.ids is not None:
            low = hash_long(train.ids.astype(np.int64).view(np.uint64), low)
        named: Array = (high << np.uint64(32)) | low
        return named


@njit(cache=True)
def follow(sign: Array, gone: Array, rows: Array, counts: Array) -> Array:
    """Which elements stay: of the `+` those not `gone`, of the `-` those whose row has none gone. `counts`, how many of
    each row are gone, is kept up."""
    kept = np.ones(len(sign), np.bool_)
    for i in range(len(sign)):
        row = rows[i]
        if gone[i]:
            counts[row] += 1
            kept[i] = False
        elif sign[i] < 0 and counts[row] > 0:
            counts[row] -= 1
            kept[i] = False
    return kept
