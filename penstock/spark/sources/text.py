"""Lines of CSV or JSON to columns, on the JVM, with a reason for each line that is not a row.

A line is parsed once, by Spark's own parsers. What they cannot tell apart (which column was wrong, and how) is found
out in a branch that only malformed lines enter. Timestamps and dates are cast from text, so that a bare number is never
taken for an instant without being told its unit: `timestamp_unit = 'ms'`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as S

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.schema import Field, Schema
from penstock.spark.sources.columns import IDENTITY, article, first_reason, quoted, spark_type

FORMATS: Final = ("csv", "json")
UNITS: Final = {"s": "1000000", "ms": "1000", "us": "1", "ns": "0.001"}
"""Microseconds in each unit that a number for a timestamp may have."""
PARSED: Final = "_parsed"
CORRUPT: Final = "_corrupt"
NO_ROW: Final = {"csv": "the number of columns is wrong", "json": "not a JSON object"}
_EXACT: Final = "decimal(38,9)"


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a line is read: `csv` or `json`, Spark's options for it, and the columns of a CSV line in their order."""

    format: str
    schema: Schema
    options: Mapping[str, str]
    order: tuple[str, ...] = ()

    def option(self, name: str) -> str | None:
        """The value of an option, whatever the case of its name."""
        return next((v for k, v in self.options.items() if k.lower() == name.lower()), None)

    @property
    def places(self) -> tuple[str, ...]:
        """The names of a line's columns; those that nobody declared are read and forgotten."""
        return self.order or self.schema.names


def line_format(what: str, format: str, schema: Schema, options: Mapping[str, str]) -> LineFormat:
    """The checked format of a stream's lines."""
    if format not in FORMATS:
        raise PenstockError(unknown(f"format of {what}", format, FORMATS))
    made = LineFormat(format, schema, options)
    timestamp_unit(what, options)
    if (made.option("multiLine") or "false").lower() == "true":
        raise PenstockError(
            Diagnostic(
                f"{what}: multiLine is not supported: a row is a line", help="write each row on a line of its own"
            )
        )
    return made


def timestamp_unit(what: str, options: Mapping[str, str]) -> str | None:
    """The unit of numbers for timestamps, where one is declared."""
    unit = next((v for k, v in options.items() if k.lower() == "timestamp_unit"), None)
    if unit is not None and unit not in UNITS:
        raise PenstockError(unknown(f"timestamp_unit of {what}", unit, tuple(UNITS)))
    return unit


def parse(lines: DataFrame, form: LineFormat, keep: Sequence[str] = ()) -> DataFrame:
    """The declared columns, `_arrival` and identity, `_bad`, and `_raw` (every row's, here) from lines in column
    `value`; the columns `keep` stay."""
    raw = F.col("value")
    kept = [F.col(c) for c in (*keep, "_arrival", *IDENTITY)]
    known = [F.col("_bad")] if "_bad" in lines.columns else [F.lit(None).cast("string").alias("_bad")]
    read = lines.select(
        F.make_valid_utf8(raw).alias("_raw"),
        F.is_valid_utf8(raw).alias("_text"),
        *kept,
        *known,
        _parsed(raw, form, typed=True).alias(PARSED),
    )
    values = [_value(f, form).alias(f.name) for f in form.schema]
    bad = F.coalesce(F.col("_bad"), first_reason(_reasons(form)))
    return read.select(*values, *kept, bad.alias("_bad"), F.col("_raw"))


