"""Kafka: a message is a row, its value JSON or CSV. Replayable: the partition and the offset name a row for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.schema import Schema
from penstock.spark.sources.columns import Identity, article, identified, name, spark_type
from penstock.spark.sources.read import Reading
from penstock.spark.sources.text import line_format, parse

OURS: Final = ("format", "key_column", "timestamp_unit")
TOPICS: Final = ("subscribe", "subscribepattern", "assign")


def open_kafka(reading: Reading) -> DataFrame:
    """Spark's own connector. `format` says how values are written (json); `key_column` names the declared column that
    takes the message's key."""
    _check(reading.what, reading.options)
    messages = reading.reader("kafka", reading.without(*OURS)).load()
    key = reading.option("key_column")
    inside = _without(reading.schema, key)
    form = line_format(reading.what, reading.option("format") or "json", inside, reading.options)
    value = F.col("value").cast("string").alias("value")
    rows = identified(messages, _identity(reading), value, F.col("key").cast("string").alias("_key"))
    if key is None:
        return parse(rows.drop("_key"), form)
    return _with_key(parse(rows, form, keep=("_key",)), reading.schema, key)


def _check(what: str, options: Mapping[str, str]) -> None:
    given = {k.lower() for k in options}
    if "kafka.bootstrap.servers" not in given:
        help = "write FROM kafka OPTIONS ('kafka.bootstrap.servers' = 'host:9092', subscribe = 'topic')"
        raise PenstockError(Diagnostic(f"{what}: kafka needs the option 'kafka.bootstrap.servers'", help=help))
    if not given.intersection(TOPICS):
        raise PenstockError(
            Diagnostic(f"{what}: kafka needs to know which topic", help="add the option subscribe = 'topic'")
        )


def _identity(reading: Reading) -> Identity:
    """One topic: Kafka's partition. Several: a hash of topic and partition."""
    one = reading.option("subscribe")
    single = one is not None and "," not in one
    source = F.col("partition") if single else F.xxhash64("topic", "partition")
    return Identity(F.unix_micros("timestamp"), source, F.col("offset"))


def _without(schema: Schema, key: str | None) -> Schema:
    if key is None:
        return schema
    schema.index(key)
    return Schema(tuple(f for f in schema if f.name != key))


def _with_key(rows: DataFrame, schema: Schema, key: str) -> DataFrame:
    wanted = schema.type_of(key)
    value: Column = F.col("_key").try_cast(spark_type(wanted))
    wrong = F.col("_key").isNotNull() & value.isNull()
    bad = F.coalesce(F.col("_bad"), F.when(wrong, F.lit(f"the key is not {article(wanted)}")))
    return rows.withColumns({key: value, "_bad": bad}).select(
        *(name(n) for n in schema.names), "_arrival", "_source", "_offset", "_bad", "_raw"
    )
