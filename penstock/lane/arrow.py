"""Columns as Arrow has them, to vectors and back, without a step a row where types are flat.

| type | Arrow |
|---|---|
| boolean, double, string | bool, float64, string (dictionaries and large strings are taken too) |
| int, bigint | int32, int64 |
| timestamp | timestamp[us, UTC] |
| interval | int64 microseconds |
| date | date32 |
| decimal(p, s) | decimal128(p, s) |
| array<t> | list of t |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.operators.base import Context
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned
from penstock.operators.vector_eval import to_values
from penstock.plan.schema import Schema
from penstock.plan.types import Type, to_internal

_FLAT = {
    "boolean": pa.bool_(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"), "interval": pa.int64(), "date": pa.date32(), "null": pa.null(),
}  # fmt: skip


def arrow_type(t: Type) -> pa.DataType:
    """The Arrow type of `t`.

    >>> from penstock.plan.types import INT, array
    >>> arrow_type(array(INT))
    ListType(list<item: int32>)
    """
    if t.element is not None:
        return pa.list_(arrow_type(t.element))
    return pa.decimal128(t.precision, t.scale) if t.name == "decimal" else _FLAT[t.name]


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of rows of `schema`."""
    return pa.schema([(f.name, arrow_type(f.type)) for f in schema])


def vector_of(column: pa.ChunkedArray | pa.Array, t: Type, dictionaries: Dictionaries) -> Vector:
    """`column`, of the Arrow type of `t`, as a vector."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    nulls = whole.is_null().to_numpy(zero_copy_only=False) if whole.null_count else None
    if t.name == "string":
        return Vector(_codes(whole, t, dictionaries), nulls)
    if interned(t):
        return dictionaries.of(t).encode(to_internal(v, t) for v in whole.to_pylist())
    return Vector(_values(whole, t), nulls)


def _codes(whole: pa.Array, t: Type, dictionaries: Dictionaries) -> Array:
    """Codes of strings; each distinct one is looked up once. NULL is 0."""
    encoded = whole if pa.types.is_dictionary(whole.type) else pc.dictionary_encode(whole)
    dictionary = dictionaries.of(t)
    codes = np.array([dictionary.code(v) for v in encoded.dictionary.to_pylist()] or [0], np.int64)
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    taken: Array = codes[indices]
    if whole.null_count:
        taken[whole.is_null().to_numpy(zero_copy_only=False)] = 0
    return taken


def _values(whole: pa.Array, t: Type) -> Array:
    if t.name == "decimal":
        return _unscaled(whole)
    if t.name == "boolean":
        return np.asarray(whole.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
    if t.name == "double":
        return np.asarray(whole.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False), np.float64) + 0.0
    if t.name == "date":
        whole = whole.cast(pa.int32())
    return np.asarray(whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _unscaled(whole: pa.Array) -> Array:
    """The unscaled values of decimals that fit in 64 bits: the low word of each pair."""
    pairs = np.frombuffer(whole.buffers()[1], np.int64).reshape(-1, 2)[whole.offset : whole.offset + len(whole)]
    low: Array = pairs[:, 0].copy()
    if whole.null_count:
        low[whole.is_null().to_numpy(zero_copy_only=False)] = 0
    return low


def array_of(vector: Vector, t: Type, dictionaries: Dictionaries) -> pa.Array:
    """The inverse of `vector_of`."""
    mask = vector.nulls
    if t.name == "string":
        return _strings(vector, dictionaries.of(t).values)
    if t.name == "decimal" or interned(t):
        return pa.array(_plain(to_values(vector, t, Context(dictionaries))), arrow_type(t))
    if t.name == "timestamp":
        return pa.array(vector.values, pa.int64(), mask=mask).cast(arrow_type(t))
    if t.name == "date":
        return pa.array(vector.values.astype(np.int32), pa.int32(), mask=mask).cast(arrow_type(t))
    return pa.array(vector.values, pa.int64() if t.name == "int" else arrow_type(t), mask=mask).cast(arrow_type(t))


def _strings(vector: Vector, values: list[Any]) -> pa.Array:
    distinct, places = np.unique(vector.values, return_inverse=True)
    words = pa.array([values[c] if c < len(values) else None for c in distinct.tolist()], pa.string())
    return words.take(pa.array(places, pa.int64(), mask=vector.nulls))


def _plain(values: list[Any]) -> list[Any]:
    return [list(v) if isinstance(v, tuple) else v for v in values]


def table_of(train: Train, schema: Schema, dictionaries: Dictionaries, *, signed: bool) -> pa.Table:
    """The rows of a result: its columns, `_timestamp`, and for a relation `_sign`."""
    names = [*schema.names, "_timestamp"]
    arrays = [array_of(train.column(i), f.type, dictionaries) for i, f in enumerate(schema)]
    arrays.append(pa.array(train.ts, pa.int64()))
    if signed:
        names.append("_sign")
        arrays.append(pa.array(train.sign, pa.int8()))
    return pa.table(arrays, names=names)
