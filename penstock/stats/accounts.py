"""What each query got and lost: the account that is given of shedding.

`Delivered` is counted where results leave; `QueryAccount` is made of it for one period, with what the drops above the
query took and what that did to its utility (Tatbul 3.8.1).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delivered:
    """Results of `query` so far: `rows` elements, the longest time between two of them in a row, and for estimates how
    many there were, the sum and the largest of their relative half-widths."""

    query: str
    rows: int = 0
    gap_us: int = 0
    estimates: int = 0
    error_total: float = 0.0
    error_most: float = 0.0

    def __add__(self, other: Delivered) -> Delivered:
        """What two lanes delivered: the longest gap of both together is no longer than that of either."""
        gaps = [d.gap_us for d in (self, other) if d.rows]
        return Delivered(
            self.query, self.rows + other.rows, min(gaps, default=0), self.estimates + other.estimates,
            self.error_total + other.error_total, max(self.error_most, other.error_most),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class DropAccount:
    """Tuples that were dropped at one place above a query in one period, and why."""

    location: str
    reason: str
    dropped: int


@dataclass(frozen=True, slots=True)
class QueryAccount:
    """One query in one period.

    delivered      elements
    dropped        what was given up above it; tuples that other queries share are in the accounts of all
    share          of what it would have got without drops, the share that it gets, by the load model
    tuple_utility  what its loss function says of that (1 where nothing is dropped)
    value_utility  sum f'_i u_i / sum f_i u_i over the ranges that it values; None where it values none
    error          the average relative half-width of its estimates; None where there were none
    gap_us         the longest time between two results in a row, since the run started
    shut_down      it delivers nothing, because its promise cannot be kept
    """

    query: str
    delivered: int
    dropped: tuple[DropAccount, ...] = ()
    share: float = 1.0
    tuple_utility: float = 1.0
    value_utility: float | None = None
    error: float | None = None
    gap_us: int = 0
    shut_down: bool = False

    @property
    def lost(self) -> float:
        """The utility that it lost, by what it declared: the value of its results, or their number."""
        return 1 - (self.tuple_utility if self.value_utility is None else self.value_utility)
