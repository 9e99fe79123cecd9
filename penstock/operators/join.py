"""The n-way windowed join: an MJoin (Babu 5.1) that takes trains instead of single elements.

Each input has a pipeline: an order in which its elements meet the other inputs. The elements of one interval are
numbered in the order of time, every row knows the numbers at which it came and went, and an element joins the rows that
are there at its own number. So each input's elements pass their pipeline together, and still the result changes as if
they had come one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import numpy as np

from penstock.operators.base import Context, Row, Snapshot, Timeline, content, instants
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.join_conditions import conditions, greedy_order
from penstock.operators.join_gathered import Gathered
from penstock.operators.join_pipeline import Candidates, Pipeline, gathered
from penstock.operators.join_side import Delta, Side
from penstock.operators.kernels.join import add_earlier
from penstock.operators.kernels.join_gather import arrange, count_events, keep_least, scatter, stamp, taken
from penstock.plan.functions import evaluate
from penstock.plan.nodes import Join
from penstock.plan.types import Type

NO_ARRIVAL: Final = np.int64(2**63 - 1)


class MJoin:
    """`orders[i]` is the order in which elements of input i meet the other inputs; it may be changed between calls."""

    def __init__(self, node: Join, context: Context) -> None:
        self._schema = node.schema
        self._context = context
        self._conditions = conditions(node)
        self._sides = [Side(i, m, self._conditions, context) for i, m in enumerate(node.members)]
        count = len(self._sides)
        self.orders = [greedy_order(self._conditions, i, count) for i in range(count)]
        self._pipelines: list[Pipeline] = []

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The changes of the result before `until`."""
        for side in self._sides:
            side.rows.open()
        self._follow_orders()
        trains = [side.possible(train) for side, train in zip(self._sides, inputs, strict=True)]
        events = numbered(trains)
        deltas = [side.begin(train, e) for side, train, e in zip(self._sides, trains, events, strict=True)]
        found = [c for pipeline, delta in zip(self._pipelines, deltas, strict=True) for c in pipeline.run(delta)]
        result = self._output(in_event_order(found, sum(map(len, trains))), deltas) if found else None
        for side, delta in zip(self._sides, deltas, strict=True):
            side.end(delta, until)
        return Train.empty(self._schema) if result is None else result

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """Bytes of all sides."""
        return sum(side.nbytes() for side in self._sides)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The values that the sides hold themselves."""
        for side in self._sides:
            yield from side.vectors()

    def _follow_orders(self) -> None:
        """Builds the pipelines that `orders` asks for, and the indexes that they need."""
        if [p.order for p in self._pipelines] == [tuple(o) for o in self.orders]:
            return
        made = (self._sides, self._conditions, self._schema, self._context)
        self._pipelines = [Pipeline(*made, i, order) for i, order in enumerate(self.orders)]
        for i, side in enumerate(self._sides):
            hashed = {t for p in self._pipelines for t in p.hashed(i)}
            side.require(hashed, {t for p in self._pipelines for t in p.ordered(i)})

    def _output(self, found: Candidates, deltas: Sequence[Delta]) -> Train:
        total = sum(len(d.train) for d in deltas)
        ts, sign, negative = np.empty(total, np.int64), np.empty(total, np.int8), 0
        for delta in deltas:
            if len(delta.train):
                negative += stamp(delta.events, delta.train.ts, delta.sign, ts, sign)
        signs = taken(sign, found.events) if negative else None
        columns = gathered(self._sides, found)
        return Train(self._kept(columns), taken(ts, found.events), signs, None, *self._headers(found))

    def _kept(self, columns: Gathered) -> Sequence[Vector]:
        """Rows that live in windows are gathered when they are read; other rows may be gone by then."""
        owned = [not side.rows.borrowed for side in self._sides for _ in side.schema]
        for i in np.flatnonzero(owned).tolist():
            columns[i]
        return columns

    def _headers(self, found: Candidates) -> tuple[Array, Array | None]:
        """The earliest arrival and the product of the weights."""
        arrival = np.full(len(found), NO_ARRIVAL)
        weight: Array | None = None
        for side, places in zip(self._sides, found.places, strict=True):
            keep_least(arrival, side.rows.arrival, places)
            if side.rows.weight is not None and places is not None:
                own = taken(side.rows.weight, places)
                weight = own if weight is None else weight * own
        return arrival, weight


def numbered(trains: Sequence[Train]) -> list[Array]:
    """The event numbers of the elements of several trains: by timestamp, then by train, then by place."""
    events = [np.arange(len(t), dtype=np.int32) for t in trains]
    stamps = [t.ts for t in trains]
    for i, mine in enumerate(stamps):
        for j, other in enumerate(stamps):
            if i != j and len(mine) and len(other):
                add_earlier(mine, other, j < i, events[i])
    return events


def in_event_order(found: Sequence[Candidates], total: int) -> Candidates:
    """The results of all pipelines in the order of their events, of which there are `total`."""
    if len(found) == 1:
        return found[0]
    offsets = np.zeros(total + 1, np.int64)
    for part in found:
        count_events(part.events, offsets)
    np.cumsum(offsets, out=offsets)
    count = int(offsets[-1])
    events = np.empty(count, np.int32)
    sides = [np.empty(count, np.int32) for _ in found[0].places]
    for part in found:
        places = np.empty(len(part), np.int64)
        arrange(part.events, offsets, places)
        scatter(part.events, places, events)
        for side, rows in zip(sides, part.places, strict=True):
            scatter(rows, places, side)
    return Candidates(events, tuple(sides))


def build(node: Join, context: Context) -> MJoin:
    """The running operator."""
    return MJoin(node, context)


def reference(node: Join, *inputs: Timeline) -> Timeline:
    """At each instant the product of the contents, filtered."""
    names = node.schema.names
    return [Snapshot(t, [row for row in _joined(content(i, t) for i in inputs) if evaluate(node.predicate, dict(zip(names, row, strict=True))) is True])
            for t in instants(*inputs)]  # fmt: skip


def _joined(contents: Iterator[list[Row]]) -> Iterator[Row]:
    for rows in product(*contents):
        yield sum(rows, ())
