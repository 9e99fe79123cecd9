"""The n-way windowed join: an MJoin (Babu 5.1) that takes trains instead of single elements.

Each input has a pipeline: an order in which its elements meet the other inputs. The elements of one interval are
numbered in the order of time, every row knows the numbers at which it came and went, and an element joins the rows that
are there at its own number. So each input's elements pass their pipeline together, and still the result changes as if
they had come one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from penstock.operators.base import Context, Operator, Row, Timeline
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.histories import pointwise
from penstock.operators.join_conditions import conditions, greedy_order
from penstock.operators.join_output import columns, headers, in_event_order
from penstock.operators.join_pipeline import Candidates, Pipeline
from penstock.operators.join_side import Delta, Side
from penstock.operators.kernels.join import add_earlier
from penstock.operators.kernels.join_gather import stamp, taken
from penstock.plan.expressions import Expression
from penstock.plan.functions import SetAside, evaluate
from penstock.plan.nodes import Join
from penstock.plan.types import Type


class MJoin:
    """`orders[i]` is the order in which elements of input i meet the other inputs; it may be changed between calls."""

    def __init__(self, node: Join, context: Context) -> None:
        self._schema = node.schema
        self._context = context
        self._conditions = conditions(node.predicate, len(node.members))
        self.sides = [Side(i, m, self._conditions, context) for i, m in enumerate(node.members)]
        count = len(self.sides)
        self.orders = [greedy_order(self._conditions, i, count) for i in range(count)]
        self._pipelines: list[Pipeline] = []

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The changes of the result before `until`."""
        for side in self.sides:
            side.rows.open()
        self._follow_orders()
        trains = [side.passing(train) for side, train in zip(self.sides, inputs, strict=True)]
        events = numbered(trains)
        deltas = [side.begin(train, e) for side, train, e in zip(self.sides, trains, events, strict=True)]
        found = [c for pipeline, delta in zip(self._pipelines, deltas, strict=True) for c in pipeline.run(delta)]
        result = self._output(in_event_order(found, sum(map(len, trains))), deltas) if found else None
        for side, delta in zip(self.sides, deltas, strict=True):
            side.end(delta, until)
        return Train.empty(self._schema) if result is None else result

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """Bytes of all sides."""
        return sum(side.nbytes() for side in self.sides)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The values that the sides hold themselves."""
        for side in self.sides:
            yield from side.vectors()

    def _follow_orders(self) -> None:
        """Builds the pipelines that `orders` asks for, and the indexes that they need."""
        if [p.order for p in self._pipelines] == [tuple(o) for o in self.orders]:
            return
        made = (self.sides, self._conditions, self._schema, self._context)
        self._pipelines = [Pipeline(*made, i, order) for i, order in enumerate(self.orders)]
        for i, side in enumerate(self.sides):
            hashed = {t for p in self._pipelines for t in p.hashed(i)}
            side.require(hashed, {t for p in self._pipelines for t in p.ordered(i)})

    def _output(self, found: Candidates, deltas: Sequence[Delta]) -> Train:
        total = sum(len(d.train) for d in deltas)
        ts, sign, negative = np.empty(total, np.int64), np.empty(total, np.int8), 0
        for delta in deltas:
            if len(delta.train):
                negative += stamp(delta.events, delta.train.ts, delta.sign, ts, sign)
        signs = taken(sign, found.events) if negative else None
        shown = columns(self.sides, found)
        return Train(shown, taken(ts, found.events), signs, None, *headers(self.sides, found))


def numbered(trains: Sequence[Train]) -> list[Array]:
    """The event numbers of the elements of several trains: by timestamp, then by train, then by place."""
    events = [np.arange(len(t), dtype=np.int32) for t in trains]
    stamps = [t.ts for t in trains]
    for i, mine in enumerate(stamps):
        for j, other in enumerate(stamps):
            if i != j and len(mine) and len(other):
                add_earlier(mine, other, j < i, events[i])
    return events


def build(node: Join, context: Context) -> Operator:
    """The running operator."""
    return MJoin(node, context)


def reference(node: Join, *inputs: Timeline) -> Timeline:
    """At each instant the product of the contents, filtered."""

    def joined(*contents: list[Row]) -> list[Row]:
        rows = (sum(parts, ()) for parts in product(*contents))
        return [row for row in rows if holds(node.predicate, node.schema.names, row)]

    return pointwise(joined, *inputs)


def holds(predicate: Expression, names: Sequence[str], row: Row) -> bool:
    """True where `predicate` is true of the row; a row on which a user's function fails is left out."""
    try:
        return evaluate(predicate, dict(zip(names, row, strict=True))) is True
    except SetAside:
        return False
