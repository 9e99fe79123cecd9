"""Aggregate over a relation: at each instant, `-` the old row and `+` the new row of every group whose row changed.

A whole interval is one pass: rows become group numbers, accumulators apply them in the order of time and are read
at the last row of each (instant, group), and the row before a reading is the reading before it, or what the group last
showed. A group without rows has no row; its number is given back.

The arrival of what is emitted is the oldest one among the elements that changed the group at that instant: the oldest
of all rows behind a value would have to be searched again at every deletion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.aggregates.arguments import Argument, type_of
from penstock.operators.aggregates.base import NO_PLACES, NO_SIGNS, Rows, Whole
from penstock.operators.aggregates.make import recipe
from penstock.operators.aggregates.naive import grouped
from penstock.operators.base import Context, Row, Timeline, value_key
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, physical, words
from penstock.operators.histories import pointwise
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.plan.aggregates import check_order, in_order
from penstock.plan.nodes import Aggregate
from penstock.plan.types import Type

LAST, MARK, OLDEST, SHOWN = range(4)
"""Columns of the scratch table by group: a row's number, a mark's number, an arrival, whether the group had rows."""
NEVER: Final = np.iinfo(np.int64).max
FRESH: Final = (-1, -1, NEVER, 0)


class Shown:
    """What each group last showed of one aggregate."""

    __slots__ = ("nulls", "type", "values")

    def __init__(self, t: Type) -> None:
        self.type = t
        self.values: Array = np.zeros(0, physical(t))
        self.nulls: Array = np.zeros(0, np.bool_)

    def resize(self, groups: int) -> None:
        """Makes room for groups below `groups`."""
        self.values, self.nulls = grown(self.values, groups), grown(self.nulls, groups)

    def before(self, new: Vector, groups: Array, previous: Array) -> Vector:
        """What each reading replaces: the reading numbered `previous`, or where that is -1 what the group showed."""
        if not len(groups):
            return new
        fresh = np.zeros(len(groups), np.bool_) if new.nulls is None else new.nulls
        values = np.where(previous >= 0, new.values[previous], self.values[groups])
        return Vector(values, np.where(previous >= 0, fresh[previous], self.nulls[groups]))

    def keep(self, new: Vector, groups: Array) -> None:
        """Takes over the last reading of each group."""
        self.values[groups] = new.values
        self.nulls[groups] = False if new.nulls is None else new.nulls


class AggregateOperator:
    """The state: groups by key, their numbers of rows, their accumulators, and what they last showed."""

    def __init__(self, node: Aggregate, context: Context) -> None:
        schema = node.input.schema
        recipes = [recipe(c, type_of(c, schema), context) for c in node.aggregates]
        self.schema = node.schema
        self.keys = [schema.index(k) for k in node.keys]
        self.types = [schema.type_of(k) for k in node.keys]
        self.arguments = [
            Argument(c, schema, r.doubles, context) for c, r in zip(node.aggregates, recipes, strict=True)
        ]
        self.wholes: list[Whole] = [r.whole() for r in recipes]
        self.shown = [Shown(c.type) for c in node.aggregates]
        self.ordered = in_order(node.input)
        self.index = KeyIndex(len(self.keys))
        self.counts: Array = np.zeros(0, np.int64)
        self.scratch: Array = np.zeros((0, len(FRESH)), np.int64)

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """See `Operator`."""
        train = inputs[0]
        if not len(train):
            return Train.empty(self.schema)
        groups = self._groups(train)
        ts, sign = train.ts, NO_SIGNS if train.insertions_only else train.sign
        marks = _last_of_instant(ts, groups, self.scratch)
        readings = _tally(groups, sign, marks, train.arrival, self.counts, self.scratch)
        values = [
            w.apply(self._rows(a, train, groups, sign, marks)) for a, w in zip(self.arguments, self.wholes, strict=True)
        ]
        out = self._changes(ts[marks], groups[marks], values, readings)
        self._forget(groups)
        return out

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """See `Operator`."""
        shown = sum(s.values.nbytes + s.nulls.nbytes for s in self.shown)
        return (
            self.index.nbytes + self.counts.nbytes + self.scratch.nbytes + shown + sum(w.nbytes() for w in self.wholes)
        )

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """See `Operator`."""
        yield from self.index.vectors(self.types)
        live = self.index.live()
        for shown, whole in zip(self.shown, self.wholes, strict=True):
            yield shown.type, Vector(shown.values[live], shown.nulls[live])
            yield from whole.vectors()

    def _groups(self, train: Train) -> Array:
        groups = self.index.lookup_or_insert(*stacked([train.column(k) for k in self.keys], len(train)))
        if self.index.capacity > len(self.counts):
            self.counts = grown(self.counts, self.index.capacity)
            self.scratch = np.tile(np.array(FRESH, np.int64), (self.index.capacity, 1))
            for whole, shown in zip(self.wholes, self.shown, strict=True):
                whole.resize(self.index.capacity)
                shown.resize(self.index.capacity)
        return groups

    def _rows(self, argument: Argument, train: Train, groups: Array, sign: Array, marks: Array) -> Rows:
        ids = train.ids if self.ordered else None
        return Rows(groups, argument.of(train), sign, marks, NO_PLACES if ids is None else ids)

    def _changes(
        self, ts: Array, groups: Array, values: list[Vector], readings: tuple[Array, Array, Array, Array]
    ) -> Train:
        previous, was, now, arrival = readings
        old = [s.before(v, groups, previous) for s, v in zip(self.shown, values, strict=True)]
        changed = was != now
        for before, after in zip(old, values, strict=True):
            changed |= was & now & _differ(before, after)
        for shown, after in zip(self.shown, values, strict=True):
            shown.keep(after, groups)
        at, sign = _signed(changed & was, changed & now)
        keys = self.index.columns(groups[at], self.types)
        columns = [_chosen(b, a, at, sign) for b, a in zip(old, values, strict=True)]
        return Train([*keys, *columns], ts[at], sign, arrival=arrival[at])

    def _forget(self, groups: Array) -> None:
        empty = np.unique(groups[self.counts[groups] == 0])
        if len(empty):
            self.index.free(empty)
            for whole in self.wholes:
                whole.clear(empty)


def build(node: Aggregate, context: Context) -> AggregateOperator:
    """See `penstock.operators.base`."""
    check_order(node.input, node.aggregates)
    return AggregateOperator(node, context)


def reference(node: Aggregate, relation: Timeline) -> Timeline:
    """At every instant: the rows in bags by key, each aggregate of each bag."""
    check_order(node.input, node.aggregates)
    ordered = in_order(node.input)

    def rows_of(rows: list[Row]) -> list[Row]:
        listed = rows if ordered else sorted(rows, key=_by_value)
        return grouped(node.keys, node.aggregates, node.input.schema, listed)

    return pointwise(rows_of, relation)


def _by_value(row: Row) -> tuple[Any, ...]:
    return tuple(value_key(v) for v in row)


def _differ(a: Vector, b: Vector) -> Array:
    """True where the values are not the same (NULL is NULL, NaN is NaN)."""
    none = np.zeros(len(a), np.bool_)
    a_null, b_null = none if a.nulls is None else a.nulls, none if b.nulls is None else b.nulls
    different: Array = (a_null != b_null) | (~a_null & ~b_null & (words(a) != words(b)))
    return different


def _signed(minus: Array, plus: Array) -> tuple[Array, Array]:
    """The readings that emit, in order, a `-` before its `+`; and the signs."""
    at = np.repeat(np.arange(len(minus)), 2)
    emitted = np.stack([minus, plus], axis=1).reshape(-1)
    signs = np.tile(np.array([-1, 1], np.int8), len(minus))
    return at[emitted], signs[emitted]


def _chosen(old: Vector, new: Vector, at: Array, sign: Array) -> Vector:
    values = np.where(sign < 0, old.values[at], new.values[at])
    if old.nulls is None and new.nulls is None:
        return Vector(values)
    nulls = [np.zeros(len(at), np.bool_) if v.nulls is None else v.nulls[at] for v in (old, new)]
    chosen = np.where(sign < 0, *nulls)
    return Vector(values, chosen if chosen.any() else None)


@njit(cache=True)
def _last_of_instant(ts: Array, groups: Array, scratch: Array) -> Array:
    """Marks the last row of each group at each instant; scratch[:, LAST] is -1, and is left so."""
    marks = np.zeros(len(ts), np.bool_)
    for i in range(len(ts) - 1, -1, -1):
        later = scratch[groups[i], LAST]
        marks[i] = later < 0 or ts[later] != ts[i]
        scratch[groups[i], LAST] = i
    for group in groups:
        scratch[group, LAST] = -1
    return marks


@njit(cache=True)
def _tally(groups: Array, signs: Array, marks: Array, arrival: Array, counts: Array,
           scratch: Array) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Counts rows. For each mark: the mark before it of its group (-1: none here), whether the group had rows before
    and has some now, and the oldest arrival since that mark.
    """
    size = np.count_nonzero(marks)
    previous, arrived = np.empty(size, np.int64), np.empty(size, np.int64)
    was, now = np.empty(size, np.bool_), np.empty(size, np.bool_)
    at = 0
    for i in range(len(groups)):
        group = groups[i]
        state = scratch[group]
        if state[MARK] < 0 and state[OLDEST] == NEVER:
            state[SHOWN] = counts[group] > 0
        counts[group] += signs[i] if len(signs) else 1
        state[OLDEST] = min(state[OLDEST], arrival[i])
        if marks[i]:
            previous[at], arrived[at] = state[MARK], state[OLDEST]
            was[at], now[at] = state[SHOWN] > 0, counts[group] > 0
            state[MARK], state[OLDEST], state[SHOWN] = at, NEVER, now[at]
            at += 1
    for group in groups:
        scratch[group, MARK] = -1
    return previous, was, now, arrived
