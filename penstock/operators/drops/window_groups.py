"""Who a group is, for window drops: 64 bits of its key values, the same on every lane and in every process, and at
Spark's gate: two of Spark's Murmur3 hashes, from different seeds, over the values as 64 bits each (of strings, such as
are interned, their own hash). NULL is mixed in as 32 bits, which no value is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned, words
from penstock.plan.functions.hashing import SEED, double_word, hash_int, hash_long, hash_value
from penstock.plan.types import Type, to_internal

SEEDS: Final = (0x6E01, 0x9E37)
"""Hashed first, in the high and in the low half."""
NULL: Final = 1
_STARTS: Final = tuple(int(hash_long(seed, SEED)) for seed in SEEDS)


def groups_of(train: Train, columns: Sequence[int], types: Sequence[Type], context: Context) -> Array:
    """A number (int64) for the group of each element; without key columns all are one group."""
    parts = [np.full(len(train), start, np.uint64) for start in _STARTS]
    for index, t in zip(columns, types, strict=True):
        vector = train.column(index)
        parts = [_mixed(vector, t, part, seed, context) for part, seed in zip(parts, _STARTS, strict=True)]
    return _whole(parts[0], parts[1])


def group_of(values: Sequence[Any], types: Sequence[Type]) -> int:
    """The number of the group with these key values, as users write them.

    >>> from penstock.operators.columns.vector import Vector
    >>> from penstock.plan.types import INT
    >>> train = Train([Vector(np.array([7, 8]))], np.array([0, 0]))
    >>> int(group_of((7,), (INT,))) == int(groups_of(train, [0], (INT,), Context())[0])
    True
    """
    parts = [np.array([start], np.uint64) for start in _STARTS]
    for value, t in zip(values, types, strict=True):
        parts = [_mixed_value(to_internal(value, t), t, p, seed) for p, seed in zip(parts, _STARTS, strict=True)]
    return int(_whole(parts[0], parts[1])[0])


def _whole(high: Array, low: Array) -> Array:
    return ((high << np.uint64(32)) | low).view(np.int64)


def _mixed(vector: Vector, t: Type, hashed: Array, seed: int, context: Context) -> Array:
    given = _of_codes(vector.values, t, seed, context) if interned(t) else words(vector).view(np.uint64)
    mixed: Array = hash_long(given, hashed)
    return mixed if vector.nulls is None else np.where(vector.nulls, hash_int(np.uint64(NULL), hashed), mixed)


def _of_codes(codes: Array, t: Type, seed: int, context: Context) -> Array:
    """A hash of the value behind each code: codes differ from lane to lane, values do not. NULL has a code that may be
    no value's."""
    values = context.dictionaries.of(t).values
    distinct, inverse = np.unique(codes, return_inverse=True)
    each = [hash_value(values[c] if c < len(values) else None, t, seed) for c in distinct.tolist()]
    return np.array(each, np.uint64)[inverse]


def _mixed_value(value: Any, t: Type, hashed: Array, seed: int) -> Array:
    if value is None:
        nothing: Array = hash_int(np.uint64(NULL), hashed)
        return nothing
    if interned(t):
        word = hash_value(value, t, seed)
    else:
        word = double_word(value) if t.name == "double" else int(value) & 0xFFFFFFFFFFFFFFFF
    mixed: Array = hash_long(np.uint64(word), hashed)
    return mixed
