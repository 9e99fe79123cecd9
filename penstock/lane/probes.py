"""Probes: the values of watched columns, counted from a sample of what leaves an operator.

A probe looks at one row of `EVERY`, in strides over a train that is worth a look, so that a look costs a few
microseconds and a row a few nanoseconds. Which rows depends on the trains alone: the same run counts the same. Of a
relation the rows that enter are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time
from typing import Final

import numpy as np

from penstock.lane.graph import Graph
from penstock.lane.slot import Feed, Slot
from penstock.operators.aggregates.make import as_doubles
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned
from penstock.plan.watched import Watched
from penstock.stats.histograms import Histogram

EVERY: Final = 16
"""One row of so many is looked at ..."""
FIRST: Final = 4096
"""... after the first rows of a run, all of them, so that something is known early ..."""
LOOK: Final = 256
"""... and no look is for fewer rows than these: a look has a fixed cost."""


class Probe:
    """Counts the values of one node's watched columns."""

    __slots__ = ("_columns", "_credit", "_since", "spent_s")

    def __init__(self, watched: Sequence[Watched], context: Context) -> None:
        self._columns = [_Column(w, context) for w in watched]
        self._credit = float(FIRST)
        self._since = 0
        self.spent_s = 0.0

    def __call__(self, train: Train) -> None:
        """Looks at `train`, where it is time for a look."""
        rows = len(train)
        self._credit += rows / EVERY
        self._since += rows
        if self._credit < min(LOOK, rows):
            return
        started = thread_time()
        looked = min(rows, int(self._credit))
        self._credit -= looked
        weight, self._since = self._since / looked, 0
        sample = train if looked == rows else train.take(np.arange(looked) * rows // looked)
        if not sample.insertions_only:
            sample = sample.where(sample.sign > 0)
        for column in self._columns:
            column.add(sample, weight)
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

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._watched: tuple[Watched, ...] = ()
        self._probes: dict[object, Probe] = {}

    def set(self, watched: Sequence[Watched]) -> None:
        """Watches these columns, and no others."""
        if tuple(watched) != self._watched:
            self._watched = tuple(watched)
            self._probes = {}
            self.renew()

    def renew(self) -> None:
        """Puts the probes in their places anew: operators may have come or gone."""
        if not (self._watched or self._probes):
            return
        places: list[tuple[Slot | Feed, Context]] = [(s, s.context) for s in self._graph.order]
        places += [(f, self._graph.contexts.fresh()) for f in self._graph.feeds.values()]
        before, self._probes = self._probes, {}
        for place, context in places:
            watched = [w for w in self._watched if w.node == place.key.node]
            place.probe = (before.get(place.key) or Probe(watched, context)) if watched else None
            if place.probe is not None:
                self._probes[place.key] = place.probe

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
