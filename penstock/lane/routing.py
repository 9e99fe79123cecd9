"""Which lane a row goes to: the hash of its key's values gives a key group, groups map to lanes.

The hash depends on the values alone, not on dictionary codes or on the machine, so that a row finds its group again
after a restart on another number of lanes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned, words
from penstock.operators.vector_eval import compiled
from penstock.plan.expressions import Expression
from penstock.plan.schema import Schema
from penstock.plan.types import Type

_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)


class Router:
    """Splits the trains of one leaf by the values of `route` into `lanes`; without a route all goes to the first."""

    def __init__(self, schema: Schema, route: Sequence[Expression], groups: int, lanes: int, context: Context) -> None:
        self._keys = [(compiled(e, schema, context), e.type) for e in route]
        self._groups = groups
        self._lanes = lanes
        self._context = context

    def split(self, train: Train) -> list[Train]:
        """One train for each lane, each in the order of `train`."""
        if not self._keys or self._lanes == 1:
            return [train, *(train.slice(0, 0) for _ in range(self._lanes - 1))]
        lane = self.key_groups(train) % self._lanes
        return [train.where(lane == i) for i in range(self._lanes)]

    def key_groups(self, train: Train) -> Array:
        """The key group of each row."""
        mixed = np.zeros(len(train), np.uint64)
        for key, t in self._keys:
            mixed = _mixed(mixed + _STEP + _hashes(key(train), t, self._context))
        groups: Array = (mixed % np.uint64(self._groups)).astype(np.int64)
        return groups


def _hashes(vector: Vector, t: Type, context: Context) -> Array:
    """A hash of each value; NULL is one value."""
    if interned(t):
        values = context.dictionaries.of(t).values
        distinct, places = np.unique(vector.values, return_inverse=True)
        hashes = np.array([_hash(values[c]) if c < len(values) else 0 for c in distinct.tolist()], np.uint64)[places]
    else:
        hashes = words(vector).view(np.uint64)
    return hashes if vector.nulls is None else np.where(vector.nulls, np.uint64(1), hashes)


def _hash(value: Any) -> int:
    """A hash that is the same everywhere; equal values, NaN among them, are written alike."""
    return zlib.crc32(repr(value).encode("utf-8", "surrogatepass"))


def _mixed(x: Array) -> Array:
    """SplitMix64's finish: every bit of the input moves every bit of the output."""
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    mixed: Array = x ^ (x >> np.uint64(31))
    return mixed
