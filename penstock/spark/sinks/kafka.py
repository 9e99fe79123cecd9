"""Kafka: at least once on the wire, and every record says who it is.

Headers: `penstock-query`, `penstock-run` (the checkpoint), `penstock-batch` and `penstock-row` (the row's number in the
batch). A record that comes twice carries the same four; a consumer that has seen them drops it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.network import Query
from penstock.plan.schema import Schema
from penstock.spark.errors import explained
from penstock.spark.sinks.json_text import json_lines
from penstock.spark.sinks.sink import Target, delivered, frame_of

HEADERS: Final = ("penstock-query", "penstock-run", "penstock-batch", "penstock-row")
_HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """A topic; a row is a message, its value JSON, its key the text of `key_column` if there is one."""

    target: Target
    topic: str
    key: str | None
    extra: tuple[str, ...]
    guarantee: str = f"at least once; the headers {', '.join(HEADERS)} name each record"

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Sends the batch through Spark's connector."""
        if not rows.num_rows:
            return
        messages = self._messages(batch, query, delivered(rows, batch, self.extra))
        with explained(self.target.what, self.target.options):
            writer = frame_of(self.target.spark, messages).write.format("kafka").option("topic", self.topic)
            writer.options(**self.target.without("topic", "key_column", "format")).save()

    def _messages(self, batch: int, query: Query, rows: pa.Table) -> pa.Table:
        columns = {"value": json_lines(rows), "headers": _headers(query.name, self.target.run, batch, rows.num_rows)}
        if self.key is not None:
            columns["key"] = pc.cast(rows.column(self.key), pa.string())
        return pa.table(columns)


def _headers(query: str, run: str, batch: int, rows: int) -> pa.Array:
    numbers = pc.cast(pa.array(range(rows), pa.int64()), pa.string())
    each: list[pa.Array] = [pa.repeat(word, rows) for word in (query, run, str(batch))]
    columns = [*each, numbers]
    places = pa.array([c * rows + r for r in range(rows) for c in range(len(HEADERS))], pa.int64())
    values = pa.concat_arrays(columns).cast(pa.binary()).take(places)
    keys = pa.array(list(HEADERS) * rows, pa.string())
    structs = pa.StructArray.from_arrays([keys, values], fields=list(_HEADER))
    return pa.ListArray.from_arrays(pa.array(range(0, len(HEADERS) * (rows + 1), len(HEADERS)), pa.int32()), structs)


def open_kafka(target: Target, schema: Schema) -> KafkaSink:
    """The checked sink."""
    example = "'kafka.bootstrap.servers' = 'host:9092', topic = 'results'"
    target.needed("kafka.bootstrap.servers", example)
    topic = target.needed("topic", example)
    if (target.option("format") or "json").lower() != "json":
        raise PenstockError(Diagnostic(f"{target.what}: kafka's values are written as JSON", help="format = 'json'"))
    key = target.option("key_column")
    if key is not None and key not in schema:
        raise PenstockError(unknown(f"column for the key of {target.what}", key, schema.names))
    return KafkaSink(target, topic, key, target.extra())
