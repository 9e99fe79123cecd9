"""Frames that have columns already (Parquet, rate, sources of others): are they the declared ones, and of what type?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as S

from penstock.errors import Diagnostic, PenstockError, suggestion
from penstock.plan.schema import Field, Schema
from penstock.spark.sources.columns import IDENTITY, article, first_reason, name, quoted, spark_type
from penstock.spark.sources.text import micros

_WIDENS: Final[Mapping[str, tuple[str, ...]]] = {
    "int": ("tinyint", "smallint"),
    "bigint": ("tinyint", "smallint", "int"),
    "double": ("float", "tinyint", "smallint", "int"),
    "timestamp": ("timestamp_ntz", "date"),
    "string": ("varchar", "char"),
}
"""For each of our types, the types in files that every value of is taken without loss."""


def same_types(what: str, schema: Schema, found: Mapping[str, str], unit: str | None = None) -> None:
    """Refuses declared columns that files do not have, or have with a type that loses values; all at once.
    `unit` is that of numbers for timestamps."""
    mistakes = [m for f in schema if (m := _mistake(what, f, found, unit))]
    if mistakes:
        raise PenstockError(*mistakes)


def _mistake(what: str, field: Field, found: Mapping[str, str], unit: str | None = None) -> Diagnostic | None:
    actual = _called(field.name, found)
    if actual is None:
        listed = (f"columns: {', '.join(f'{n} {t}' for n, t in found.items())}",)
        return Diagnostic(
            f"{what}: there is no column '{field.name}'", notes=listed, help=suggestion(field.name, found)
        )
    kind = found[actual]
    if kind == spark_type(field.type).simpleString() or _fits(field, kind, unit):
        return None
    number = field.type.name == "timestamp" and kind == "bigint"
    help = "say in which unit: timestamp_unit = 's', 'ms', 'us' or 'ns'" if number else f"declare it as {kind}"
    message = f"{what}: column '{field.name}' is {kind} in the files, not {article(field.type)}"
    return Diagnostic(message, help=help)


def _fits(field: Field, kind: str, unit: str | None) -> bool:
    if field.type.name == "timestamp" and kind == "bigint":
        return unit is not None
    if kind.partition("(")[0] in _WIDENS.get(field.type.name, ()):
        return True
    if field.type.name == "decimal" and kind.startswith("decimal("):
        precision, scale = (int(p) for p in kind[8:-1].split(","))
        return scale <= field.type.scale and precision - scale <= field.type.precision - field.type.scale
    return False


def _called(wanted: str, found: Mapping[str, str]) -> str | None:
    """The file's own spelling of a name, whose case does not matter."""
    return wanted if wanted in found else next((n for n in found if n.lower() == wanted.lower()), None)


def file_schema(schema: Schema, found: Mapping[str, str] | None) -> str:
    """What to ask the files for: the declared columns in the types that the files have."""
    if found is None:
        return ", ".join(f"{quoted(f.name)} {spark_type(f.type).simpleString()}" for f in schema)
    return ", ".join(f"{quoted(f.name)} {found[_called(f.name, found) or f.name]}" for f in schema)


def cast(frame: DataFrame, schema: Schema, unit: str | None = None) -> DataFrame:
    """The declared columns of `frame` in our types, with `_bad` and `_raw` (the row as JSON)."""
    present = {f.name.lower(): f for f in frame.schema}
    kinds = {f.name: present[f.name.lower()].dataType for f in schema}
    values = [_value(f, kinds[f.name], unit).alias(f.name) for f in schema]
    wrong = [(name(f.name).isNotNull() & _value(f, kinds[f.name], unit).isNull(), f"{f.name} is not {article(f.type)}")
             for f in schema if kinds[f.name] != spark_type(f.type)]  # fmt: skip
    bad = first_reason(wrong)
    raw = F.to_json(F.struct(*[name(n) for n in schema.names]))
    return frame.select(*values, "_arrival", *IDENTITY, bad.alias("_bad"), raw.alias("_raw"))


def _value(field: Field, kind: S.DataType, unit: str | None) -> Column:
    wanted, column = spark_type(field.type), name(field.name)
    if kind == wanted:
        return column
    if field.type.name == "interval" and isinstance(kind, S.DayTimeIntervalType):
        return (F.unix_micros(F.timestamp_micros(F.lit(0)) + column)).cast("bigint")
    if unit is not None and field.type.name == "timestamp" and not isinstance(kind, S.TimestampNTZType):
        return F.timestamp_micros(micros(column, unit))
    return column.try_cast(wanted)


def refuse_missing(what: str, schema: Schema, frame: DataFrame) -> None:
    """Refuses a frame that lacks declared columns, with the columns there are."""
    found = {f.name: f.dataType.simpleString() for f in frame.schema}
    mistakes = [m for f in schema if _called(f.name, found) is None and (m := _mistake(what, f, found))]
    if mistakes:
        raise PenstockError(*mistakes)
