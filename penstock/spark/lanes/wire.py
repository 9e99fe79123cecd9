"""Rows on their way into a lane, as Arrow tables: from the gate, or handed on by another lane.

Columns: `_entry` (the number of the entry), `_ts`, `_seq`, `_arrival`, `_sign` (what is handed on only), `_weight`
(after sampling drops only) and the columns of the leaf, named `<leaf>:<column>` so that rows of different leaves fit in
one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.lane.arrow import array_of, vector_of
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.plan.schema import Schema
from penstock.spark.entries import Entry

HEADERS = ("_entry", "_ts", "_seq", "_arrival")
DEAD = -1
"""The entry of malformed rows."""
PROFILED = -2
"""The entry of sampled rows that a filter at the gate has dropped: of them only the verdicts are looked at."""
VERDICTS = "_verdicts"
"""The column of the filters' verdicts on sampled rows, NULL for others (see `penstock.spark.filters`)."""
LETTER = "_letter"
"""The column of what is kept of them: stream, reason, text, source and offset."""


def dead_letters(table: pa.Table) -> pa.Table | None:
    """The malformed rows in `table`; None where there are none."""
    if LETTER not in table.column_names:
        return None
    dead = table.select([LETTER, "_arrival"]).filter(pc.equal(table.column("_entry"), DEAD))
    if not dead.num_rows:
        return None
    letter = dead.column(LETTER).combine_chunks()
    parts = dict(zip((f.name for f in letter.type), letter.flatten(), strict=True))
    return pa.table({**parts, "_arrival": dead.column("_arrival")})


def verdicts(table: pa.Table) -> dict[str, int]:
    """How often each word of verdicts is in a table that came from the gate."""
    if VERDICTS not in table.column_names:
        return {}
    counted = pc.value_counts(table.column(VERDICTS).drop_null())
    return {str(c["values"]): c["counts"] for c in counted.to_pylist()}


def column_name(leaf: str, column: str) -> str:
    """The name of a leaf's column on the wire.

    >>> column_name("packets", "src")
    'packets:src'
    """
    return f"{leaf}:{column}"


def unpacked(table: pa.Table, entries: Sequence[Entry], dictionaries: Dictionaries) -> Iterator[tuple[Entry, Train]]:
    """The rows of each entry in `table`, ordered by timestamp and place."""
    numbers = table.column("_entry").to_numpy()
    for entry in entries:
        chosen = numbers == entry.number
        mine = table if bool(chosen.all()) else table.filter(pa.array(chosen))
        if mine.num_rows:
            yield entry, _train(mine, entry, dictionaries)


def _train(table: pa.Table, entry: Entry, dictionaries: Dictionaries) -> Train:
    schema = entry.leaf.schema
    ts, seq, arrival = (table.column(name).to_numpy() for name in HEADERS[1:])
    columns = [vector_of(table.column(column_name(entry.leaf.name, f.name)), f.type, dictionaries) for f in schema]
    sign = table.column("_sign").to_numpy() if "_sign" in table.column_names else None
    train = Train(columns, ts, None if sign is None or bool((sign > 0).all()) else sign, seq, arrival, _weight(table))
    return train.take(np.lexsort((seq, ts))).dense()


def _weight(table: pa.Table) -> Array | None:
    """The rows' weights; None where all are 1."""
    if "_weight" not in table.column_names:
        return None
    weight = table.column("_weight").fill_null(1.0).to_numpy()
    return None if bool((weight == 1).all()) else weight


def packed(train: Train, entry: Entry, dictionaries: Dictionaries) -> pa.Table:
    """The rows of `train` as they go to `entry` on another lane."""
    schema: Schema = entry.leaf.schema
    seq = train.seq
    arrays = {
        "_entry": pa.array(np.full(len(train), entry.number, np.int32)),
        "_ts": pa.array(train.ts),
        "_seq": pa.array(np.zeros(len(train), np.int64) if seq is None else seq),
        "_arrival": pa.array(train.arrival),
        "_sign": pa.array(train.sign),
    }
    if train.weight is not None:
        arrays["_weight"] = pa.array(train.weight)
    for i, f in enumerate(schema):
        arrays[column_name(entry.leaf.name, f.name)] = array_of(train.column(i), f.type, dictionaries)
    return pa.table(arrays)


def to_bytes(table: pa.Table) -> bytes:
    """`table` as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(content: bytes) -> pa.Table:
    """The inverse of `to_bytes`."""
    return pa.ipc.open_stream(content).read_all()


def largest_ts(table: pa.Table) -> int | None:
    """The largest timestamp in `table`."""
    return pc.max(table.column("_ts")).as_py() if table.num_rows else None
