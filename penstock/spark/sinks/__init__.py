"""Where a query's committed rows go, and what a reader may rely on there."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from penstock.plan.network import Connector, Query
from penstock.plan.secrets import resolve
from penstock.spark.sinks.files import WRITERS, open_files
from penstock.spark.sinks.kafka import open_kafka
from penstock.spark.sinks.others import (
    ConsoleSink,
    ForeachBatch,
    MemorySink,
    SparkSink,
    forget,
    memory_table,
    open_function,
)
from penstock.spark.sinks.sink import Sink, Target

__all__ = ["ForeachBatch", "Sink", "forget", "memory_table", "open_sink"]


def open_sink(
    spark: SparkSession,
    query: Query,
    run: str,
    environ: Mapping[str, str] | None = None,
    function: ForeachBatch | None = None,
    as_json: bool = False,
) -> Sink:
    """The sink of `query`, checked; a query without INTO goes to the console.

    `run` is the checkpoint's identity, `environ` where `env:NAME` options are looked up, `function` what the Python API
    was given for `foreach_batch`, `as_json` makes each line of the console an object of JSON.
    """
    connector = query.sink or Connector("console")
    resolved = resolve(dict(connector.options), os.environ if environ is None else environ)
    options = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in resolved.items()}
    target = Target(spark, f"query '{query.name}'", connector.format.lower(), query.name, run, options)
    if target.format in WRITERS:
        return open_files(target)
    match target.format:
        case "kafka":
            return open_kafka(target, query.root.schema)
        case "console":
            return ConsoleSink(target.extra(), as_json)
        case "memory":
            return MemorySink(target.option("name") or query.name, run, target.extra())
        case "foreach_batch":
            return open_function(target, function)
    return SparkSink(target, target.extra())
