"""What an accumulator is given and what it offers.

An accumulator holds the state of one aggregate for many **slots** in flat arrays; what a slot stands for is the
operator's affair: a group of a relation, the rows of one group in one pane, the panes of one group in the current
window. Slots are numbered from 0; the operator calls `resize` before it uses new numbers and `clear` before it uses
one again.

There are two kinds. A **partial** only takes rows in: it is what a pane of a stream holds, and may come from outside,
from a source that pre-aggregates (`absorb`). A **whole** also gives up rows, or partials, and is read at places in
the middle of a batch. Where the state is linear (counts, exact sums) one class is both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from penstock.operators.columns.vector import Array, Vector
from penstock.plan.types import Type

NO_FLAGS: Final[Array] = np.zeros(0, np.bool_)
NO_SIGNS: Final[Array] = np.zeros(0, np.int8)
NO_PLACES: Final[Array] = np.zeros(0, np.int64)


class Rows(NamedTuple):
    """A run of rows. Numba kernels take the optional arrays as they are: empty where the default holds.

    slots     the slot that each row belongs to
    argument  the aggregate's argument; None for count(*)
    signs     +1, -1, or 0 for a row that only carries a mark; empty: all +1
    marks     True where the slot's value is to be read after the row; empty: nowhere
    places    each row's place in the total order; empty where there is none
    """

    slots: Array
    argument: Vector | None
    signs: Array = NO_SIGNS
    marks: Array = NO_FLAGS
    places: Array = NO_PLACES

    @property
    def values(self) -> Array:
        """The argument's values; the slots where there is no argument."""
        return self.slots if self.argument is None else self.argument.values

    @property
    def nulls(self) -> Array:
        """The argument's NULL flags; empty where it has no NULL."""
        return NO_FLAGS if self.argument is None or self.argument.nulls is None else self.argument.nulls

    @property
    def readings(self) -> int:
        """How many marks there are."""
        return int(np.count_nonzero(self.marks))


class Steps(NamedTuple):
    """What happens to slots of a whole, in order: a partial of `sources` enters (+1), leaves (-1), or the slot is
    read (0).
    """

    slots: Array
    sources: Array
    signs: Array

    @property
    def readings(self) -> int:
        """How many steps read."""
        return len(self.signs) - int(np.count_nonzero(self.signs))


class State(Protocol):
    """What partials and wholes share."""

    def resize(self, slots: int) -> None:
        """Makes room for slots below `slots`; new ones are empty."""

    def clear(self, slots: Array) -> None:
        """Empties these slots."""

    def nbytes(self) -> int:
        """Bytes held."""

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The vectors of values held."""


class Partial(State, Protocol):
    """An accumulator of rows that only come."""

    def add(self, rows: Rows) -> None:
        """Takes rows in."""

    def absorb(self, slots: Array, columns: Sequence[Vector]) -> None:
        """Takes partial results from outside in: one row a slot, the columns that the accumulator's file names."""

    def read(self, slots: Array) -> Vector:
        """The values of these slots."""


class Whole(State, Protocol):
    """An accumulator of rows or partials that come and go."""

    def apply(self, rows: Rows) -> Vector:
        """Applies rows in order; gives the value at each mark."""

    def combine(self, source: Any, steps: Steps) -> Vector:
        """Applies steps with partials of `source` in order, and empties those that leave; gives the value at each
        reading step.
        """


def with_nulls(values: Array, nulls: Array) -> Vector:
    """A vector of `values` that is NULL where `nulls` says so."""
    if not nulls.any():
        return Vector(values)
    values[nulls] = 0
    return Vector(values, nulls)
