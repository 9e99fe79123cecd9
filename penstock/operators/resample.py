"""Aurora's Resample (Tatbul 2.1.3): aligns two streams by interpolating one at the timestamps of the other.

    right      10 at 0      20 at 4
    left               at 1
    result, stamped 4, when the later neighbour is known:  10 + (20 - 10) * (1 - 0) / (4 - 0) = 12.5

A neighbour whose value is NULL does not count for that value, unless it stands at the very instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np

from penstock.operators.base import Context, Event, Operator, Row, Stream
from penstock.operators.bsort import stamped
from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.total_order import in_total_order
from penstock.operators.vector_eval import compiled
from penstock.plan.expressions import Call, Column, Expression
from penstock.plan.functions import evaluate
from penstock.plan.nodes import Resample
from penstock.plan.types import DOUBLE, Type
from penstock.plan.windows import END, LAST

LEFT, RIGHT = 0, 1
NOBODY: Final = -1


class Neighbours(NamedTuple):
    """For each left tuple the positions of the last right tuple up to it and the first after it, where they are near
    enough, else NOBODY; `same`: the former stands at its very instant. `stamps`: when the result is known."""

    before: Array
    after: Array
    same: Array
    stamps: Array


class ResampleOperator:
    """Left tuples that wait for their later neighbour, and the last right tuple."""

    def __init__(self, node: Resample, context: Context) -> None:
        self.schemas = (node.left.schema, node.right.schema)
        self.within = node.within
        self.dictionaries = context.dictionaries
        self.values = [compiled(as_double(node, v), node.right.schema, context) for v in node.values]
        self.kept = [Train.empty(s) for s in self.schemas]

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The left tuples whose result becomes known before `until`; at the end of time all of them."""
        left, right = (self._joined(side, inputs[side]) for side in (LEFT, RIGHT))
        found = neighbours(left.ts, right.ts, self.within)
        known = (found.stamps < until) | (until >= END)
        out = np.flatnonzero(known)
        out = out[np.argsort(found.stamps[out], kind="stable")]
        result = self._aligned(left, right, Neighbours(*(a[out] for a in found)), out)
        self.kept = [left.where(~known).dense(), right.slice(max(0, len(right) - 1), len(right)).dense()]
        return result

    def next_instant(self) -> int | None:
        """When the first waiting tuple has waited long enough."""
        waiting = self.kept[LEFT].ts
        return min(int(waiting[0]) + self.within, LAST) if len(waiting) else None

    def nbytes(self) -> int:
        """Bytes of what is kept."""
        columns = (a for t in self.kept for v in t.columns for a in v if a is not None)
        return sum(a.nbytes for a in columns) + sum(2 * t.ts.nbytes for t in self.kept)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The values of what is kept."""
        for schema, train in zip(self.schemas, self.kept, strict=True):
            yield from zip(schema.types, train.columns, strict=True)

    def _joined(self, side: int, train: Train) -> Train:
        fresh = in_total_order(train, self.schemas[side], self.dictionaries)
        return concat_trains([t for t in (self.kept[side], fresh) if len(t)] or [fresh])

    def _aligned(self, left: Train, right: Train, found: Neighbours, out: Array) -> Train:
        chosen = left.take(out).dense()
        added = [interpolated(value(right), right.ts, chosen.ts, found) for value in self.values]
        arrival = chosen.arrival
        for side in (found.before, found.after):
            came = np.append(right.arrival, END)[side]
            arrival = np.minimum(arrival, came)
        whole = Train([*chosen.columns, *added], chosen.ts, arrival=arrival, weight=chosen.weight)
        return stamped(whole, found.stamps)


def neighbours(ts: Array, right: Array, within: int) -> Neighbours:
    """The neighbours of left tuples stamped `ts` among right tuples stamped `right`, both in order."""
    behind = np.searchsorted(right, ts, "right")
    padded = np.concatenate([[-END], right, [END]])
    past, future = padded[behind], padded[behind + 1]
    same = (past == ts) & (behind > 0)
    near_past, near_future = (behind > 0) & (ts - past <= within), (behind < len(right)) & (future - ts <= within)
    stamps = np.where(same, ts, np.where(near_future, future, ts + np.minimum(within, LAST - ts)))
    after = np.where(near_future & ~same, behind, NOBODY)
    return Neighbours(np.where(near_past, behind - 1, NOBODY), after, same, stamps)


def interpolated(vector: Vector, right: Array, ts: Array, found: Neighbours) -> Vector:
    """The values of one column at `ts`."""
    missing = np.append(np.zeros(len(right), np.bool_) if vector.nulls is None else vector.nulls, True)
    values, stamps = np.append(vector.values, 0.0), np.append(right, 0)
    a, b = values[found.before], values[found.after]
    has_a, has_b = ~missing[found.before], ~missing[found.after] & ~found.same
    both = has_a & has_b
    with np.errstate(all="ignore"):
        span = np.where(both, stamps[found.after] - stamps[found.before], 1)
        between = a + (b - a) * ((ts - stamps[found.before]) / span)
    result = np.where(both, between, np.where(has_a, a, b))
    nulls = ~(has_a | has_b)
    result[nulls] = 0.0
    return Vector(result, nulls if nulls.any() else None)


def as_double(node: Resample, value: str) -> Expression:
    """Column `value` of the right stream as a double."""
    column = Column(value, node.right.schema.type_of(value))
    return column if column.type == DOUBLE else Call("cast", (column,), DOUBLE)


def build(node: Resample, context: Context) -> Operator:
    """The running operator."""
    return ResampleOperator(node, context)


def reference(node: Resample, left: Stream, right: Stream) -> Stream:
    """Tuple by tuple, looking at the whole of the other stream."""
    aligned = sorted((_alignment(node, e, right) for e in left), key=lambda pair: pair[0])
    return [
        Event(ts, place, row)
        for ts, group in groupby(aligned, key=lambda pair: pair[0])
        for place, (_, row) in enumerate(group)
    ]


def _alignment(node: Resample, event: Event, right: Stream) -> tuple[int, Row]:
    """When the result of a left tuple is known, and the result."""
    before = [e for e in right if 0 <= event.ts - e.ts <= node.within][-1:]
    after = [e for e in right if 0 < e.ts - event.ts <= node.within][:1]
    if before and before[0].ts == event.ts:
        after, stamp = [], event.ts
    else:
        stamp = after[0].ts if after else min(event.ts + node.within, LAST)
    return stamp, event.row + tuple(_value(node, v, event.ts, before + after) for v in node.values)


def _value(node: Resample, name: str, ts: int, near: list[Event]) -> Any:
    schema = node.right.schema
    pairs = [(e.ts, evaluate(as_double(node, name), dict(zip(schema.names, e.row, strict=True)))) for e in near]
    known = [(t, v) for t, v in pairs if v is not None]
    if len(known) < 2:
        return known[0][1] if known else None
    (t, a), (u, b) = known
    return a + (b - a) * ((ts - t) / (u - t))
