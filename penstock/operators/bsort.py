"""Aurora's BSort (Tatbul 2.1.3): an approximate sort, as good as `slack` passes of a bubble sort.

The buffer holds slack + 1 tuples. An arrival that finds it full pushes the smallest of them out and takes its place:

    slack 1    arrivals  3   1   2   0   4  end
               buffer    3   13  32  30  34
               emitted           1   2   0  34
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import numpy as np

from penstock.operators.base import Context, Event, Operator, Stream, value_key
from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.bounded_sort import smallest_first
from penstock.operators.total_order import in_total_order, sort_keys
from penstock.plan.nodes import BSort
from penstock.plan.types import Type
from penstock.plan.windows import END, LAST

NOTHING: Final = np.empty(0, np.int64)


class BSortOperator:
    """The buffered tuples, in the order of their arrival."""

    def __init__(self, node: BSort, context: Context) -> None:
        self.schema = node.schema
        self.on = node.schema.index(node.on)
        self.room = node.slack + 1
        self.dictionaries = context.dictionaries
        self.buffer = Train.empty(node.schema)

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """One tuple for each arrival that finds the buffer full; at the end of time all of them."""
        arrivals = in_total_order(inputs[0], self.schema, self.dictionaries)
        whole = concat_trains([t for t in (self.buffer, arrivals) if len(t)] or [arrivals])
        pushed = max(0, len(whole) - self.room)
        out, left = self._sorted(whole)
        stamps = whole.ts[len(whole) - pushed :]
        if until >= END:
            out, left, stamps = np.concatenate([out, left]), NOTHING, np.concatenate([stamps, np.full(len(left), LAST)])
        self.buffer = whole.take(np.sort(left)).dense()
        return stamped(whole.take(out), stamps)

    def next_instant(self) -> int | None:
        """The last, while tuples are kept."""
        return LAST if len(self.buffer) else None

    def nbytes(self) -> int:
        """Bytes of the buffer."""
        columns = (a for v in self.buffer.columns for a in v if a is not None)
        return sum(a.nbytes for a in columns) + 2 * self.buffer.ts.nbytes

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The buffered values."""
        return zip(self.schema.types, self.buffer.columns, strict=True)

    def _sorted(self, whole: Train) -> tuple[Array, Array]:
        """The tuples pushed out, in order, and those kept, smallest first."""
        keys = sort_keys(whole.column(self.on), self.schema.types[self.on], self.dictionaries)
        order = np.lexsort([np.arange(len(whole)), *reversed(keys)])
        ranks = np.empty(len(whole), np.int64)
        ranks[order] = np.arange(len(whole))
        out, left = smallest_first(ranks, self.room)
        return order[out], order[left]


def stamped(train: Train, ts: Array) -> Train:
    """The elements of `train` with these timestamps; equal ones are placed in the order of the train."""
    starts = np.flatnonzero(np.diff(ts, prepend=ts[:1] - 1))
    places = np.arange(len(ts)) - np.repeat(starts, np.diff(starts, append=len(ts)))
    return Train(train.columns, ts, None, places, train.arrival, train.weight)


def build(node: BSort, context: Context) -> Operator:
    """The running operator."""
    return BSortOperator(node, context)


def reference(node: BSort, stream: Stream) -> Stream:
    """Arrival by arrival."""
    on = node.schema.index(node.on)
    buffer: list[tuple[tuple[object, ...], int, Event]] = []
    pairs = []
    for number, event in enumerate(stream):
        if len(buffer) > node.slack:
            pairs.append((event.ts, heapq.heappop(buffer)[2].row))
        heapq.heappush(buffer, (value_key(event.row[on]), number, event))
    pairs += [(LAST, kept.row) for _, _, kept in sorted(buffer)]
    return [
        Event(ts, place, row)
        for ts, group in groupby(pairs, key=lambda p: p[0])
        for place, (_, row) in enumerate(group)
    ]
