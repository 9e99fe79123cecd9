"""How a batch's rows get from the gate to the lanes, and what lanes hand on from one to the other.

**Shuffle**: Spark's own exchange; couriers are tasks in its Python workers, on whatever machine they run. **Hand**:
where the lanes are on the driver's machine the driver takes the gate's rows as Arrow and hands them to the lanes'
servers itself, by threads. It is the same courier and the same servers, without a shuffle, a second stage of tasks and
the way through Python workers. `docs/decisions/exchange-by-hand.md` has the measurements.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, cast
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.spark.lanes.courier import SCHEMA, Errand, first_stage, later_stage
from penstock.spark.session import is_local
from penstock.spark.state.records import Attempt

Carrier = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What Spark runs over the rows of a task."""


@dataclass(slots=True)
class Taken:
    """A batch between gate and lanes: its `rows` where the driver has them (None: Spark has), and the frame whose plan
    Spark runs for it."""

    rows: Sequence[pa.RecordBatch] | None = None
    work: DataFrame | None = None


class Exchange(Protocol):
    """Takes rows to lanes."""

    def take(self, given: DataFrame | None) -> Taken:
        """The rows that the gate gives, as far on their way as they come without lanes; None: there are none."""

    def run(self, taken: Taken, errands: Sequence[Errand]) -> list[Attempt]:
        """Runs all stages of a batch, one errand a stage: the lanes' attempts."""


@dataclass(slots=True)
class Shuffle:
    """By Spark, for lanes on any machine."""

    spark: SparkSession
    lanes: int

    def take(self, given: DataFrame | None) -> Taken:
        """See `Exchange`."""
        if given is None:
            return Taken(
                None, self.spark.range(0).select(F.col("id").cast("int").alias("_lane"), F.col("id").alias("_row"))
            )
        return Taken(None, given)

    def run(self, taken: Taken, errands: Sequence[Errand]) -> list[Attempt]:
        """See `Exchange`."""
        given = taken.work
        assert given is not None
        spread = given.toDF(*map(spelled, given.columns)).repartitionById(self.lanes, F.col("_lane"))
        work = spread.mapInArrow(_unspelling(first_stage(errands[0])), SCHEMA)
        for errand in errands[1:]:
            handed = work.repartitionById(self.lanes, F.col("lane").cast("int"))
            work = handed.mapInArrow(later_stage(errand), SCHEMA)
        taken.work = work
        return [a for row in work.collect() for a in _attempts(bytes(row["body"]))]


@dataclass(slots=True)
class Hand:
    """By the driver, for lanes on its own machine."""

    lanes: int
    threads: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self.threads = ThreadPoolExecutor(self.lanes, "penstock-courier")

    def take(self, given: DataFrame | None) -> Taken:
        """See `Exchange`."""
        return Taken([] if given is None else cast(Any, given)._collect_as_arrow(), given)

    def run(self, taken: Taken, errands: Sequence[Errand]) -> list[Attempt]:
        """See `Exchange`."""
        parts = split(taken.rows or (), self.lanes)
        answers = self._stage(lambda lane: first_stage(errands[0], lane)(parts[lane]))
        for errand in errands[1:]:
            answers = self._later(errand, answers)
        bodies = pa.concat_tables(pa.Table.from_batches(listed) for listed in answers).column("body")
        return [a for body in bodies.to_pylist() for a in _attempts(body)]

    def _later(self, errand: Errand, answers: Sequence[list[pa.RecordBatch]]) -> list[list[pa.RecordBatch]]:
        parts = split([b for listed in answers for b in listed], self.lanes, "lane")
        return self._stage(lambda lane: later_stage(errand, lane)(parts[lane]))

    def _stage(self, courier: Courier) -> list[list[pa.RecordBatch]]:
        return list(self.threads.map(lambda lane: list(courier(lane)), range(self.lanes)))


def spelled(name: str) -> str:
    """A column's name without what Spark takes for syntax when it looks columns up by their names.

    >>> spelled("s:a.b"), unquote(spelled("s:100% `a.b`"))
    ('s:a%2Eb', 's:100% `a.b`')
    """
    return name.replace("%", "%25").replace(".", "%2E").replace("`", "%60")


def _unspelling(courier: Carrier) -> Carrier:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return courier(b.rename_columns([unquote(n) for n in b.schema.names]) for b in batches)

    return run


class Courier(Protocol):
    """One lane's courier, with its rows."""

    def __call__(self, lane: int) -> Iterator[pa.RecordBatch]:
        """What it brings back."""


def split(batches: Sequence[pa.RecordBatch], lanes: int, column: str = "_lane") -> list[list[pa.RecordBatch]]:
    """The rows of each lane, in their order.

    >>> [part[0].num_rows if part else 0 for part in split([pa.record_batch({"_lane": [1, 1, 0]})], 3)]
    [1, 2, 0]
    """
    if not batches or lanes == 1:
        return [list(batches), *([] for _ in range(lanes - 1))]
    whole = pa.Table.from_batches(batches).combine_chunks()
    lane = whole.column(column).to_numpy()
    order = np.argsort(lane.astype(np.int16), kind="stable")
    ends = np.cumsum(np.bincount(lane, minlength=lanes))
    rows = whole.take(pa.array(order))
    return [
        rows.slice(end - n, n).to_batches() if n else [] for end, n in zip(ends, np.diff(ends, prepend=0), strict=True)
    ]


def _attempts(body: bytes) -> list[Attempt]:
    return [Attempt(**a) for a in json.loads(body)]


def exchange(spark: SparkSession, lanes: int) -> Exchange:
    """The one that suits where Spark runs: all in the driver's own process (`local[...]`), or elsewhere."""
    return Hand(lanes) if is_local(spark) else Shuffle(spark, lanes)
