"""What DISTINCT, EXCEPT and INTERSECT share: copies of each row counted on both sides, and the result's net changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.operators.kernels.netting import FIELDS, set_changes
from penstock.plan.node import Node
from penstock.plan.types import Type


class SetOperator:
    """`rule` says how often the result holds a row, given its copies on both sides (see `kernels.netting`)."""

    def __init__(self, node: Node, rule: int) -> None:
        self.rule = rule
        self.types = node.schema.types
        self.rows = KeyIndex(len(self.types))
        self.state: Array = np.zeros((0, FIELDS), np.int64)
        self.serial = 0

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The result's net changes; a changed row is taken from an element that changed it."""
        train, side = by_time(inputs)
        ids = self.rows.lookup_or_insert(*stacked(train.columns, len(train)))
        if len(self.state) < self.rows.capacity:
            self.state = grown(self.state, self.rows.capacity)
        positions, sign, arrival, self.serial, gone = set_changes(
            self.rule, train.ts, train.sign, side, ids, train.arrival, self.state, self.serial)  # fmt: skip
        self.rows.free(gone)
        return train.changes(positions, sign, arrival)

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """The rows and their counts."""
        return self.rows.nbytes + self.state.nbytes

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The distinct rows."""
        return self.rows.vectors(self.types)


def by_time(inputs: Sequence[Train]) -> tuple[Train, Array]:
    """The inputs' elements by timestamp, and which input each comes from."""
    if len(inputs) == 1:
        return inputs[0], np.zeros(len(inputs[0]), np.int8)
    whole = concat_trains([t.unplaced() for t in inputs])
    side = np.repeat(np.arange(len(inputs), dtype=np.int8), [len(t) for t in inputs])
    order = np.argsort(whole.ts, kind="stable")
    return whole.take(order).dense(), side[order]
