"""What a sink is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.network import Query

EXTRA: Final = ("_batch", "_committed_at")
"""Columns on request (`extra = '_batch'`): they differ between two runs over the same input."""


class Sink(Protocol):
    """Where a query's committed rows go."""

    @property
    def guarantee(self) -> str:
        """What a reader may rely on, in words."""

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Delivers the rows of `batch`. It may be called again with the same batch and rows, after a crash."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a sink is made with.

    what         how messages call it
    run          the checkpoint's identity: the same after a restart, another one with another checkpoint
    options      resolved options, as text
    """

    spark: SparkSession
    what: str
    format: str
    query: str
    run: str
    options: Mapping[str, str]

    def option(self, name: str) -> str | None:
        """The value of an option, whatever the case of its name."""
        return next((v for k, v in self.options.items() if k.lower() == name.lower()), None)

    def needed(self, name: str, example: str) -> str:
        """The value of an option that must be there."""
        value = self.option(name)
        if not value:
            help = f"write INTO {self.format} OPTIONS ({example})"
            raise PenstockError(Diagnostic(f"{self.what}: {self.format} needs the option '{name}'", help=help))
        return value

    def without(self, *names: str) -> dict[str, str]:
        """The options for Spark, those left out that are ours."""
        ours = {n.lower() for n in (*names, "extra")}
        return {k: v for k, v in self.options.items() if k.lower() not in ours}

    def extra(self) -> tuple[str, ...]:
        """The columns asked for besides the query's own."""
        asked = tuple(n.strip() for n in (self.option("extra") or "").split(",") if n.strip())
        for name in asked:
            if name not in EXTRA:
                raise PenstockError(unknown(f"extra column of {self.what}", name, EXTRA))
        return asked


def delivered(rows: pa.Table, batch: int, extra: tuple[str, ...] = ()) -> pa.Table:
    """`rows` as sinks write them: `_timestamp` as a timestamp, and the extra columns.

    >>> delivered(pa.table({"a": [1], "_timestamp": [0]}), 7, ("_batch",)).column_names
    ['a', '_timestamp', '_batch']
    """
    stamp = rows.column_names.index("_timestamp")
    stamps = rows.column(stamp).cast(pa.timestamp("us", tz="UTC"))
    rows = rows.set_column(stamp, "_timestamp", stamps)
    now = dt.datetime.now(dt.UTC)
    values: dict[str, pa.Scalar] = {
        "_batch": pa.scalar(batch, pa.int64()),
        "_committed_at": pa.scalar(now, pa.timestamp("us", tz="UTC")),
    }
    for name in extra:
        rows = rows.append_column(name, pa.repeat(values[name], rows.num_rows))
    return rows


def frame_of(spark: SparkSession, rows: pa.Table) -> Any:
    """The rows as a Spark frame."""
    return spark.createDataFrame(rows)
