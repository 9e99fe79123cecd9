"""Probes: the values of watched columns, counted from a sample of what leaves an operator.

All probes look together, in rounds: each at the first train that leaves its operator in a round, at some of its rows in
even strides. Between rounds an operator does not know that it is watched. A round comes when the lane has worked for so
long that it costs `BUDGET` of that at most, so that counting costs next to nothing however many columns are
watched, and a run in virtual time counts the same each time. Of a relation the rows that enter are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time
from typing import Final

import numpy as np

from penstock.lane.clock import Clock
from penstock.lane.graph import Graph
from penstock.lane.slot import Feed, Slot
from penstock.operators.aggregates.make import as_doubles
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned
from penstock.plan.watched import Watched
from penstock.stats.histograms import Histogram

FIRST: Final = 2048
"""Rows that are looked at in the first round, so that something is known early ..."""
LATER: Final = 512
"""... and in later ones."""
LOOK_S: Final = 1.5e-4
"""What a look at one column costs, about."""
BUDGET: Final = 0.004
"""The share of a lane's time that looks may take."""


class Probe:
    """Counts the values of one place's watched columns, when it is armed."""

    __slots__ = ("_columns", "_place", "_represented", "spent_s")

    def __init__(self, place: Slot | Feed, watched: Sequence[Watched], context: Context) -> None:
        self._place = place
        self._columns = [_Column(w, context) for w in watched]
        self._represented = 0
        self.spent_s = 0.0

    def arm(self) -> None:
        """Lets it look at the next train."""
        self._place.probe = self

    def __call__(self, train: Train) -> None:
        """Looks at `train`; its sample stands for all rows since the last look."""
        started = thread_time()
        self._place.probe = None
        rows = len(train)
        looked = min(rows, LATER if self._represented else FIRST)
        sample = train if looked == rows else train.take(np.arange(looked) * rows // looked)
        if not sample.insertions_only:
            sample = sample.where(sample.sign > 0)
        stands_for, self._represented = self._place.rows_out - self._represented, self._place.rows_out
        for column in self._columns:
            column.add(sample, stands_for / looked)
        self.spent_s += thread_time() - started

    def histograms(self) -> list[Histogram]:
        """What was counted so far."""
        return [column.read() for column in self._columns]


class _Column:
    def __init__(self, watched: Watched, context: Context) -> None:
        self.watched = watched
        self._index = watched.node.schema.index(watched.column)
        self._type = watched.node.schema.type_of(watched.column)
        self._context = context
        self._cuts = np.array(watched.cuts, np.float64)
        self._counts = np.zeros(watched.bins)
        self._moments = np.array([0.0, 0.0, np.inf, -np.inf])

    def add(self, train: Train, weight: float) -> None:
        vector = train.column(self._index)
        bins = self._by_category(vector) if self.watched.categories else self._by_number(vector, weight)
        self._counts += np.bincount(bins, minlength=len(self._counts)) * weight

    def _by_category(self, vector: Vector) -> Array:
        bins = np.full(len(vector), len(self.watched.categories), np.intp)
        known = self._context.dictionaries.of(self._type) if interned(self._type) else None
        for number, category in enumerate(self.watched.categories):
            value = category if known is None else known.find(category)
            bins[vector.values == value] = number
        return bins if vector.nulls is None else np.where(vector.nulls, len(self.watched.categories), bins)

    def _by_number(self, vector: Vector, weight: float) -> Array:
        if interned(self._type) and self._type.name != "decimal":
            return np.zeros(len(vector), np.intp)
        values = as_doubles(vector, self._type, self._context).values
        present = values if vector.nulls is None else values[~vector.nulls]
        if len(present):
            self._moments[:2] += weight * present.sum(), weight * np.square(present).sum()
            self._moments[2:] = min(self._moments[2], present.min()), max(self._moments[3], present.max())
        bins = np.searchsorted(self._cuts, values, side="right")
        return bins if vector.nulls is None else np.where(vector.nulls, len(self._cuts) + 1, bins)

    def read(self) -> Histogram:
        return Histogram(self.watched, tuple(self._counts.tolist()), *self._moments.tolist())


class Probes:
    """The probes of a graph, behind the operators whose columns are watched; a source's is behind its drops."""

    def __init__(self, graph: Graph, clock: Clock) -> None:
        self._graph = graph
        self._clock = clock
        self._watched: tuple[Watched, ...] = ()
        self._probes: dict[object, Probe] = {}
        self._next_s = -np.inf

    def set(self, watched: Sequence[Watched]) -> None:
        """Watches these columns, and no others."""
        if tuple(watched) != self._watched:
            self._watched = tuple(watched)
            self._probes = {}
            self._next_s = -np.inf
            self.renew()

    def renew(self) -> None:
        """Puts the probes in their places anew: operators may have come or gone."""
        if not (self._watched or self._probes):
            return
        places: list[tuple[Slot | Feed, Context]] = [(s, s.context) for s in self._graph.order]
        places += [(f, self._graph.contexts.fresh()) for f in self._graph.feeds.values()]
        before, self._probes = self._probes, {}
        for place, context in places:
            place.probe = None
            watched = [w for w in self._watched if w.node == place.key.node]
            if watched:
                self._probes[place.key] = before.get(place.key) or Probe(place, watched, context)
        if not self._probes.keys() <= before.keys():
            self._next_s = -np.inf
            self.round()

    def round(self) -> None:
        """Lets all probes look at what comes next, where it is time for that."""
        if self._probes and (now := self._clock.worked()) >= self._next_s:
            self._next_s = now + len(self._watched) * LOOK_S / BUDGET
            for probe in self._probes.values():
                probe.arm()

    def histograms(self) -> tuple[Histogram, ...]:
        """What was counted so far: several copies of a node as one."""
        found: dict[Watched, Histogram] = {}
        for probe in self._probes.values():
            for each in probe.histograms():
                found[each.watched] = found[each.watched] + each if each.watched in found else each
        return tuple(found.values())

    @property
    def spent_s(self) -> float:
        """Processor time that counting took."""
        return sum(probe.spent_s for probe in self._probes.values())
