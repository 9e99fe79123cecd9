"""Which panes the gate makes in a batch: those that spare rows the crossing, under the plan that is in force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame

from penstock.plan.drops import Placed, RandomDrop
from penstock.plan.node import walk
from penstock.settings import Settings
from penstock.spark.one_plan import OnePlan
from penstock.spark.panes import Panes
from penstock.spark.stages import Staged

BRANCHES: Final = 2
"""Each kind of panes, and the rows of entries without, is a pass over the batch's rows: more passes than this cost more
than the crossing."""
WORTH: Final = 0.5
"""Panes as a share of the rows that they stand for, above which they are not worth their making."""
REST: Final = 64
"""Batches after which panes that were not worth it are tried again."""


class PaneChoice:
    """Chooses batch after batch; results are the same whatever it chooses."""

    def __init__(self, staged: Staged, settings: Settings) -> None:
        self._staged = staged
        self._settings = settings
        self._rows: int | None = None
        self._resting = 0
        self._one: OnePlan | None = None

    def of(self, gate: Iterable[Placed], lanes: Iterable[Placed]) -> tuple[Panes, ...]:
        """The panes for a batch before which `gate` drops, and in which `lanes` do."""
        if self._resting or (self._rows is not None and self._rows < self._settings.pane_rows):
            return ()
        weighted = any(isinstance(drop, RandomDrop) and drop.weighted for _, drop in gate)
        listed = [] if weighted else self.free(lanes)
        return tuple(listed) if len(listed) + (not self.alone(listed)) <= BRANCHES else ()

    def free(self, lanes: Iterable[Placed]) -> list[Panes]:
        """Those whose rows no lane drops before they are aggregated. Of an entry all or none: else its rows cross."""
        inner = self._staged.inner
        dropped = {inner.get(location.node, location.node) for location, _ in lanes}
        held = {p.source.number for p in self._staged.panes for t in p.aggregates if dropped & set(walk(t.node.input))}
        return [p for p in self._staged.panes if p.source.number not in held]

    def alone(self, made: Iterable[Panes]) -> bool:
        """True where nothing but these panes goes to the lanes."""
        return {e.number for e in self._staged.entries_of(0)} == {p.source.number for p in made}

    def whole(self, rows: DataFrame, panes: Iterable[Panes]) -> DataFrame:
        """The batch's rows as these panes are best made of them."""
        self._one = OnePlan(rows) if panes else None
        return rows if self._one is None else self._one.rows

    def learn(self, rows: int, crossed: int, made: bool, work: DataFrame | None = None) -> None:
        """Hears of a batch of rows: how many came in, how many crossed, and by which frame."""
        if made and self._one is not None and work is not None:
            self._one.ran(work)
            self._one = None
        self._rows = rows
        self._resting = max(0, self._resting - 1)
        if made and crossed > WORTH * rows and self._settings.pane_rows:
            self._resting = REST
