"""What the benchmarks on Spark share: one session for both systems, generated files, runs that keep their figures.

Penstock and native Structured Streaming run in one session, with the same settings, on the same files. What both
deliver is compared. Rates leave out the batches that warm up; ratios are of runs in turns (medians), or of runs after
one of each that is not counted, since Java compiles for minutes.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.cql import compile_script
from penstock.spark.batch import BatchReport
from penstock.spark.run import Run, RunOptions
from penstock.spark.session import open_session

LIMITS: Final = (
    "two cores, files in memory, one session with the same settings for both systems",
    "rates are of the batches after the first ones: a process's start and the compilation of kernels are not in them",
    "a batch's time is Spark's: from trigger to commit, the reading of files included",
)
CORES: Final = 2
SHARED_MEMORY: Final = Path("/dev/shm")
BEGIN_US: Final = 1_000_000_000
"""Where generated streams begin: native's watermark starts at 0, and rows stamped so are late."""
Figure = dict[str, Any]


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder in memory, where the system has such."""
    base = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """Penstock's own session on two cores, with memory enough for native state."""
    extra = {"spark.driver.memory": "8g", "spark.sql.shuffle.partitions": str(CORES)}
    spark = open_session("penstock-bench", f"local[{CORES}]", folder / "java", extra)
    try:
        yield spark
    finally:
        spark.stop()


def in_session(measure: Callable[[SparkSession, Path, bool, int], Iterator[Figure]]) -> Callable[..., Iterator[Figure]]:
    """Makes of a part's measurements in a session and a folder those of a part that runs alone, too."""

    def figures(full: bool, seed: int) -> Iterator[Figure]:
        with workplace() as folder, session(folder) as spark:
            yield from measure(spark, folder, full, seed)

    figures.__doc__ = measure.__doc__
    return figures


def write_files(folder: Path, columns: dict[str, Any], rows: int, first: int = 0) -> Path:
    """`columns`, in files of `rows` rows each, which streams read in this order; `ts` is in microseconds."""
    folder.mkdir(parents=True, exist_ok=True)
    stamps = pa.array(columns["ts"]).cast(pa.timestamp("us", tz="UTC"))
    whole = pa.table({**columns, "ts": stamps})
    for number, start in enumerate(range(0, whole.num_rows, rows), first):
        path = folder / f"{number:06d}.parquet"
        pq.write_table(whole.slice(start, rows), path)
        moment = 1_700_000_000 + number
        os.utime(path, (moment, moment))
    return folder


class Measured(Run):
    """A run that keeps what Spark says of its triggers."""

    query: StreamingQuery

    def _start(self) -> StreamingQuery:
        self.query = super()._start()
        return self.query


class Ran:
    """What became of a run: its batches, Spark's triggers in milliseconds, and how long all of it took."""

    def __init__(self, script: str, checkpoint: Path, close: bool = False) -> None:
        before = time.perf_counter()
        options = RunOptions(f"local[{CORES}]", str(checkpoint), until_idle=True, close=close)
        self.first_s = 0.0
        self.reports: list[BatchReport] = []
        self.started = time.perf_counter()
        running = Measured(compile_script(script), options, self._note)
        running.go()
        self.elapsed_s = time.perf_counter() - before
        self.rows = sum(r.rows_in for r in self.reports)
        self.triggers = [float(p.batchDuration) for p in running.query.recentProgress if p.numInputRows]

    def _note(self, report: BatchReport) -> None:
        self.first_s = self.first_s or time.perf_counter() - self.started
        self.reports.append(report)

    def profile(self, skipped: int = 0) -> str:
        """The median of each part of a batch that had rows, after the first `skipped`, in milliseconds."""
        listed = [r.seconds for r in self.reports if r.rows_in][skipped:]
        return ", ".join(f"{part} {statistics.median(s[part] for s in listed) * 1e3:.0f}" for part in listed[0])


def penstock(script: str, checkpoint: Path, close: bool = False) -> Ran:
    """Runs `script` to the end of its files; `close` also closes what is open then."""
    return Ran(script, checkpoint, close)


def rate(triggers: Sequence[float], rows: int, skipped: int) -> float:
    """Rows a second of batches of `rows` rows, after the first `skipped`, while which code gets compiled."""
    measured = triggers[skipped:]
    return rows * len(measured) / sum(measured) * 1e3


def native(frame: DataFrame, sink: Path, checkpoint: Path) -> list[float]:
    """Runs a native streaming frame to the end of its files, into Parquet: each trigger's milliseconds."""
    writer = frame.writeStream.format("parquet").outputMode("append").option("path", str(sink))
    return finished(writer.option("checkpointLocation", str(checkpoint)))


def finished(writer: Any) -> list[float]:
    """Starts a stream writer and waits until its sources have nothing more: each trigger's milliseconds."""
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    if query.exception() is not None:
        raise query.exception()
    return [float(p.batchDuration) for p in query.recentProgress if p.numInputRows]


def read(folder: Path, *columns: str) -> pa.Table:
    """A sink's rows, sorted by these columns."""
    table = ds.dataset(folder, format="parquet", exclude_invalid_files=True).to_table()
    return table.select(list(columns)).sort_by([(c, "ascending") for c in columns])


def same(found: pa.Table, expected: pa.Table) -> None:
    """Asserts equality, doubles within 1e-9."""
    assert found.num_rows == expected.num_rows, f"{found.num_rows:,} rows, not {expected.num_rows:,}"
    for name in expected.column_names:
        a, b = found.column(name), expected.column(name)
        if pa.types.is_floating(b.type):
            assert np.allclose(a.to_numpy(), b.to_numpy(), rtol=1e-9), f"{name} differs"
        else:
            assert pc.all(pc.equal(a, b.cast(a.type))).as_py() in (True, None), f"{name} differs"


def figure(name: str, values: Sequence[float], unit: str, bar: float | None, checked: str,
           holds: Callable[[float, float], bool] = float.__ge__, **more: Any) -> Figure:  # fmt: skip
    """A figure of the median of `values`; `holds` compares it with its bar."""
    value = float(statistics.median(values))
    kept = bar is None or holds(value, float(bar))
    return {"name": name, "value": value, "unit": unit, "spread": max(values) - min(values), "bar": bar,
            "holds": kept, "checked_against": checked, **more}  # fmt: skip


def at_most(value: float, bar: float) -> bool:
    """The test of a bar from above."""
    return value <= bar
