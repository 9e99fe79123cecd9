"""Opens a declared stream, lets it read what there is, and gives its rows back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.plan.network import Connector, RelationDefinition, StreamDefinition
from penstock.plan.schema import Schema
from penstock.spark.errors import explained
from penstock.spark.sources import open_relation, open_stream

Options = dict[str, Any]


def declared(columns: str, format: str, options: Options, timestamp: str | None = None) -> StreamDefinition:
    return StreamDefinition("s", Schema.parse(columns), timestamp, source=Connector(format, tuple(options.items())))


@contextmanager
def running(spark: SparkSession, stream: StreamDefinition) -> Iterator[tuple[StreamingQuery, str]]:
    """The stream, read into a table of Spark's memory whose name comes with it."""
    name = f"t{uuid.uuid4().hex}"
    with explained("stream 's'"):
        query = open_stream(spark, stream).writeStream.format("memory").queryName(name).start()
    try:
        yield query, name
    finally:
        query.stop()
        spark.catalog.dropTempView(name)


def read(spark: SparkSession, stream: StreamDefinition) -> list[Row]:
    """All rows that there are now, ordered by source and offset."""
    with running(spark, stream) as (query, name), explained("stream 's'"):
        query.processAllAvailable()
        return spark.table(name).orderBy("_source", "_offset").collect()


def load(spark: SparkSession, columns: str, format: str, options: Options) -> list[Row]:
    """The rows of a relation."""
    definition = RelationDefinition("r", Schema.parse(columns), Connector(format, tuple(options.items())))
    return open_relation(spark, definition).orderBy("_source", "_offset").collect()
