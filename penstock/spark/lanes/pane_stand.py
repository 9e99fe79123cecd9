"""Where panes wait on a lane until their first row's instant has passed, and how they reach their aggregates."""

from __future__ import annotations

from itertools import accumulate

from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.spark.lanes.waiting import Waiting
from penstock.spark.panes import HEADS, Panes


class PaneStand:
    """The panes of one entry's rows; `late` counts the late rows among them; `first` says that the entry's rows are
    counted by these panes, if others stand for them too.

    A pane is given on once progress has passed its stamp. Its rows may lie further on: no window that holds them can
    have ended before, since no bound of a window cuts a pane.
    """

    def __init__(self, panes: Panes, late: str) -> None:
        self.panes = panes
        self.drops = late == "drop"
        self.first = False
        self.late = 0
        self.waiting = Waiting(panes.entry.leaf.schema, late)

    def _head(self, train: Train, name: str) -> Array:
        return train.column(train.width - len(HEADS) + HEADS.index(name)).values

    def rows(self, train: Train) -> int:
        """How many rows these panes stand for."""
        return int(self._head(train, "rows").sum())

    def add(self, train: Train) -> tuple[Array, Array]:
        """Takes panes in; the stamps of their last rows, in order, with the arrivals of the first."""
        self.late += int(self._head(train, "late").sum())
        last, arrival = self._head(train, "last"), train.arrival
        order = last.argsort(kind="stable")
        self.waiting.add(train.where(self._head(train, "void") == 0).dense(), 0, judged=False)
        return last[order], arrival[order]

    def pour(self, lane: Lane, progress: int) -> None:
        """Gives on what has passed, to each aggregate its own columns."""
        train = self.waiting.release(progress)
        if not len(train):
            return
        keys = len(self.panes.keys)
        first = list(accumulate((len(p.types) for p in self.panes.parts), initial=keys))
        rows = self.rows(train)
        for taker in self.panes.aggregates:
            places = [first[p] + j for p in taker.parts for j in range(len(self.panes.parts[p].types))]
            chosen = [train.column(i) for i in (*taker.keys, *places)]
            lane.pour(taker.node, Train(chosen, train.ts, arrival=train.arrival), rows)
