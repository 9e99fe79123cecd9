"""A trace, parsed and cut into slices in the order of their arrival."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset, parquet
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import Diagnostic, PenstockError
from penstock.spark.sources.columns import IDENTITY, VERDICT, name, quoted, spark_type
from penstock.spark.sources.files import COLUMNAR, open_columns, open_lines
from penstock.spark.sources.read import Reading
from penstock.spark.sources.stamps import micros_of, without_good_text

Times = npt.NDArray[np.int64]
SLICE_COLUMN: Final = "_before"
"""How long before its slice's end a row arrives, in microseconds."""
SLICE_US: Final = 100_000
MOST_SLICES: Final = 20_000
"""A longer replay gets longer slices: a folder is listed once a batch."""


@dataclass(frozen=True, slots=True)
class Pace:
    """When rows arrive: at the instants of `column`, or at those in the file `arrivals`, `speed` times as fast."""

    speed: float
    arrivals: str | None
    column: str | None


@dataclass(frozen=True, slots=True)
class Spool:
    """A folder with the slices to come, `pending`, and the ones that have, `arrived`. A slice is named by the instant
    of its end, in microseconds since the replay's start."""

    folder: Path
    schema: str

    @property
    def pending(self) -> Path:
        """Slices to come."""
        return self.folder / "pending"

    @property
    def arrived(self) -> Path:
        """Slices that the stream may read."""
        return self.folder / "arrived"


def prepared(reading: Reading, inner: str, options: Mapping[str, str], pace: Pace, folder: Path) -> Spool:
    """The spool in `folder`: made now, or the one that an earlier run of the same checkpoint has left."""
    columns = [f"{quoted(f.name)} {spark_type(f.type).simpleString()}" for f in reading.schema]
    extra = [f"{c} bigint" for c in IDENTITY] + [f"{c} string" for c in VERDICT] + [f"{SLICE_COLUMN} bigint"]
    spool = Spool(folder, ", ".join(columns + extra))
    if not (folder / "whole").exists():
        shutil.rmtree(folder, ignore_errors=True)
        spool.pending.mkdir(parents=True)
        spool.arrived.mkdir()
        parsed = folder / "parsed"
        _parse(replace(reading, format=inner, options=options, streaming=False), pace, parsed)
        _cut(reading, pace, parsed, spool)
        shutil.rmtree(parsed)
        (folder / "whole").touch()
    return spool


def _parse(reading: Reading, pace: Pace, folder: Path) -> None:
    """Writes the trace's rows in the order of its lines, one Spark job for each of its files."""
    opened = (open_columns if reading.format in COLUMNAR else open_lines)(reading)
    for number, file in enumerate(sorted(opened.inputFiles())):
        one = replace(reading, options={**reading.without("path"), "path": file})
        rows = _paced((open_columns if reading.format in COLUMNAR else open_lines)(one), reading, pace)
        rows.orderBy("_offset").write.parquet(str(folder / f"{number:06d}"))


def _paced(rows: DataFrame, reading: Reading, pace: Pace) -> DataFrame:
    columns = [name(n) for n in reading.schema.names]
    at = F.lit(None).cast("bigint") if pace.column is None else micros_of(name(pace.column), "timestamp")
    return without_good_text(rows.select(*columns, *IDENTITY, *VERDICT, at.alias("_at")))


def _cut(reading: Reading, pace: Pace, parsed: Path, spool: Spool) -> None:
    files = [str(f) for f in sorted(parsed.glob("*/*.parquet"))]
    if not files:
        raise PenstockError(f"{reading.what}: the trace is empty")
    stored = dataset.ParquetReadOptions(coerce_int96_timestamp_unit="us")
    rows = dataset.dataset(files, format=dataset.ParquetFileFormat(read_options=stored))
    due = schedule(rows.to_table(["_at"]).column("_at"), reading.what, pace)
    ends = slice_ends(due)
    first = 0
    for table in _slices(rows, ends):
        own = due[first : first + table.num_rows]
        end = int(ends[first])
        before = pa.array(end - own, pa.int64())
        parquet.write_table(table.append_column(SLICE_COLUMN, before), spool.pending / f"{end:018d}.parquet")
        first += table.num_rows


def schedule(at: pa.ChunkedArray, what: str, pace: Pace) -> Times:
    """When each row arrives, in microseconds since the start: never before the row above it in the trace.

    >>> schedule(pa.chunked_array([[5, 25, None, 15, 105]]), "s", Pace(10.0, None, "ts"))
    array([ 0,  2,  2,  2, 10])
    """
    if pace.arrivals is not None:
        return (_arrivals(pace.arrivals, what, len(at)) * 1000 / pace.speed).astype(np.int64)
    if at.null_count == len(at):
        raise PenstockError(f"{what}: the trace has no row with a timestamp in '{pace.column}'")
    known = at.combine_chunks().fill_null(pc.min(at)).to_numpy()
    reached = np.maximum.accumulate(known)
    due: Times = ((reached - reached[0]) / pace.speed).astype(np.int64)
    return due


def _arrivals(file: str, what: str, rows: int) -> npt.NDArray[np.float64]:
    try:
        instants = np.loadtxt(file, dtype=np.float64, ndmin=1)
    except OSError as error:
        raise PenstockError(f"{what}: cannot read the arrivals '{file}': {error.strerror or error}") from None
    except ValueError as error:
        raise PenstockError(
            Diagnostic(f"{what}: the arrivals '{file}' are not numbers: {error}", help="one number of ms a line")
        ) from None
    if len(instants) < rows or np.isnan(instants).any() or (np.diff(instants) < 0).any():
        help = "give each row of the trace its instant, in milliseconds since the start, none before the one above it"
        found = f"{len(instants)} arrivals for {rows} rows" if len(instants) < rows else "arrivals out of order"
        raise PenstockError(Diagnostic(f"{what}: {found} in '{file}'", help=help))
    return instants[:rows]


def slice_ends(due: Times) -> Times:
    """For each row, the end of its slice.

    >>> slice_ends(np.array([0, 99_999, 100_000, 250_000]))
    array([100000, 100000, 200000, 300000])
    """
    width = max(SLICE_US, -(-int(due[-1] + 1) // MOST_SLICES))
    return (due // width + 1) * width


def _slices(rows: dataset.Dataset, ends: Times) -> Iterator[pa.Table]:
    """The rows between two changes of `ends`, in order, without the column that set the pace."""
    borders = [*np.flatnonzero(np.diff(ends)) + 1, len(ends)]
    kept: list[pa.RecordBatch] = []
    have, first = 0, 0
    schema = pa.schema([f for f in rows.schema if f.name != "_at"])
    batches = iter(rows.to_batches(columns=schema.names, use_threads=False))
    for border in borders:
        while have < border - first:
            kept.append(next(batches))
            have += kept[-1].num_rows
        table = pa.Table.from_batches(kept, schema)
        yield _in_utc(table.slice(0, border - first))
        rest = table.slice(border - first)
        kept, have, first = rest.to_batches(), rest.num_rows, int(border)


def _in_utc(rows: pa.Table) -> pa.Table:
    """The rows with timestamps that say that they are instants."""
    kinds = [pa.timestamp("us", tz="UTC") if pa.types.is_timestamp(f.type) else f.type for f in rows.schema]
    return rows.cast(pa.schema([pa.field(f.name, k) for f, k in zip(rows.schema, kinds, strict=True)]))
