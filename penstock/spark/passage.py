"""A batch's way through the gate: its places, the filters in their order, drops, panes, and what that says of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.plan.network import StreamDefinition
from penstock.settings import Settings
from penstock.spark.batch import Batch, first_stage
from penstock.spark.drops import Counted, place_in
from penstock.spark.filters import of_no_entry
from penstock.spark.intake import latest
from penstock.spark.lanes.exchange import Exchange
from penstock.spark.pane_choice import PaneChoice
from penstock.spark.pane_gate import PaneGate
from penstock.spark.panes import Panes
from penstock.spark.plans import Plans
from penstock.spark.stages import Staged
from penstock.spark.steering import Divided


@dataclass(slots=True)
class Passage:
    """Of a staged network's batches to its lanes."""

    staged: Staged
    settings: Settings
    plans: Plans
    exchange: Exchange
    _panes: PaneChoice = field(init=False)
    _pane_gate: PaneGate = field(init=False)

    def __post_init__(self) -> None:
        self._panes = PaneChoice(self.staged, self.settings)
        self._pane_gate = PaneGate(self.staged)

    def take(self, batch: Batch, rows: DataFrame | None) -> None:
        """Takes the rows that stay; what the gate dropped is known where the driver has them."""
        if rows is None:
            batch.taken = self.exchange.take(None)
            return
        plan, gate = batch.plan, batch.divided.gate
        panes = self._chosen(batch.divided)
        batch.paned = bool(panes)
        filtered = batch.divided.filters(self._panes.whole(rows, panes))
        batch.arriving = _numbered(filtered, plan.batch if gate.drops or panes else None)
        batch.taken = self.exchange.take(self._paned(gate(batch.arriving, plan.progress), panes, plan.progress))
        if batch.taken.rows is not None and not panes:
            batch.dropped = dropped(batch)

    def reach(self, batch: Batch) -> int | None:
        """Takes the streams' time as far as the rows of `batch` do, where the driver has them row by row; when the
        last of them arrived."""
        rows, entries = batch.taken.rows, self.staged.entries_of(0)
        if not rows or batch.paned:
            return None
        for stream, ts in latest(rows, entries).items():
            skew = self.skew_us(self.staged.network.stream(stream))
            batch.reached[stream] = max(batch.reached[stream], ts - skew)
        batch.until = batch.reached
        return max(latest(rows, entries, "_arrival").values(), default=None)

    def skew_us(self, stream: StreamDefinition) -> int:
        """How far out of order a stream may be."""
        return self.settings.skew_us if stream.within_us is None else stream.within_us

    def learn(self, batch: Batch) -> None:
        """Hears what the lanes counted of a batch."""
        if batch.arriving is not None:
            came, crossed = first_stage(batch.attempts, "rows_in"), first_stage(batch.attempts, "crossed")
            self._panes.learn(came, crossed, batch.paned, batch.taken.work)

    def _chosen(self, divided: Divided) -> tuple[Panes, ...]:
        left = self.plans.read(divided.lanes).drops if divided.lanes else ()
        return self._panes.of([d.placed for d in divided.gate.drops], left)

    def _paned(self, rows: DataFrame, panes: tuple[Panes, ...], progress: Mapping[str, int]) -> DataFrame:
        return self._pane_gate(rows, panes, progress, self._panes.alone(panes)) if panes else rows


def _numbered(rows: DataFrame, batch: int | None) -> DataFrame:
    """`rows` with their places in the batch, where the gate has not given them one for good; as couriers would place
    them in `batch`, where drops ask for it."""
    if "_seq" in rows.columns:
        return rows
    if "_row" not in rows.columns:
        rows = rows.withColumn("_row", F.monotonically_increasing_id())
    return rows if batch is None else rows.withColumn("_seq", place_in(batch, F.col("_row"))).drop("_row")


def dropped(batch: Batch) -> Counted | None:
    """What the gate dropped of a batch; where a task ran twice, Spark's counts do not fit, and it is counted again."""
    gate, work = batch.divided.gate, batch.taken.work
    if batch.dropped is not None or not gate.drops or batch.arriving is None or work is None:
        return batch.dropped
    counted = gate.counted(work)
    if batch.taken.rows is not None and not batch.paned:
        arrived = batch.rows
    else:
        first = [a.counters for a in batch.attempts if a.lane.startswith("0.")]
        dead = sum(n for c in first for _, _, n in c["malformed"])
        arrived = first_stage(batch.attempts, "rows_in") + dead + of_no_entry(batch.attempts)
    fits = counted is not None and counted.kept == arrived
    return counted if fits else gate.recounted(batch.arriving, batch.plan.progress)
