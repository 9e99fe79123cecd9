"""The last steps of every source: dates that are dates, timestamps, and the columns in their fixed order."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.plan.schema import Schema
from penstock.plan.types import FIRST_DAY, LAST_DAY
from penstock.spark.sources.columns import IDENTITY, first_reason, name


def stamped(frame: DataFrame, schema: Schema, timestamp: str | None) -> DataFrame:
    """The columns of a stream. A NULL in the column that stamps makes a row malformed."""
    if timestamp is None:
        at, missing = F.col("_arrival"), F.lit(False)
    else:
        at, missing = micros_of(name(timestamp), schema.type_of(timestamp).name), name(timestamp).isNull()
    bad = first_reason([(F.col("_bad").isNotNull(), F.col("_bad")), (missing, f"{timestamp} is NULL")])
    columns = [name(n) for n in schema.names]
    whole = frame.select(*columns, at.alias("_ts"), "_arrival", *IDENTITY, bad.alias("_bad"), "_raw")
    return without_good_text(whole)


def in_calendar(frame: DataFrame, schema: Schema) -> DataFrame:
    """Days before the year 1 or after 9999, which Spark's dates reach and ours do not, make their rows malformed."""
    ours = {f.name: F.unix_date(name(f.name)).between(FIRST_DAY, LAST_DAY) for f in schema if f.type.name == "date"}
    beyond = [(~kept, f"{column} is not a date of the years 1 to 9999") for column, kept in ours.items()]
    bad = first_reason([(F.col("_bad").isNotNull(), F.col("_bad")), *beyond])
    days = {column: F.when(kept, name(column)) for column, kept in ours.items()}
    return frame.withColumns({**days, "_bad": bad}) if days else frame


def without_good_text(frame: DataFrame) -> DataFrame:
    """Keeps `_raw` for malformed rows alone; the optimizer then never makes it for others."""
    return frame.withColumn("_raw", F.when(F.col("_bad").isNotNull(), F.col("_raw")))


def micros_of(column: Column, kind: str) -> Column:
    """A value of type `kind` as an instant in microseconds."""
    if kind == "timestamp":
        return F.unix_micros(column)
    return F.unix_micros(column.cast("timestamp")) if kind == "date" else column.cast("bigint")
