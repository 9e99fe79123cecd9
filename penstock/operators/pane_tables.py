"""The tables of `penstock.operators.kernels.panes`, grown as rows need them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.operators.aggregates.base import Steps
from penstock.operators.columns.vector import Array
from penstock.operators.kernels import pane_log, panes
from penstock.operators.kernels.index import grown

SMALLEST = 64


class Log(NamedTuple):
    """What happened while windows closed: the steps in order, and a row for each window that was read."""

    steps: Steps
    windows: Array


class PaneTables:
    """Partitions, panes, cells and groups."""

    __slots__ = ("counters", "log", "tables")

    def __init__(self) -> None:
        empty = [
            np.zeros((0, width), np.int64)
            for width in (len(panes.PART), panes.PANE, panes.CELL, len(panes.FRESH_GROUP))
        ]
        self.tables: tuple[Array, ...] = tuple(empty)
        self.counters: Array = np.array(panes.COUNTERS, np.int64)
        self.log = pane_log.log_of(SMALLEST, SMALLEST)

    @property
    def cells(self) -> int:
        """Every cell is below it."""
        return len(self.tables[2])

    @property
    def late(self) -> int:
        """How many rows came after all their windows had closed."""
        return int(self.counters[panes.LATE])

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(t.nbytes for t in (*self.tables, *self.log))

    def resize(self, partitions: int, groups: int) -> None:
        """Makes room for partitions and groups below these numbers."""
        parts, *middle, members = self.tables
        self.tables = (_longer(parts, partitions, panes.PART), *middle, _longer(members, groups, panes.FRESH_GROUP))

    def run(self, rows: Any, clock: int, overlap: bool) -> tuple[Array, Log]:
        """Gives each row its cell, and closes windows: see `panes.run`."""
        cells = np.empty(len(rows[1]), np.int64)
        self.log[-1][:] = 0
        done, state = 0, panes.FULL_TABLES
        while state != panes.DONE:
            done, state = panes.run(self.tables, self.counters, self.log, rows, done, clock, overlap, cells)
            if state == panes.FULL_TABLES:
                self._grow()
            elif state == panes.FULL_LOG:
                self.log = pane_log.widened(self.log)
        slots, sources, signs, windows, (steps, count) = self.log
        return cells, Log(Steps(slots[:steps], sources[:steps], signs[:steps]), windows[:count])

    def settle(self, steps: Steps) -> Array:
        """Frees the cells that have left; the groups that have none any more."""
        gone: Array = panes.settle(self.tables, self.counters, steps.slots)
        return gone

    def next_window(self) -> int | None:
        """The window of partition 0 that closes next and holds something; None: none does yet."""
        part, table = self.tables[0][0] if len(self.tables[0]) else None, self.tables[1]
        if part is None:
            return None
        closed, entered, waiting = (int(part[c]) for c in (panes.CLOSED, panes.ENTERED_END, panes.WAITING))
        if entered >= 0 and table[entered, panes.LAST] >= closed:
            return closed
        return None if waiting < 0 else max(closed, int(table[waiting, panes.FIRST]))

    def _grow(self) -> None:
        """Doubles what is full."""
        parts, table, cells, groups = self.tables
        if self.counters[panes.FREE_PANE] < 0 and self.counters[panes.TOP_PANE] == len(table):
            table = grown(table, max(SMALLEST, 2 * len(table)))
        if self.counters[panes.FREE_CELL] < 0 and self.counters[panes.TOP_CELL] == len(cells):
            cells = grown(cells, max(SMALLEST, 2 * len(cells)))
        self.tables = (parts, table, cells, groups)


def _longer(table: Array, length: int, fresh: tuple[int, ...]) -> Array:
    if length <= len(table):
        return table
    longer = grown(table, length)
    longer[len(table) :] = fresh
    return longer
