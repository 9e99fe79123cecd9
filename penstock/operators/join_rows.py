"""Where the rows of a join's inputs live, and how flat arrays follow them.

A row has a position, by which the side's flat arrays know it, and a place, at which its values lie; a place is a
position plus `shift`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.plan.types import Type

MINIMUM_POSITIONS: Final = 1024
SMALL: Final = 1 << 16
"""Up to here arrays have room for as much again as they hold, so that they seldom move; larger ones for a sixth."""


@dataclass(frozen=True, slots=True)
class Move:
    """The arrays by position begin `dead` positions later and have `capacity`; `live` entries go along."""

    dead: int
    live: int
    capacity: int


class PlacedRows(Protocol):
    """Rows by place."""

    @property
    def shift(self) -> int:
        """A row's place less its position."""

    @property
    def borrowed(self) -> bool:
        """True where the arrays behind `column` are never written again."""

    def column(self, index: int) -> Vector:
        """A column."""

    @property
    def arrival(self) -> Array:
        """Arrival times."""

    @property
    def weight(self) -> Array | None:
        """Weights; None where all are 1."""


class SideRows(PlacedRows, Protocol):
    """The rows of a relation. An interval is `open`, `room`, `admit`, any number of reads, `release`."""

    def open(self) -> None:
        """Begins an interval: only now columns can be read."""

    def room(self, train: Train) -> Move | None:
        """How the arrays by position must change before `admit`."""

    def admit(self, train: Train) -> Array:
        """The position of each element's row."""

    def release(self, positions: Array, sign: Array, touch: Array, until: int) -> None:
        """Ends the interval before `until`, whose elements had these positions and signs."""

    @property
    def sparse(self) -> bool:
        """True where it holds far more room than rows, and does not give it back by itself."""

    def nbytes(self) -> int:
        """Bytes of its own."""

    def vectors(self, touch: Array) -> Iterator[tuple[Type, Vector]]:
        """The values that it holds itself."""


def roomy(live: int) -> int:
    """How many positions arrays for `live` rows get."""
    return max(MINIMUM_POSITIONS, 2 * live if live < SMALL else live + live // 6)


def moved(array: Array, move: Move, fill: int) -> Array:
    """`array`, by position, after `move`; new entries are `fill`."""
    fresh = np.full(move.capacity, fill, array.dtype)
    kept = array[move.dead : move.dead + move.live]
    fresh[: len(kept)] = kept
    return fresh
