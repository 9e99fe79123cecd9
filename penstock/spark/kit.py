"""The testing kit's third engine: the same batches through the real gate, exchange, lane servers and commit records."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.control.loop import Loop
from penstock.lane.arrow import arrow_type, vector_of
from penstock.lane.events import Arrival
from penstock.lane.reference import Element
from penstock.lane.rows import rows_of
from penstock.lane.session import Job, Outcome, cuts
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.plan.network import Query
from penstock.plan.nodes import Source, Table
from penstock.plan.types import Type
from penstock.settings import Settings
from penstock.spark.gate import gate
from penstock.spark.lanes.protocol import socket_path
from penstock.spark.pipeline import Pipeline
from penstock.spark.session import open_session
from penstock.spark.stages import Staged, staged
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.steering import Steering
from penstock.stats.snapshot import Snapshot


@dataclass(slots=True)
class _Collected:
    """A sink that keeps what it is given, as elements."""

    elements: list[Element] = field(default_factory=list)

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Keeps the rows."""
        dictionaries, schema = Dictionaries(), query.root.schema
        columns = [vector_of(rows.column(f.name), f.type, dictionaries) for f in schema]
        ts = rows.column("_timestamp").to_numpy()
        sign = rows.column("_sign").to_pylist() if "_sign" in rows.column_names else [1] * len(ts)
        values = rows_of(Train(columns, ts), schema, dictionaries)
        self.elements.extend(map(Element, ts.tolist(), sign, values))


def run(
    job: Job,
    lanes: int,
    loop: Loop | None = None,
    spark: SparkSession | None = None,
    settings: Settings | None = None,
) -> Outcome:
    """Each query's elements under the plans that `loop` chooses, and every snapshot. The session is
    `spark`, or the process's own on two local cores."""
    session = spark or _session()
    folder = tempfile.mkdtemp(prefix="penstock-kit-")
    network = replace(job.network, streams=tuple(job.streams), relations=tuple(job.relations))
    cut, settings = staged(network, lanes), settings or Settings()
    checkpoint = Checkpoint(folder, network, lanes, _servers())
    sinks = {q.name: _Collected() for q in network.queries}
    try:
        steering = Steering(cut, loop, checkpoint.folder, settings, kept=None)
        pipeline = Pipeline(session, cut, checkpoint, sinks, settings=settings, steering=steering, timed=False)
        relations = {r.name for r in job.relations}
        loaded = [a for a in job.given if a.name in relations]
        for number, batch in enumerate(cuts([a for a in job.given if a.name not in relations], job.sizes)):
            rows = [*(loaded if number == 0 else ()), *batch]
            frame = _gated(session, cut, rows, steering.ordering.entries)
            if frame is not None:
                pipeline.on_batch(frame, number)
        for instant in job.ends():
            pipeline.advance(instant)
    finally:
        steering.close()
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(
        {name: sink.elements for name, sink in sinks.items()},
        [event for event in steering.log if isinstance(event, Snapshot)],
    )


@cache
def _servers() -> str:
    """The identity of all this process's runs: they use the same lanes' servers, which end with it."""
    run = uuid.uuid4().hex
    atexit.register(shutil.rmtree, socket_path(run, 0).parent, ignore_errors=True)
    return run


def _session() -> SparkSession:
    folder = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    return SparkSession.getActiveSession() or open_session("penstock", "local[2]", folder)


def _gated(
    spark: SparkSession, cut: Staged, rows: Sequence[Arrival], ordered: Collection[int]
) -> DataFrame | None:
    leaves = {e.leaf.name: e.leaf for e in cut.entries_of(0)}
    inputs = {n: _frame(spark, leaf, [a for a in rows if a.name == n]) for n, leaf in leaves.items()}
    filled = {n: f for n, f in inputs.items() if f is not None}
    return gate(cut, filled, ordered) if filled else None


def _frame(spark: SparkSession, leaf: Source | Table, rows: Sequence[Arrival]) -> DataFrame | None:
    """The rows as a source would give them."""
    if not rows:
        return None
    columns: dict[str, Any] = {f.name: _column([a.row[i] for a in rows], f.type) for i, f in enumerate(leaf.schema)}
    stamps = pa.array([a.ts for a in rows], pa.int64())
    table = pa.table(
        {**columns, "_ts": stamps, "_arrival": stamps, "_seq": pa.array([a.seq for a in rows], pa.int64())}
    )
    return spark.createDataFrame(table)


def _column(values: list[Any], t: Type) -> pa.Array:
    plain = [list(v) if isinstance(v, tuple) else v for v in values]
    if t.name == "timestamp":
        return pa.array(plain, pa.int64()).cast(arrow_type(t))
    if t.name == "date":
        return pa.array(plain, pa.int32()).cast(arrow_type(t))
    return pa.array(plain, arrow_type(t))
