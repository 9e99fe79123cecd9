"""Who a group is, for window drops: 64 bits of its key values, the same on every lane and in every process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned, words
from penstock.plan.functions.hashing import double_word, hash_long, hash_value
from penstock.plan.types import Type, to_internal

_SEEDS: Final = (0x6E01, 0x9E37)
_NULL: Final = 0x0DD0


def groups_of(train: Train, columns: Sequence[int], types: Sequence[Type], context: Context) -> Array:
    """A number (int64) for the group of each element; without key columns all are one group."""
    parts = [np.full(len(train), seed, np.uint64) for seed in _SEEDS]
    for index, t in zip(columns, types, strict=True):
        vector = train.column(index)
        parts = [_mixed(vector, t, part, seed, context) for part, seed in zip(parts, _SEEDS, strict=True)]
    return _whole(parts[0], parts[1])


def group_of(values: Sequence[Any], types: Sequence[Type]) -> int:
    """The number of the group with these key values, as users write them.

    >>> from penstock.operators.columns.vector import Vector
    >>> from penstock.plan.types import INT
    >>> train = Train([Vector(np.array([7, 8]))], np.array([0, 0]))
    >>> int(group_of((7,), (INT,))) == int(groups_of(train, [0], (INT,), Context())[0])
    True
    """
    parts = [np.array([seed], np.uint64) for seed in _SEEDS]
    for value, t in zip(values, types, strict=True):
        parts = [_mixed_value(to_internal(value, t), t, p, seed) for p, seed in zip(parts, _SEEDS, strict=True)]
    return int(_whole(parts[0], parts[1])[0])


def _whole(high: Array, low: Array) -> Array:
    return ((high << np.uint64(32)) | low).view(np.int64)


def _mixed(vector: Vector, t: Type, hashed: Array, seed: int, context: Context) -> Array:
    given = _of_codes(vector.values, t, seed, context) if interned(t) else words(vector).view(np.uint64)
    mixed: Array = hash_long(given, hashed)
    return mixed if vector.nulls is None else np.where(vector.nulls, hash_long(np.uint64(_NULL), hashed), mixed)


def _of_codes(codes: Array, t: Type, seed: int, context: Context) -> Array:
    """A hash of the value behind each code: codes differ from lane to lane, values do not."""
    values = context.dictionaries.of(t).values
    distinct, inverse = np.unique(codes, return_inverse=True)
    return np.array([hash_value(values[c], t, seed) for c in distinct.tolist()], np.uint64)[inverse]


def _mixed_value(value: Any, t: Type, hashed: Array, seed: int) -> Array:
    if value is None:
        word = _NULL
    elif interned(t):
        word = hash_value(value, t, seed)
    else:
        word = double_word(value) if t.name == "double" else int(value) & 0xFFFFFFFFFFFFFFFF
    mixed: Array = hash_long(np.uint64(word), hashed)
    return mixed
