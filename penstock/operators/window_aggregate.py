"""Aggregate over sliding windows of a stream: one element for each non-empty window and group (Aurora's Aggregate).

Rows go into partial results by pane and group; a window's value is the partial results of its panes put together.
While windows follow one another each partial result is added once and subtracted once, so a window costs what its
groups cost, not what its size costs (`penstock.operators.kernels.panes` says which and when). Where windows do not
overlap partial results are read as they are.

Windows are those of `penstock.plan.windows`. A window over time ends with it, one over an attribute or over rows with
a tuple. The arrival of an element is the oldest one in the window's oldest pane.

Reference: Tatbul 4.2; Li, Maier, Tufte, Papadimos, Tucker, "No pane, no gain", SIGMOD Record 2005.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.operators.aggregates.arguments import Argument, type_of
from penstock.operators.aggregates.base import NO_PLACES, Partial, Rows, Whole
from penstock.operators.aggregates.make import Recipe, partial_types, recipe
from penstock.operators.base import Context
from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.columns.vector import Array, Vector, concat
from penstock.operators.kernels import pane_log
from penstock.operators.kernels.index import KeyIndex, stacked
from penstock.operators.pane_tables import Log, PaneTables
from penstock.operators.total_order import in_total_order
from penstock.operators.window_clock import Clock, clock_of
from penstock.operators.window_histories import reference
from penstock.plan.aggregates import properties
from penstock.plan.nodes import WindowAggregate
from penstock.plan.types import Type
from penstock.plan.windows import END, SlideRows

__all__ = ["build", "reference"]


class WindowAggregateOperator:
    """The state: groups by key, the tables of panes, and per aggregate the cells' partials and the groups' wholes."""

    def __init__(self, node: WindowAggregate, context: Context) -> None:
        source = node.input.schema
        recipes = [recipe(c, type_of(c, source), context) for c in node.aggregates]
        self.node = node
        self.context = context
        self.clock: Clock = clock_of(node)
        self.by = [source.index(b) for b in node.window.by] if isinstance(node.window, SlideRows) else []
        keys = [source.index(k) for k in node.keys]
        self.grouping = [*keys, *(b for b in self.by if b not in keys)]
        self.ordered = self.clock.by_tuples or any(properties(c.function).order_sensitive for c in node.aggregates)
        self.arguments = [
            Argument(c, source, r.doubles, context) for c, r in zip(node.aggregates, recipes, strict=True)
        ]
        self.partials: list[Partial] = [r.partial() for r in recipes]
        self.wholes: list[Whole] = [self._whole(r) for r in recipes] if self.clock.overlap else []
        self.index, self.partitions = KeyIndex(len(self.grouping)), KeyIndex(len(self.by))
        self.panes = PaneTables()
        self.place = 0
        self.numbers_windows = False
        self._poured: list[Train] = []

    def _whole(self, chosen: Recipe) -> Whole:
        return chosen.sliding() if self.clock.in_order and chosen.sliding else chosen.whole()

    @property
    def late(self) -> int:
        """How many tuples came after all their windows had ended (over an attribute)."""
        return self.panes.late

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """See `Operator`."""
        train = inputs[0]
        if self._poured:
            poured, self._poured = concat_trains(self._poured), []
            return self._both(train, poured, until) if len(train) else self.process_panes(poured, until)
        if self.ordered:
            train = in_total_order(train, self.node.input.schema, self.context.dictionaries)
        train = self.clock.present(train, self.context)
        groups = self._groups([train.column(g) for g in self.grouping], len(train))
        cells, log = self._cells(train, groups, until)
        covered = cells >= 0
        if covered.all():
            self._add(train, cells, covered)
        else:
            self._add(train.where(covered), cells[covered], covered)
        return self._emitted(log)

    def pour(self, train: Train) -> None:
        """Takes partial results (see `process_panes`) that go in with the rows of the next call of `process`."""
        self._poured.append(train)

    def process_panes(self, train: Train, until: int) -> Train:
        """As `process`, for rows that a source has aggregated: the keys, then the partial results of each aggregate as
        `aggregates.make.partial_types` lists them, stamped anywhere in their pane.
        """
        keys = len(self.grouping)
        groups = self._groups([train.column(i) for i in range(keys)], len(train))
        cells, log = self._cells(train, groups, until)
        self._absorb(train, cells)
        return self._emitted(log)

    def _absorb(self, train: Train, cells: Array) -> None:
        covered = cells >= 0
        at = len(self.grouping)
        for partial, types in zip(self.partials, self.partial_types, strict=True):
            partial.absorb(cells[covered], [train.column(i).take(covered) for i in range(at, at + len(types))])
            at += len(types)

    def _both(self, rows: Train, panes: Train, until: int) -> Train:
        """Rows and partial results of the same instants: they find their cells together, in the order of time."""
        keys = [concat([rows.column(g), panes.column(i)]) for i, g in enumerate(self.grouping)]
        ts, arrival = np.concatenate([rows.ts, panes.ts]), np.concatenate([rows.arrival, panes.arrival])
        order = np.argsort(ts, kind="stable")
        whole = Train([k.take(order) for k in keys], ts[order], arrival=arrival[order])
        placed, log = self._cells(whole, self._groups(list(whole.columns), len(whole)), until)
        cells = np.empty(len(placed), np.int64)
        cells[order] = placed
        own, given = cells[: len(rows)], cells[len(rows) :]
        self._add(rows.where(own >= 0), own[own >= 0], own >= 0)
        self._absorb(panes, given)
        return self._emitted(log)

    @property
    def partial_types(self) -> list[tuple[Type, ...]]:
        """The columns of each aggregate's partial results."""
        return [partial_types(c, type_of(c, self.node.input.schema)) for c in self.node.aggregates]

    def next_instant(self) -> int | None:
        """When the next window over time ends."""
        window = None if self.clock.by_tuples else self.panes.next_window()
        if window is None:
            return None
        row = np.zeros((1, pane_log.WIDTH), np.int64)
        row[0, pane_log.WINDOW] = window
        instant = int(self.clock.bounds(row)[0][0])
        return instant if instant < END else None

    def nbytes(self) -> int:
        """See `Operator`."""
        states = sum(s.nbytes() for s in (*self.partials, *self.wholes))
        return self.index.nbytes + self.partitions.nbytes + self.panes.nbytes + states

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """See `Operator`."""
        types = self.node.input.schema.types
        yield from self.index.vectors([types[g] for g in self.grouping])
        yield from self.partitions.vectors([types[b] for b in self.by])
        for state in (*self.partials, *self.wholes):
            yield from state.vectors()

    def _groups(self, columns: list[Vector], count: int) -> Array:
        return self.index.lookup_or_insert(*stacked(columns, count))

    def _cells(self, train: Train, groups: Array, until: int) -> tuple[Array, Log]:
        """The cell of each row (-1: in no window), and what windows close until then."""
        partitions = NO_PLACES
        if self.by:
            columns = [train.column(b) for b in self.by]
            partitions = self.partitions.lookup_or_insert(*stacked(columns, len(train)))
        places = self.clock.places(train, partitions, self.context)
        self.panes.resize(self.partitions.capacity if self.by else 1, self.index.capacity)
        rows = (partitions, groups, *places, train.ts, train.arrival)
        cells, log = self.panes.run(rows, self.clock.closing(until), self.clock.overlap)
        for partial in self.partials:
            partial.resize(self.panes.cells)
        for whole in self.wholes:
            whole.resize(self.index.capacity)
        return cells, log

    def _add(self, train: Train, cells: Array, covered: Array) -> None:
        """Adds rows to their cells; `covered` marks which of all rows these are."""
        places = NO_PLACES
        if self.ordered:
            places = self.place + np.flatnonzero(covered)
            self.place += len(covered)
        for argument, partial in zip(self.arguments, self.partials, strict=True):
            partial.add(Rows(cells, argument.of(train), places=places))

    def _emitted(self, log: Log) -> Train:
        """The elements of the windows that closed; what has left them is given back."""
        steps, windows = log
        overlap = self.clock.overlap
        groups = pane_log.readings(steps.slots, windows)
        if overlap:
            values = [w.combine(p, steps) for w, p in zip(self.wholes, self.partials, strict=True)]
        else:
            values = [p.read(steps.sources) for p in self.partials]
            for partial in self.partials:
                partial.clear(steps.sources)
        types = [self.node.input.schema.types[g] for g in self.grouping]
        keys = self.index.columns(groups, types)[: len(self.node.keys)]
        self._forget(self.panes.settle(steps))
        counts = windows[:, pane_log.READINGS]
        ts, start, end = (np.repeat(b, counts) for b in self.clock.bounds(windows))
        arrival = np.repeat(windows[:, pane_log.OLDEST], counts)
        ids = np.repeat(windows[:, pane_log.WINDOW], counts) if self.numbers_windows else None
        return Train([*keys, *values, Vector(start), Vector(end)], ts, arrival=arrival, ids=ids)

    def _forget(self, groups: Array) -> None:
        for whole in self.wholes:
            whole.clear(groups)
        self.index.free(groups)


def build(node: WindowAggregate, context: Context) -> WindowAggregateOperator:
    """See `penstock.operators.base`."""
    return WindowAggregateOperator(node, context)
