"""count(*) and count(x): how many rows, how many arguments that are not NULL. Partial from outside: (count)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import Rows
from penstock.operators.aggregates.linear import Linear
from penstock.operators.columns.vector import Array, Vector


class Count(Linear):
    """State: (count)."""

    def __init__(self) -> None:
        super().__init__(1)

    def deposit(self, rows: Rows, copies: Array) -> None:
        """See `Linear`."""
        _deposit(self.state, rows.slots, rows.nulls, rows.signs, rows.marks, copies)

    def absorb(self, slots: Array, columns: Sequence[Vector]) -> None:
        """See `Partial`."""
        np.add.at(self.state[:, 0], slots, columns[0].values)

    def value(self, copies: Array) -> Vector:
        """See `Linear`."""
        return Vector(copies[:, 0].copy())


@njit(cache=True)
def _deposit(state: Array, slots: Array, nulls: Array, signs: Array, marks: Array, copies: Array) -> None:
    at = 0
    for i in range(len(slots)):
        if not (len(nulls) and nulls[i]):
            state[slots[i], 0] += signs[i] if len(signs) else 1
        if len(marks) and marks[i]:
            copies[at, 0] = state[slots[i], 0]
            at += 1
