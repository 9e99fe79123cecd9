"""What Istream and Dstream share: of each instant's changes, those of one sign that the others do not cancel.

Nothing is kept from one instant to the next, because a relation arrives as its changes. Only instants that have both
signs can cancel anything; the rows of the others are not even looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.operators.base import Stateless
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.kernels.index import KeyIndex, stacked
from penstock.operators.kernels.netting import mixed_instants, surviving


class DeltaStream(Stateless):
    """`sign` is 1 for the rows that each instant adds, -1 for those it removes."""

    def __init__(self, sign: int) -> None:
        self.sign = sign

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The elements that stay, as the `+` of a stream."""
        train = inputs[0]
        if train.insertions_only and self.sign == 1:
            return train.as_stream()
        kept = train.sign == self.sign
        mixed = np.flatnonzero(mixed_instants(train.ts, train.sign))
        if len(mixed):
            kept[mixed] = self._surviving(train.take(mixed))
        return train.where(kept).as_stream()

    def _surviving(self, train: Train) -> Array:
        rows = KeyIndex(train.width)
        ids = rows.lookup_or_insert(*stacked(train.columns, len(train)))
        kept: Array = surviving(train.ts, train.sign, ids, self.sign, np.zeros(rows.capacity, np.int64))
        return kept
