"""Files that arrive in a folder: CSV and JSON as lines, Parquet and ORC as columns."""

from __future__ import annotations

import csv
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.errors import Diagnostic, PenstockError, suggestion
from penstock.spark.errors import explained
from penstock.spark.sources.columns import ROW_IN_PARTITION, Identity, identified
from penstock.spark.sources.read import Reading
from penstock.spark.sources.text import LineFormat, line_format, parse, timestamp_unit
from penstock.spark.sources.typed import cast, file_schema, same_types

TEXT: Final = ("csv", "json")
COLUMNAR: Final = ("parquet", "orc")
OTHER_HEADER: Final = "the header differs from that of the first file"


def open_lines(reading: Reading) -> DataFrame:
    """CSV or JSON, a row a line.

    The place of a row is the first byte of its split plus its number in the split: it grows along a file and depends on
    nothing but the file, because our sessions fix the size of splits and never put two into one partition. The
    partitions are joined afterwards, so that small files do not cost a task each.
    """
    path = _path(reading)
    form = line_format(reading.what, reading.format, reading.schema, reading.options)
    header = _header(reading, form, path)
    if header is not None:
        form = LineFormat(form.format, form.schema, form.options, _order(reading, form, header))
    read = reading.reader("text", reading.without("path")).load(_streamable(reading, path))
    lines = identified(read, _identity(_place_in_split()), "value")
    lines = lines.coalesce(max(2, reading.spark.sparkContext.defaultParallelism))
    return parse(_rows(lines, form, header), form)


def open_columns(reading: Reading) -> DataFrame:
    """Parquet or ORC, checked against the files that are there when the run starts."""
    path = _path(reading)
    unit = timestamp_unit(reading.what, reading.options)
    options = reading.without("path", "timestamp_unit")
    found = _schema_of_files(reading, path)
    if found is not None:
        same_types(reading.what, reading.schema, found, unit)
    read = reading.reader(reading.format, options).schema(file_schema(reading.schema, found))
    read = read.load(_streamable(reading, path))
    row = F.col("_metadata.row_index") if reading.format == "parquet" else _place_in_split()
    return cast(identified(read, _identity(row), "*"), reading.schema, unit)


def _path(reading: Reading) -> str:
    path = reading.option("path")
    if not path:
        help = f"say where the files are: FROM {reading.format} OPTIONS (path = 'folder')"
        raise PenstockError(Diagnostic(f"{reading.what}: {reading.format} needs the option 'path'", help=help))
    return path


def _streamable(reading: Reading, path: str) -> str:
    """The path as a stream takes it: Spark streams folders and patterns, and a single file is a pattern that only it
    matches."""
    spark = reading.spark
    if not reading.streaming or spark._jvm is None or any(c in path for c in "*?[]{}\\"):
        return path
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    system = place.getFileSystem(spark._jsc.hadoopConfiguration())
    single = system.exists(place) and system.getFileStatus(place).isFile()
    return f"{path[:-1]}[{path[-1]}]" if single else path


def _place_in_split() -> Column:
    return F.col("_metadata.file_block_start") + F.monotonically_increasing_id().bitwiseAND(F.lit(ROW_IN_PARTITION))


def _identity(place: Column) -> Identity:
    arrival = F.unix_micros(F.col("_metadata.file_modification_time"))
    return Identity(arrival, F.xxhash64(F.col("_metadata.file_path")), place)


def _rows(lines: DataFrame, form: LineFormat, header: str | None) -> DataFrame:
    """The lines that are rows: no blanks, no comments, no headers. A header unlike the first file's is malformed."""
    lines = lines.where(F.trim("value") != "")
    if comment := form.option("comment"):
        lines = lines.where(~F.startswith("value", F.lit(comment)))
    if not _has_header(form):
        return lines
    first = F.col("_offset") == 0
    if header is None:
        return lines.where(~first)
    lines = lines.where(~(first & (F.col("value") == header)))
    return lines.withColumn("_bad", F.when(first, F.lit(OTHER_HEADER)))


def _has_header(form: LineFormat) -> bool:
    return form.format == "csv" and (form.option("header") or "false").lower() == "true"


def _header(reading: Reading, form: LineFormat, path: str) -> str | None:
    """The first line of a file that is there already."""
    if not _has_header(form):
        return None
    with explained(reading.what, reading.options):
        batch = reading.spark.read.format("text").options(**_selecting(reading)).load(path)
        first = batch.where(F.col("_metadata.file_block_start") == 0).select("value").head(1)
    return str(first[0]["value"]) if first else None


def _order(reading: Reading, form: LineFormat, header: str) -> tuple[str, ...]:
    """The columns of a line as the header names them; the case of letters does not matter."""
    separator = form.option("sep") or form.option("delimiter") or ","
    quote = form.option("quote") or '"'
    labels = next(csv.reader([header], delimiter=separator[0], quotechar=quote[0]), [])
    declared = {n.lower(): n for n in reading.schema.names}
    names = [declared.get(label.strip().lower(), f"_undeclared_{i}") for i, label in enumerate(labels)]
    for missing in (n for n in reading.schema.names if names.count(n) != 1):
        how = "no" if missing not in names else "more than one"
        known = ", ".join(label.strip() for label in labels)
        help = suggestion(missing, labels) or "name the columns as the header does, or say header = false"
        message = f"{reading.what}: the header of the files has {how} column '{missing}'"
        raise PenstockError(Diagnostic(message, notes=(f"header: {known}",), help=help))
    return tuple(names)


def _schema_of_files(reading: Reading, path: str) -> dict[str, str] | None:
    """Names and Spark types of the columns in the files that are there; None where there are none yet."""
    from pyspark.errors import AnalysisException

    with explained(reading.what, reading.options):
        try:
            found = reading.spark.read.format(reading.format).options(**_selecting(reading)).load(path).schema
        except AnalysisException as error:
            if error.getCondition() in ("UNABLE_TO_INFER_SCHEMA", "_LEGACY_ERROR_TEMP_1167"):
                return None
            raise
    return {f.name: f.dataType.simpleString() for f in found}


def _selecting(reading: Reading) -> dict[str, str]:
    """The options that choose files, without those that only a stream knows."""
    kept = ("pathglobfilter", "recursivefilelookup", "modifiedafter", "modifiedbefore", "linesep", "mergeschema")
    return {k: v for k, v in reading.options.items() if k.lower() in kept}
