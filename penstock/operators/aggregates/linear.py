"""Accumulators whose state is a row of integers a slot, and whose merging is adding these rows: counts and exact sums.

Such a state is partial and whole at once. Reading is apart from adding: kernels copy the state at each mark, and the
subclass turns the copies into values, all together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Self

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import Rows, Steps
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.exact_sum import propagate
from penstock.operators.kernels.index import grown
from penstock.plan.types import Type

CARRY_AFTER: Final = 1 << 28
"""Deposits after which limbs carry on: each adds at most 4 * 2**32 to a limb, and a limb holds 2**63."""


class Linear:
    """Base: `state[slot]` is (number of arguments, ...), all int64. Subclasses deposit rows and make values of copies
    of states.
    """

    limbs: Sequence[slice] = ()
    """The columns that are limbs of wide integers, one slice an integer."""

    def __init__(self, width: int) -> None:
        self.state: Array = np.zeros((0, width), np.int64)
        self.load = 0

    def resize(self, slots: int) -> None:
        """See `State`."""
        if slots > len(self.state):
            self.state = grown(self.state, slots)

    def clear(self, slots: Array) -> None:
        """See `State`."""
        _clear(self.state, slots)

    def nbytes(self) -> int:
        """See `State`."""
        return int(self.state.nbytes)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """Numbers only."""
        return iter(())

    def add(self, rows: Rows) -> None:
        """See `Partial`."""
        self.apply(rows)

    def apply(self, rows: Rows) -> Vector:
        """See `Whole`."""
        return self.value(self.applied(rows))

    def combine(self, source: Self, steps: Steps) -> Vector:
        """See `Whole`."""
        return self.value(self.combined(source, steps))

    def read(self, slots: Array) -> Vector:
        """See `Partial`."""
        return self.value(self.copied(slots))

    def applied(self, rows: Rows) -> Array:
        """The state at each mark."""
        self.prepare(rows)
        copies = np.empty((rows.readings, self.state.shape[1]), np.int64)
        self.deposit(rows, copies)
        self._carry(len(rows.slots))
        return copies

    def combined(self, source: Self, steps: Steps) -> Array:
        """The state at each reading step."""
        self.align(source)
        copies = np.empty((steps.readings, self.state.shape[1]), np.int64)
        self._carry(int(_combine(self.state, source.state, *steps, copies)))
        return copies

    def copied(self, slots: Array) -> Array:
        """The state of these slots."""
        copies = np.empty((len(slots), self.state.shape[1]), np.int64)
        _copy(self.state, slots, copies)
        return copies

    def prepare(self, rows: Rows) -> None:
        """Makes the state fit for the values of `rows`."""

    def align(self, source: Self) -> None:
        """Gives both states one layout."""

    def deposit(self, rows: Rows, copies: Array) -> None:
        """Adds the rows, and copies the state at each mark."""
        raise TypeError(f"{type(self).__name__} takes no rows")

    def value(self, copies: Array) -> Vector:
        """The values of copied states."""
        raise TypeError(f"{type(self).__name__} has no value")

    def _carry(self, deposits: int) -> None:
        self.load += deposits
        if self.load > CARRY_AFTER:
            for columns in self.limbs:
                propagate(self.state[:, columns])
            self.load = len(self.state)


@njit(cache=True)
def _combine(state: Array, source: Array, slots: Array, sources: Array, signs: Array, copies: Array) -> int:
    """Adds and subtracts rows of `source`, and empties those that leave; copies rows of `state`; returns how many
    deposits the added rows stand for.
    """
    at, load, width = 0, 0, state.shape[1]
    for i in range(len(slots)):
        slot, other = slots[i], sources[i]
        if signs[i] == 0:
            for j in range(width):
                copies[at, j] = state[slot, j]
            at += 1
        elif signs[i] > 0:
            load += source[other, 0]
            for j in range(width):
                state[slot, j] += source[other, j]
        else:
            load += source[other, 0]
            for j in range(width):
                state[slot, j] -= source[other, j]
                source[other, j] = 0
    return load


@njit(cache=True)
def _copy(state: Array, slots: Array, copies: Array) -> None:
    for i in range(len(slots)):
        for j in range(state.shape[1]):
            copies[i, j] = state[slots[i], j]


@njit(cache=True)
def _clear(state: Array, slots: Array) -> None:
    for slot in slots:
        for j in range(state.shape[1]):
            state[slot, j] = 0
