"""Who a tuple is, for drops: the same answer wherever it is asked and however rows were cut into batches.

A tuple of a stream as it came is its place in the total order; one that operators made is its timestamp and its values
(equal tuples of one instant go together); a row of a relation is its values, so that its `-` is who its `+` was. The
hash is Spark's Murmur3, so that the gate and the lanes agree.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned, words
from penstock.plan.functions.hashing import SEED, hash_long, hash_value
from penstock.plan.node import Kind, Node
from penstock.plan.types import Type

_ALL: Final = float(1 << 32)


def draws(train: Train, node: Node, seed: int, context: Context) -> Array:
    """For each tuple of `node` a number in [0, 1) that depends on `seed` and the tuple's identity alone."""
    start = int(hash_long(seed & 0xFFFFFFFFFFFFFFFF, SEED))
    hashed = np.full(len(train), start, np.uint64)
    stream, places = node.kind is Kind.STREAM, train.seq
    if stream:
        hashed = hash_long((train.ts if places is None else places).astype(np.int64).view(np.uint64), hashed)
    if not stream or places is None:
        for index, t in enumerate(node.schema.types):
            hashed = _mixed_in(train.column(index), t, hashed, context)
    return hashed.astype(np.float64) / _ALL


def _mixed_in(vector: Vector, t: Type, hashed: Array, context: Context) -> Array:
    """`hashed` with a column mixed in; a NULL leaves it as it is."""
    given = _hashed_codes(vector.values, t, context) if interned(t) else words(vector).view(np.uint64)
    mixed: Array = hash_long(given, hashed)
    return mixed if vector.nulls is None else np.where(vector.nulls, hashed, mixed)


def _hashed_codes(codes: Array, t: Type, context: Context) -> Array:
    """A hash of the value behind each code: codes differ from lane to lane, values do not."""
    values = context.dictionaries.of(t).values
    distinct, inverse = np.unique(codes, return_inverse=True)
    each = [hash_value(values[c] if c < len(values) else None, t, SEED) for c in distinct.tolist()]
    return np.array(each, np.uint64)[inverse]
