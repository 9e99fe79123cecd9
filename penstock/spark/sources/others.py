"""Sources that are Spark's alone: socket, rate, and whatever else goes by a name."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import Diagnostic, PenstockError
from penstock.spark.sources.columns import Identity, batch_identity, identified
from penstock.spark.sources.read import Reading
from penstock.spark.sources.text import line_format, parse
from penstock.spark.sources.typed import cast, refuse_missing


def open_socket(reading: Reading) -> DataFrame:
    """Lines of JSON (or `format = 'csv'`) from a TCP server. What was read before a crash is gone: at most once."""
    for needed in ("host", "port"):
        if reading.option(needed) is None:
            help = "write FROM socket OPTIONS (host = 'localhost', port = 9999)"
            raise PenstockError(Diagnostic(f"{reading.what}: socket needs the option '{needed}'", help=help))
    form = line_format(reading.what, reading.option("format") or "json", reading.schema, reading.options)
    options = {**reading.without("format", "timestamp_unit"), "includeTimestamp": "true"}
    lines = reading.reader("socket", options).load()
    batch = batch_identity()
    identity = Identity(F.unix_micros("timestamp"), batch.source, batch.offset)
    return parse(identified(lines, identity, "value").where(F.trim("value") != ""), form)


def open_rate(reading: Reading) -> DataFrame:
    """Spark's generator: columns `timestamp` and `value`, which numbers the rows."""
    rows = reading.reader(reading.format, reading.options).load()
    refuse_missing(reading.what, reading.schema, rows)
    identity = Identity(F.unix_micros("timestamp"), F.lit(0), F.col("value"))
    return cast(identified(rows, identity, "*"), reading.schema)


def open_other(reading: Reading) -> DataFrame:
    """Any format by its name. Its columns are the declared ones; or `format` says how its column `value` is written."""
    rows = reading.reader(reading.format, reading.without("format", "timestamp_unit")).load()
    inner = reading.option("format")
    if inner is None:
        refuse_missing(reading.what, reading.schema, rows)
        return cast(identified(rows, batch_identity(), "*"), reading.schema)
    if "value" not in rows.columns:
        listed = (f"columns: {', '.join(rows.columns)}",)
        raise PenstockError(
            Diagnostic(f"{reading.what}: {reading.format} has no column 'value' to read as {inner}", notes=listed)
        )
    form = line_format(reading.what, inner, reading.schema, reading.options)
    return parse(identified(rows, batch_identity(), F.col("value").cast("string").alias("value")), form)
