"""A trace file replayed at its own timestamps, faster or slower, or at given instants.

The trace is read once, like any file, and cut into slices of a tenth of a second as Parquet files. A thread of the
driver moves each slice into the folder that the stream reads when its time has come. So every batch is read natively: a
streaming source in Python costs 70 ms a batch more.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.spark.sources.columns import IDENTITY, VERDICT, name
from penstock.spark.sources.read import Reading
from penstock.spark.sources.replay.feeder import Feeder, feeding, halt
from penstock.spark.sources.replay.spool import SLICE_COLUMN, Pace, prepared

__all__ = ["OURS", "feeding", "halt", "open_replay"]

OURS = ("format", "speed", "arrivals", "pace_by", "maxFilesPerTrigger")
READABLE = ("csv", "json", "parquet", "orc")


def open_replay(reading: Reading) -> DataFrame:
    """The trace as a stream. A row arrives at its scheduled instant, whenever its batch is."""
    if not reading.streaming:
        raise PenstockError(Diagnostic(f"{reading.what}: a relation is not replayed", help="read the file itself"))
    inner = (reading.option("format") or _suffix(reading)).lower()
    if inner not in READABLE:
        raise PenstockError(unknown(f"format of {reading.what}", inner, READABLE))
    work = Path(reading.work or tempfile.mkdtemp(prefix="penstock-replay-"))
    spool = prepared(reading, inner, reading.without(*OURS), _pace(reading), work)
    Feeder(spool, reading.spark).start()
    limit = {k: v for k, v in reading.options.items() if k.lower() == "maxfilespertrigger"}
    slices = reading.spark.readStream.schema(spool.schema).options(**limit).parquet(str(spool.arrived))
    late = F.unix_micros(F.col("_metadata.file_modification_time"))
    columns = [name(n) for n in reading.schema.names]
    return slices.select(*columns, (late - F.col(SLICE_COLUMN)).alias("_arrival"), *IDENTITY, *VERDICT)


def _suffix(reading: Reading) -> str:
    path = reading.option("path")
    if not path:
        help = "write FROM replay OPTIONS (path = 'trace.csv', speed = 10)"
        raise PenstockError(Diagnostic(f"{reading.what}: replay needs the option 'path'", help=help))
    return Path(path.removesuffix(".gz")).suffix.lstrip(".") or "csv"


def _pace(reading: Reading) -> Pace:
    try:
        speed = float(reading.option("speed") or 1)
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        text = reading.option("speed")
        raise PenstockError(
            Diagnostic(f"{reading.what}: speed = '{text}' is not a number above 0", help="10 replays ten times faster")
        )
    arrivals = reading.option("arrivals")
    column = None if arrivals else _paced_by(reading)
    return Pace(speed, arrivals, column)


def _paced_by(reading: Reading) -> str:
    """The column whose instants are followed: `pace_by`, else the one that stamps, else the first timestamp."""
    stamps = [f.name for f in reading.schema if f.type.name == "timestamp"]
    column = reading.option("pace_by") or reading.timestamp or (stamps[0] if stamps else None)
    if column is None:
        help = "declare a TIMESTAMP column, or give the instants: arrivals = 'file'"
        raise PenstockError(Diagnostic(f"{reading.what}: nothing says when a row arrives", help=help))
    reading.schema.index(column)
    return column