def _parsed(raw: Column, form: LineFormat, *, typed: bool) -> Column:
    """The line as a struct; `typed` with the types that Spark's parser checks itself, else all text."""
    by_name = {f.name: f for f in form.schema}
    types = [(n, _read_as(by_name.get(n), form) if typed else S.StringType()) for n in form.places]
    schema = ", ".join(f"{quoted(n)} {t.simpleString()}" for n, t in [*types, (CORRUPT, S.StringType())])
    options = {**form.options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    return F.from_csv(raw, schema, options) if form.format == "csv" else F.from_json(raw, schema, options)


def _read_as(field: Field | None, form: LineFormat) -> S.DataType:
    """What the parser reads: text where the cast is ours."""
    return S.StringType() if field is None or _cast_here(field, form) else spark_type(field.type)


def _cast_here(field: Field, form: LineFormat) -> bool:
    return field.type.name in ("timestamp", "date") or (form.format == "csv" and field.type.element is not None)


def _value(field: Field, form: LineFormat) -> Column:
    """A column's value as its type; NULL where the text is not one."""
    text = F.col(PARSED)[field.name]
    if field.type.name == "timestamp":
        return _timestamp(text, form)
    if field.type.name == "date":
        pattern = form.option("dateFormat")
        return F.to_date(F.try_to_timestamp(text, F.lit(pattern))) if pattern else text.try_cast("date")
    if field.type.element is not None and form.format == "csv":
        return F.from_json(text, spark_type(field.type).simpleString(), {"mode": "PERMISSIVE"})
    return text


def _timestamp(text: Column, form: LineFormat) -> Column:
    """ISO text, or a pattern's; numbers where their unit is declared. A time of day without a date is none."""
    pattern, unit = form.option("timestampFormat"), form.option("timestamp_unit")
    if pattern:
        read = F.try_to_timestamp(text, F.lit(pattern))
    else:
        dash, colon = F.instr(text, "-"), F.instr(text, ":")
        dated = (dash > 1) & ((colon == 0) | (dash < colon))
        read = F.when(dated, text.try_cast("timestamp"))
    if unit is None:
        return read
    return F.coalesce(F.timestamp_micros(micros(text, unit)), read)


def micros(number: Column, unit: str) -> Column:
    """A number of `unit` in whole microseconds; NULL where there are too many."""
    return F.try_multiply(number.try_cast(_EXACT), F.lit(UNITS[unit]).cast("decimal(10,3)")).try_cast("bigint")


def _reasons(form: LineFormat) -> list[tuple[Column, Column | str]]:
    parsed, raw = F.col(PARSED), F.col("_raw")
    reasons: list[tuple[Column, Column | str]] = [
        (raw.isNull() | (F.trim(raw) == ""), "the value is empty"),
        (~F.col("_text"), "not a text in UTF-8"),
        (parsed.isNull() | parsed[CORRUPT].isNotNull(), _diagnosis(form)),
    ]
    if form.format == "json":
        reasons.append((_more_than_a_document(raw), NO_ROW["json"]))
    for field in form.schema:
        if _cast_here(field, form):
            wrong = parsed[field.name].isNotNull() & _value(field, form).isNull()
            reasons.append((wrong, f"{field.name} is not {article(field.type)}"))
    nothing = [parsed[n].isNull() for n in form.schema.names]
    if nothing and form.format == "json":
        every = nothing[0]
        for one in nothing[1:]:
            every = every & one
        reasons.append((every, "it has none of the declared columns"))
    return reasons


def _more_than_a_document(raw: Column) -> Column:
    """True where text follows the first JSON object, which Spark's parser would forget."""
    doubtful = F.contains(raw, F.lit("}{")) | F.contains(raw, F.lit("} {"))
    two = F.from_json(F.concat(F.lit("["), raw, F.lit("]")), "array<string>").isNull()
    return ~F.endswith(F.rtrim(raw), F.lit("}")) | (doubtful & two)


def _diagnosis(form: LineFormat) -> Column:
    """Why Spark's parser refused a line: read again as text, it has a first column that the parser made no value of."""
    text = _parsed(F.col("_raw"), form, typed=False)
    reasons: list[tuple[Column, Column | str]] = [(text.isNull() | text[CORRUPT].isNotNull(), NO_ROW[form.format])]
    for field in form.schema:
        wrong = text[field.name].isNotNull() & _value(field, form).isNull()
        reasons.append((wrong, f"{field.name} is not {article(field.type)}"))
    return F.coalesce(first_reason(reasons), F.lit("malformed"))
