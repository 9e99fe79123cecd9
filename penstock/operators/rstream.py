"""Rstream (Babu 2.1.2): the whole relation, at each instant at which its net content changes.

Over sliding windows also at every boundary of a slide, from the first change on, while the relation holds rows: a
window with the same content as the one before is a result too. Boundaries count as long as time goes on. Where it comes
to its end, the last of them is the last instant at which anything arrived or changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from penstock.operators.base import Context, Operator, Snapshot, Stream, Timeline, content
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.histories import derived, minus
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.operators.kernels.whole import COPIES, FIELDS, LAST, columns_of, whole_relations
from penstock.plan.nodes import RStream
from penstock.plan.types import Type
from penstock.plan.windows import BEGIN, END
from penstock.plan.windows import LAST as LAST_INSTANT


class RStreamOperator:
    """The relation's distinct rows are the keys of an index; `content` lists the ids of those that it holds."""

    def __init__(self, node: RStream) -> None:
        self.types = node.schema.types
        self.boundaries = np.array(node.boundaries, np.int64).reshape(-1, 2)
        self.rows = KeyIndex(len(self.types))
        self.state: Array = np.zeros((0, FIELDS), np.int64)
        self.weights: Array = np.zeros(0)
        self.content: Array = np.zeros(0, np.int64)
        self.own: Array = np.array([0, 0, BEGIN], np.int64)
        self.weighted = False

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The relation, at each instant that calls for it."""
        train = inputs[0]
        ids = self.rows.lookup_or_insert(*stacked(train.columns, len(train)))
        self._make_room()
        weight = np.empty(0) if train.weight is None else train.weight
        self.weighted = self.weighted or train.weight is not None
        # Time that has come to its end has no boundaries: after the last change none is waited for.
        last = until if until < END else int(train.ts[train.ts < LAST_INSTANT].max(initial=BEGIN)) + 1
        found, shares = whole_relations(train.ts, train.sign, ids, train.arrival, weight, self.boundaries, last,
                                        self.state, self.weights, self.content, self.own)  # fmt: skip
        keys, ts, arrival = columns_of(found)
        columns = self.rows.columns(keys, self.types)
        self._forget(ids)
        return Train(columns, ts, arrival=arrival, weight=shares if self.weighted else None)

    def next_instant(self) -> int | None:
        """The next boundary, while there are rows."""
        last = int(self.own[LAST])
        moments = [first + ((last - first) // slide + 1) * slide for slide, first in self.boundaries.tolist()]
        return min(moments) if moments and len(self.rows) else None

    def nbytes(self) -> int:
        """The rows and what is kept of each."""
        return self.rows.nbytes + self.state.nbytes + self.weights.nbytes + self.content.nbytes

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The distinct rows."""
        return self.rows.vectors(self.types)

    def _make_room(self) -> None:
        if len(self.state) < self.rows.capacity:
            self.state, self.weights, self.content = (
                grown(a, self.rows.capacity) for a in (self.state, self.weights, self.content)
            )

    def _forget(self, ids: Array) -> None:
        gone = ids[self.state[ids, COPIES] == 0]
        self.rows.free(np.unique(gone))


def build(node: RStream, context: Context) -> Operator:
    """The running operator."""
    return RStreamOperator(node)


def reference(node: RStream, relation: Timeline, last: int = BEGIN) -> Stream:
    """The content at each instant of change, and at each boundary between the first of them and the last, or `last`."""
    changing = [after.ts for before, after in pairwise([Snapshot(BEGIN, []), *relation])
                if minus(after.rows, before.rows) or minus(before.rows, after.rows)]  # fmt: skip
    moments = set(changing)
    for (slide, first), (since, until) in product(node.boundaries, pairwise([*changing, last + 1])):
        if since > BEGIN and content(relation, since):
            upto = until if until < LAST_INSTANT else last + 1
            moments |= set(range(first + -((first - since) // slide) * slide, upto, slide))
    return [e for t in sorted(moments) for e in derived(t, content(relation, t))]
