"""What every source delivers: the declared columns, and what the engine needs to know about each row.

| column     | type   | what it is |
|------------|--------|------------|
| `_ts`      | bigint | the row's timestamp in microseconds: its TIMESTAMP BY column, else its arrival |
| `_arrival` | bigint | when the broker or Spark got it: Kafka's stamp, a file's modification time, else the batch's |
| `_source`  | bigint | the partition that the row is from: Kafka's number, a hash of a file's path |
| `_offset`  | bigint | its place there; (`_source`, `_offset`) names a row whatever the cut of batches and partitions |
| `_bad`     | string | NULL, or why the row is malformed |
| `_raw`     | string | the text of a malformed row |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as S

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.schema import Schema
from penstock.plan.types import Type

STAMPS: Final = ("_ts", "_arrival")
IDENTITY: Final = ("_source", "_offset")
VERDICT: Final = ("_bad", "_raw")
GATE: Final = ("_seq", "_row", "_entry", "_lane", "_to", "_metadata", "_key")
"""Names that rows need on their way through the source and the gate."""
EXTRA: Final = (*STAMPS, *IDENTITY, *VERDICT, *GATE)
PINNED: Final = {
    "spark.sql.files.maxPartitionBytes": "16m",
    "spark.sql.files.openCostInBytes": "16m",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.streaming.unsupportedOperationCheck": "false",
}
"""Where a file is split must depend on the file alone, not on the number of cores: an opening as dear as a whole split
keeps every split a partition of its own. Spark refuses row numbers in streams because its splits may change; pinned,
they do not."""
ROW_IN_PARTITION: Final = (1 << 33) - 1
_SIMPLE: Final = {
    "boolean": S.BooleanType(), "int": S.IntegerType(), "bigint": S.LongType(), "double": S.DoubleType(),
    "string": S.StringType(), "timestamp": S.TimestampType(), "date": S.DateType(), "interval": S.LongType(),
}  # fmt: skip


def spark_type(t: Type) -> S.DataType:
    """The type in Spark; an interval is its microseconds.

    >>> from penstock.plan.types import parse_type
    >>> spark_type(parse_type("array<decimal(9,2)>")).simpleString(), spark_type(parse_type("interval")).simpleString()
    ('array<decimal(9,2)>', 'bigint')
    """
    if t.element is not None:
        return S.ArrayType(spark_type(t.element))
    return S.DecimalType(t.precision, t.scale) if t.name == "decimal" else _SIMPLE[t.name]


def article(t: Type) -> str:
    """The type with its article, for messages.

    >>> article(Type("int")), article(Type("bigint"))
    ('an int', 'a bigint')
    """
    return f"{'an' if str(t)[0] in 'aeiou' else 'a'} {t}"


def checked_names(what: str, schema: Schema) -> None:
    """Refuses declared columns that bear the name of one of ours."""
    taken = [n for n in schema.names if n.lower() in EXTRA]
    if taken:
        raise PenstockError(
            Diagnostic(f"{what}: the column name '{taken[0]}' is Penstock's own", help="call the column something else")
        )


@dataclass(frozen=True, slots=True)
class Identity:
    """Where rows of a source say who they are and when they came, as expressions over its frame."""

    arrival: Column
    source: Column
    offset: Column


def batch_identity() -> Identity:
    """For a source that tells nothing: the batch (its time, which Spark's offset log keeps) and the place in it."""
    now = F.unix_micros(F.current_timestamp())
    return Identity(now, now, F.monotonically_increasing_id())


def identified(frame: DataFrame, identity: Identity, *keep: Column | str) -> DataFrame:
    """`frame` cut down to `keep` and its rows' arrival and identity."""
    return frame.select(
        *keep,
        identity.arrival.cast("bigint").alias("_arrival"),
        identity.source.cast("bigint").alias("_source"),
        identity.offset.cast("bigint").alias("_offset"),
    )


def first_reason(reasons: Sequence[tuple[Column, Column | str]]) -> Column:
    """The reason of the first condition that holds, else NULL."""
    none = F.lit(None).cast("string")
    return reduce(
        lambda rest, pair: F.when(pair[0], F.lit(pair[1]) if isinstance(pair[1], str) else pair[1]).otherwise(rest),
        reversed(reasons),
        none,
    )


def name(column: str) -> Column:
    """The column called exactly so, dots included."""
    return F.col(quoted(column))


def quoted(column: str) -> str:
    """A name as SQL writes it.

    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{column.replace('`', '``')}`"
