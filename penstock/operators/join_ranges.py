"""Join steps without an equality: the rows that may match are a range in the order of one expression, or all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.join_bounds import Bound, Sum
from penstock.operators.join_index import CHUNK, Pairs
from penstock.operators.join_side import Side
from penstock.operators.kernels.join import spans
from penstock.operators.vector_eval import compiled
from penstock.plan.schema import Schema

SAFE: Final = 2.0**62
"""Sums below it, reckoned in doubles, have not left 64 bits."""


class AllRows:
    """Every row of the side is a candidate."""

    def pairs(self, side: Side, events: Array, columns: Train) -> Iterator[Pairs]:
        """The product, in chunks."""
        listed = side.alive
        low = np.zeros(len(events), np.int64)
        return spanned(side, events, listed, low, low + len(listed))


class SomeRows:
    """The rows whose `term` lies between the limits: a range of the side's rows in the order of that term."""

    def __init__(self, bounds: Sequence[Bound], schema: Schema, context: Context) -> None:
        self.term = bounds[0].term
        self._limits = [(b.operator, Limit(b.limit, schema, context)) for b in bounds]

    def pairs(self, side: Side, events: Array, columns: Train) -> Iterator[Pairs]:
        """Candidates with the rows of their range, in chunks."""
        index = side.ordered(self.term)
        low, high = np.zeros(len(events), np.int64), np.full(len(events), len(index.values))
        for operator, limit in self._limits:
            values, known = limit.values(columns)
            found = np.searchsorted(index.values, values[known], "left" if operator in ("<", ">=") else "right")
            if operator in (">", ">="):
                low[known] = np.maximum(low[known], found)
            else:
                high[known] = np.minimum(high[known], found)
        return spanned(side, events, index.positions, low, high)


class Limit:
    """A sum of expressions over the sides joined so far. Where it is NULL or leaves 64 bits it bounds nothing."""

    def __init__(self, parts: Sum, schema: Schema, context: Context) -> None:
        self._parts = [(sign, compiled(e, schema, context)) for sign, e in parts]

    def values(self, columns: Train) -> tuple[Array, Array]:
        """The limit for each candidate, and whether it bounds."""
        total, rough = None, np.zeros(len(columns))
        known = np.ones(len(columns), np.bool_)
        for sign, part in self._parts:
            vector = part(columns)
            known &= True if vector.nulls is None else ~vector.nulls
            if len(self._parts) == 1 and sign > 0:
                return vector.values, known
            total = sign * vector.values if total is None else total + sign * vector.values
            rough += sign * vector.values.astype(np.float64)
        assert total is not None
        return total, known & (np.abs(rough) < SAFE)


def row_range(bounds: Sequence[Bound], schema: Schema, context: Context) -> AllRows | SomeRows:
    """How a step finds the rows that `bounds` let through: by the term with the most of them."""
    if not bounds:
        return AllRows()
    by_term = {b.term: [other for other in bounds if other.term == b.term] for b in bounds}
    return SomeRows(max(by_term.values(), key=len), schema, context)


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
