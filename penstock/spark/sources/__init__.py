"""Where rows come from: anything that Spark reads, with a reason for each row that is malformed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Connector, RelationDefinition, StreamDefinition
from penstock.plan.secrets import resolve
from penstock.spark.errors import explained
from penstock.spark.sources.columns import IDENTITY, PINNED, VERDICT, checked_names, name
from penstock.spark.sources.files import COLUMNAR, TEXT, open_columns, open_lines
from penstock.spark.sources.kafka import open_kafka
from penstock.spark.sources.options import checked_options
from penstock.spark.sources.others import open_other, open_rate, open_socket
from penstock.spark.sources.read import Reading
from penstock.spark.sources.replay import open_replay
from penstock.spark.sources.stamps import in_calendar, stamped, without_good_text

OPENERS: Final[Mapping[str, Callable[[Reading], DataFrame]]] = {
    **dict.fromkeys(TEXT, open_lines),
    **dict.fromkeys(COLUMNAR, open_columns),
    "kafka": open_kafka,
    "socket": open_socket,
    "replay": open_replay,
    "rate": open_rate,
    "rate-micro-batch": open_rate,
}
"""For each format, who opens it; any other format is Spark's to find."""


def open_stream(
    spark: SparkSession,
    definition: StreamDefinition,
    environ: Mapping[str, str] | None = None,
    work: str | None = None,
) -> DataFrame:
    """A streaming frame of the stream's columns, then `_ts`, `_arrival`, `_source`, `_offset`, `_bad`, `_raw` (see
    `columns`). `environ` is where `env:NAME` options are looked up; `work` a local folder for sources that keep files
    of their own (replay), which belongs to the checkpoint."""
    reading = _reading(spark, f"stream '{definition.name}'", definition, definition.source, environ, streaming=True)
    folder = None if work is None else os.path.join(work, quote(definition.name, safe=""))
    reading = replace(reading, timestamp=definition.timestamp, work=folder)
    with explained(reading.what, reading.options):
        return stamped(_open(reading), definition.schema, definition.timestamp)


def open_relation(
    spark: SparkSession, definition: RelationDefinition, environ: Mapping[str, str] | None = None
) -> DataFrame:
    """The rows of a loaded relation: its columns, then `_source`, `_offset`, `_bad`, `_raw`."""
    reading = _reading(spark, f"relation '{definition.name}'", definition, definition.source, environ, streaming=False)
    with explained(reading.what, reading.options):
        columns = (name(n) for n in definition.schema.names)
        return without_good_text(_open(reading).select(*columns, *IDENTITY, *VERDICT))


def _open(reading: Reading) -> DataFrame:
    return in_calendar(OPENERS.get(reading.format, open_other)(reading), reading.schema)


def _reading(
    spark: SparkSession,
    what: str,
    definition: StreamDefinition | RelationDefinition,
    source: Connector | None,
    environ: Mapping[str, str] | None,
    *,
    streaming: bool,
) -> Reading:
    if source is None:
        raise PenstockError(Diagnostic(f"{what} has no source", help="say where it comes from: FROM csv OPTIONS (...)"))
    checked_names(what, definition.schema)
    checked_options(what, source.format.lower(), dict(source.options))
    for setting, value in PINNED.items():
        spark.conf.set(setting, value)
    resolved = resolve(dict(source.options), os.environ if environ is None else environ)
    options = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in resolved.items()}
    return Reading(spark, what, source.format.lower(), definition.schema, options, streaming)
