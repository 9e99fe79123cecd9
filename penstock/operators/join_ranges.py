"""Join steps without an equality: the rows that may match are a range in the order of one expression, or all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, interned
from penstock.operators.join_conditions import Bound, comparable
from penstock.operators.join_index import CHUNK, Pairs
from penstock.operators.join_side import Side
from penstock.operators.kernels.join import spans
from penstock.operators.vector_eval import compiled
from penstock.plan.functions import can_raise
from penstock.plan.schema import Schema


class AllRows:
    """Every row of the side is a candidate."""

    def pairs(self, side: Side, events: Array, columns: Train) -> Iterator[Pairs]:
        """The product, in chunks."""
        listed = side.alive
        low = np.zeros(len(events), np.int64)
        return spanned(side, events, listed, low, low + len(listed))


class SomeRows:
    """The rows whose `term` lies between the limits: a range of the side's rows in the order of that term.

    A limit that is NULL bounds nothing: what it means is checked afterwards, as everything is.
    """

    def __init__(self, bounds: Sequence[Bound], schema: Schema, context: Context) -> None:
        self.term = bounds[0].term
        self._limits = [(b.operator, compiled(b.limit, schema, context)) for b in bounds]

    def pairs(self, side: Side, events: Array, columns: Train) -> Iterator[Pairs]:
        """Candidates with the rows of their range, in chunks."""
        index = side.ordered(self.term)
        low, high = np.zeros(len(events), np.int64), np.full(len(events), len(index.values))
        for operator, limit in self._limits:
            vector = limit(columns)
            known = slice(None) if vector.nulls is None else ~vector.nulls
            found = np.searchsorted(index.values, vector.values[known], "left" if operator in ("<", ">=") else "right")
            if operator in (">", ">="):
                low[known] = np.maximum(low[known], found)
            else:
                high[known] = np.minimum(high[known], found)
        return spanned(side, events, index.positions, low, high)


def row_range(bounds: Sequence[Bound], schema: Schema, context: Context) -> AllRows | SomeRows:
    """How a step finds the rows that `bounds` let through: by the term with the most of them."""
    usable = [b for b in bounds if sortable(b)]
    if not usable:
        return AllRows()
    by_term = {b.term: [other for other in usable if other.term == b.term] for b in usable}
    return SomeRows(max(by_term.values(), key=len), schema, context)


def sortable(bound: Bound) -> bool:
    """True where the order of the values in the arrays is what `bound` compares by, and no row can be set aside."""
    term, limit = bound.term.expression, bound.limit
    return comparable(term.type, limit.type) and not interned(term.type) and not (can_raise(term) or can_raise(limit))


def spanned(side: Side, events: Array, listed: Array, low: Array, high: Array) -> Iterator[Pairs]:
    """Candidate i with those of `listed[low[i]:high[i]]` that live at its event, in chunks."""
    start, room = 0, min(CHUNK, int((high - low).clip(0).sum()) + 1)
    while start < len(events):
        pairs = np.empty(room, np.int32), np.empty(room, np.int32)
        following, count = spans(low, high, listed, events, start, side.rows.shift, *side.lives, *pairs)
        room *= 1 + (following == start)
        start = following
        if count:
            yield pairs[0][:count], pairs[1][:count]
