"""Rows of plain values to trains and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from penstock.operators.base import Row
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector, interned, physical
from penstock.plan.schema import Schema
from penstock.plan.types import Type


def train_of(schema: Schema, rows: Sequence[Row], ts: Sequence[int], seq: Sequence[int] | None,
             dictionaries: Dictionaries) -> Train:  # fmt: skip
    """A train of `rows` (internal values, in the schema's order)."""
    columns = [encode([row[i] for row in rows], f.type, dictionaries) for i, f in enumerate(schema)]
    places = None if seq is None else np.array(seq, np.int64)
    return Train(columns, np.array(ts, np.int64), seq=places)


def rows_of(train: Train, schema: Schema, dictionaries: Dictionaries) -> list[Row]:
    """The rows of a train."""
    columns = [decode(train.column(i), f.type, dictionaries) for i, f in enumerate(schema)]
    return list(zip(*columns, strict=True)) if columns else [()] * len(train)


def encode(values: Sequence[Any], t: Type, dictionaries: Dictionaries) -> Vector:
    """Internal values, None among them, as a vector of `t`."""
    if interned(t):
        plain = values if t.element is None else [v if v is None else _with_one_nan(v) for v in values]
        return dictionaries.of(t).encode(plain)
    nulls = np.fromiter((v is None for v in values), np.bool_, len(values))
    numbers = [_number(v) for v in values] if t.name == "decimal" else [0 if v is None else v for v in values]
    return Vector(np.array(numbers, physical(t)), nulls if nulls.any() else None)


def decode(vector: Vector, t: Type, dictionaries: Dictionaries) -> list[Any]:
    """The inverse of `encode`.

    >>> from penstock.plan.types import decimal
    >>> decode(encode([Decimal("1.50"), None], decimal(4, 2), Dictionaries()), decimal(4, 2), Dictionaries())
    [Decimal('1.50'), None]
    """
    if interned(t):
        return dictionaries.of(t).decode(vector)
    values: list[Any] = vector.values.tolist()
    if t.name == "decimal":
        values = [Decimal(v).scaleb(-t.scale) for v in values]
    if vector.nulls is not None:
        values = [None if null else v for v, null in zip(values, vector.nulls.tolist(), strict=True)]
    return values


def _number(value: Decimal | None) -> int:
    """A decimal without its point; its scale is its type's."""
    if value is None:
        return 0
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits)))
    return -number if sign else number


def _with_one_nan(array: tuple[Any, ...]) -> tuple[Any, ...]:
    """The array with the one NaN that Python finds equal to itself inside tuples, and without -0.0."""
    return tuple(_plain(v) for v in array)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return math.nan if value != value else value + 0.0
    return _with_one_nan(value) if isinstance(value, tuple) else value
