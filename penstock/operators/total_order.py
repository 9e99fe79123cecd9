"""The total order within a train: timestamp, place, and where places tie the rows' real values."""

from __future__ import annotations

import numpy as np
from numba import njit

from penstock.operators.base import value_key
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned
from penstock.plan.schema import Schema
from penstock.plan.types import Type


def in_total_order(train: Train, schema: Schema, dictionaries: Dictionaries) -> Train:
    """The elements as `base.order_key` orders them; the train itself, unread, where it is in order already.

    All elements of an instant come in one train, so its order is the order of the stream.
    """
    ts, seq = train.ts, train.seq
    places = ts if seq is None else seq
    if rising(ts, places):
        return train
    places = np.zeros(len(ts), np.int64) if seq is None else seq
    order = np.lexsort((places, ts))
    tied = _tied(ts[order], places[order])
    if tied.any():
        order[tied] = _by_value(train, order[tied], schema, dictionaries)
    return train.take(order)


@njit(cache=True)
def rising(ts: Array, places: Array) -> bool:
    """True where every element comes after the one before it, by timestamp, then by place."""
    for i in range(1, len(ts)):  # noqa: SIM110 - a loop compiles better than a generator
        if ts[i] < ts[i - 1] or (ts[i] == ts[i - 1] and places[i] <= places[i - 1]):
            return False
    return True


def _tied(ts: Array, places: Array) -> Array:
    """Marks the elements that have a neighbour with the same timestamp and place."""
    same = (ts[1:] == ts[:-1]) & (places[1:] == places[:-1])
    tied = np.zeros(len(ts), np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    return tied


def _by_value(train: Train, positions: Array, schema: Schema, dictionaries: Dictionaries) -> Array:
    some = train.take(positions)
    keys: list[Array] = []
    for vector, t in zip(some.columns, schema.types, strict=True):
        keys += sort_keys(vector, t, dictionaries)
    leading = [some.ts] if some.seq is None else [some.ts, some.seq]
    order: Array = positions[np.lexsort([*reversed(keys), *reversed(leading)])]
    return order


def sort_keys(vector: Vector, t: Type, dictionaries: Dictionaries) -> list[Array]:
    """Arrays, the more important first, that sort as `value_key` does: NULL first, NaN last."""
    values = _ranks(vector.values, t, dictionaries) if interned(t) else vector.values
    if vector.nulls is None:
        return [values]
    return [~vector.nulls, np.where(vector.nulls, values.dtype.type(0), values)]


def _ranks(codes: Array, t: Type, dictionaries: Dictionaries) -> Array:
    """The place of each code's value among the values of all of them."""
    distinct, places = np.unique(codes, return_inverse=True)
    values = dictionaries.of(t).values
    keys = [value_key(values[c]) if c < len(values) else (0,) for c in distinct.tolist()]
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    result: Array = ranks[places]
    return result
