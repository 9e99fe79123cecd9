"""How many rows wait in a batch, before any of them is read.

Spark knows a batch by its offsets: files with their sizes, ranges of a log. What that is in rows at the gate is learned
from batch to batch; footers of Parquet files say it outright. Where nothing can be learned from (a first batch, a
source without offsets that are numbers), the gate's rows are counted, natively: a pass of its own over the source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

from py4j.protocol import Py4JError
from pyarrow import ArrowException, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.spark.one_plan import leaves
from penstock.spark.stages import Staged

FOOTERS: Final = 256
"""Parquet files of a batch whose footers are read; of more files, the bytes are taken."""
MEMORY: Final = 0.8
"""How much of what was learned of rows a unit the next batch leaves."""


@dataclass(slots=True)
class Sizes:
    """Of the batches of the streaming query called `query` over `staged`, whose sources are read in the order of
    `streams`."""

    spark: SparkSession
    staged: Staged
    query: str
    streams: Sequence[str]
    _rows_a_unit: dict[str, float] = field(default_factory=dict)
    _units: Mapping[str, float] | None = None

    def of(self, rows: DataFrame) -> dict[str, int]:
        """Rows by stream in the batch that Spark has just begun."""
        self._units = self._measured()
        if self._units is not None and all(name in self._rows_a_unit for name, n in self._units.items() if n):
            return {name: round(n * self._rows_a_unit.get(name, 0.0)) for name, n in self._units.items()}
        return self.counted(rows)

    def learn(self, rows: Mapping[str, int]) -> None:
        """How many rows by stream the batch turned out to have."""
        for name, units in (self._units or {}).items():
            if units:
                found = rows.get(name, 0) / units
                before = self._rows_a_unit.get(name, found)
                self._rows_a_unit[name] = MEMORY * before + (1 - MEMORY) * found

    def counted(self, rows: DataFrame, since_us: int | None = None) -> dict[str, int]:
        """Rows by stream, counted; only those that arrived at `since_us` or later."""
        entries = self.staged.entries_of(0)
        young = F.lit(True) if since_us is None else F.col("_arrival") >= since_us
        found = rows.agg(*(F.count_if((F.col("_entry") == e.number) & young) for e in entries)).head()
        counts: dict[str, int] = {}
        for entry, count in zip(entries, found or (), strict=False):
            counts[entry.leaf.name] = max(counts.get(entry.leaf.name, 0), int(count))
        return counts

    def _measured(self) -> dict[str, float] | None:
        """The batch by stream, in whatever units its source has; None where that cannot be told."""
        try:
            batch = list(leaves(self._execution()))
            units = [_units(leaf) for leaf in batch]
        except (Py4JError, LookupError, AttributeError, ValueError, OSError, ArrowException):
            return None
        known = [u for u in units if u is not None]
        return dict(zip(self.streams, known, strict=True)) if len(known) == len(batch) == len(self.streams) else None

    def _execution(self) -> Any:
        running = next(q for q in self.spark.streams.active if q.name == self.query)
        stream = running._jsq.streamingQuery() if hasattr(running._jsq, "streamingQuery") else running._jsq
        return stream.lastExecution().logical()


def _units(leaf: Any) -> float | None:
    kind = leaf.getClass().getSimpleName()
    if kind == "LocalRelation":
        return 0.0
    if kind == "LogicalRelation":
        return _of_files(leaf.relation())
    return _of_range(leaf.startOffset(), leaf.endOffset())


def _of_files(relation: Any) -> float:
    """Rows where the files' footers say them, else bytes."""
    files = relation.location().inputFiles()
    if len(files) <= FOOTERS and "Parquet" in relation.fileFormat().getClass().getSimpleName():
        paths = [urlparse(name) for name in files]
        if all(p.scheme in ("", "file") for p in paths):
            return float(sum(parquet.read_metadata(Path(unquote(p.path))).num_rows for p in paths))
    return float(relation.sizeInBytes())


def _of_range(start: Any, end: Any) -> float | None:
    """How far the numbers in two offsets are apart, together."""
    if end.isEmpty():
        return None
    first = _numbers(json.loads(start.get().json())) if start.isDefined() else {}
    last = _numbers(json.loads(end.get().json()))
    return float(sum(n - first.get(path, 0.0) for path, n in last.items())) if last else None


def _numbers(offset: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], float]:
    """All numbers in an offset, by where they stand.

    >>> _numbers({"topic": {"0": 5, "1": 7}})
    {('topic', '0'): 5.0, ('topic', '1'): 7.0}
    """
    if isinstance(offset, dict):
        return {p: n for key, value in offset.items() for p, n in _numbers(value, (*path, key)).items()}
    return {path: float(offset)} if isinstance(offset, int | float) and not isinstance(offset, bool) else {}
