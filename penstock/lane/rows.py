"""Rows of plain values to trains and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.operators.base import Context, Row
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.operators.vector_eval import to_values, to_vector
from penstock.plan.schema import Schema


def train_of(
    schema: Schema, rows: Sequence[Row], ts: Sequence[int], seq: Sequence[int], dictionaries: Dictionaries
) -> Train:
    """A train of `rows` (internal values, in the schema's order)."""
    context = Context(dictionaries)
    columns = [to_vector([_canonical(row[i]) for row in rows], f.type, context) for i, f in enumerate(schema)]
    return Train(columns, np.array(ts, np.int64), seq=np.array(seq, np.int64))


def rows_of(train: Train, schema: Schema, dictionaries: Dictionaries) -> list[Row]:
    """The rows of a train.

    >>> from penstock.plan.schema import Schema
    >>> s, d = Schema.parse("a int, b string"), Dictionaries()
    >>> rows_of(train_of(s, [(1, "x"), (None, None)], [5, 6], [0, 1], d), s, d)
    [(1, 'x'), (None, None)]
    """
    context = Context(dictionaries)
    columns = [to_values(train.column(i), f.type, context) for i, f in enumerate(schema)]
    return list(zip(*columns, strict=True)) if columns else [()] * len(train)


def _canonical(value: Any) -> Any:
    """Inside arrays, which dictionaries compare, the one NaN that is equal to itself there, and no -0.0."""
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return math.nan if value != value else value + 0.0
    return _canonical(value)
