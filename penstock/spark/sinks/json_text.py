"""Arrow tables as lines of JSON, column by column.

pyarrow writes no JSON, and a Python object a row would cost more than the query. NaN and the infinities, which JSON
does not have, are written as Spark writes and reads them: as the strings "NaN", "Infinity", "-Infinity".
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

ROWS_AT_ONCE: Final = 65_536
_TO_ESCAPE: Final = r'["\\\x00-\x1f\x7f]'


def json_lines(rows: pa.Table) -> pa.ChunkedArray:
    """Each row as one line of JSON, NULLs included.

    >>> json_lines(pa.table({"a": [1, None], "b": ['x"y', "z"]})).to_pylist()
    ['{"a":1,"b":"x\\\\"y"}', '{"a":null,"b":"z"}']
    """
    batches = rows.combine_chunks().to_batches(max_chunksize=ROWS_AT_ONCE)
    return pa.chunked_array([_lines(batch) for batch in batches], pa.string())


def _lines(batch: pa.RecordBatch) -> pa.Array:
    pieces: list[Any] = []
    for i, name in enumerate(batch.schema.names):
        pieces += [f"{'{' if i == 0 else ','}{json.dumps(name, ensure_ascii=False)}:", cells(batch.column(i))]
    return pc.binary_join_element_wise(*pieces, "}", "")


def cells(column: pa.Array) -> pa.Array:
    """Each value as JSON text; `null` for NULL."""
    return pc.fill_null(_texts(column), "null")


def _texts(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_string(kind):
        return _strings(column)
    if pa.types.is_floating(kind):
        return _doubles(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _quoted(instants(column))
    if pa.types.is_list(kind):
        texts = [None if v is None else json.dumps(v, default=_plain, ensure_ascii=False) for v in column.to_pylist()]
        return pa.array(texts, pa.string())
    return pc.cast(column, pa.string())


def instants(column: pa.Array) -> pa.Array:
    """Timestamps and dates in ISO 8601.

    >>> instants(pa.array([1], pa.timestamp("us", tz="UTC"))).to_pylist()
    ['1970-01-01T00:00:00.000001Z']
    """
    return pc.replace_substring(pc.cast(column, pa.string()), " ", "T")


def _quoted(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _strings(column: pa.Array) -> pa.Array:
    quoted = _quoted(column)
    odd = pc.fill_null(pc.match_substring_regex(column, _TO_ESCAPE), False)
    if not pc.any(odd).as_py():
        return quoted
    escaped = [json.dumps(v, ensure_ascii=False) for v in column.filter(odd).to_pylist()]
    return pc.replace_with_mask(quoted, odd, pa.array(escaped, pa.string()))


def _doubles(column: pa.Array) -> pa.Array:
    texts = pc.cast(column, pa.string())
    for odd, word in (
        (pc.is_nan(column), '"NaN"'),
        (pc.equal(column, float("inf")), '"Infinity"'),
        (pc.equal(column, float("-inf")), '"-Infinity"'),
    ):
        texts = pc.if_else(pc.fill_null(odd, False), word, texts)
    return texts


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(value)
