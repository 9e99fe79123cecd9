"""Join steps without an equality: the rows that may match are a range in the order of one expression, or all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.join_conditions import Bound
from penstock.operators.join_index import CHUNK, Pairs
from penstock.operators.join_side import Side
from penstock.operators.kernels.join import spans
from penstock.plan.schema import Schema


class AllRows:
    """Every row of the side is a candidate."""

    def pairs(self, side: Side, events: Array, columns: Train) -> Iterator[Pairs]:
        """The product, in chunks."""
        listed = side.alive
        low = np.zeros(len(events), np.int64)
        return spanned(side, events, listed, low, low + len(listed))


def ranges(bounds: Sequence[Bound], side: Schema, schema: Schema, context: Context) -> AllRows:
    """How a step finds the rows that its bounds let through."""
    return AllRows()


def spanned(side: Side, events: Array, listed: Array, low: Array, high: Array) -> Iterator[Pairs]:
    """Candidate i with those of `listed[low[i]:high[i]]` that live at its event, in chunks."""
    start, room = 0, CHUNK
    while start < len(events):
        pairs = np.empty(room, np.int64), np.empty(room, np.int64)
        following, count = spans(low, high, listed, events, start, side.rows.shift, *side.lives, *pairs)
        if following == start:
            room *= 2
        start = following
        if count:
            yield pairs[0][:count], pairs[1][:count]
