"""What a guarded function costs: so much for a batch, whatever is in it, and so much for a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MEMORY: Final = 0.95
"""How much of what was known the next batch leaves."""
APART: Final = 0.3
"""The share of their mean by which batches must differ in size, so that what they take tells rows from batches."""
COLD_BATCHES: Final = 2
"""The first ones load and compile code: they are forgotten once there is another."""
FEW: Final = 50
"""Rows that are let in whatever they seem to cost."""
PRIOR: Final = 0.5
"""The share of a batch's time that is taken to be every batch's, before batches of other sizes were seen: too much is
known for it by the next batch, too little would be believed for ever where all are of one size."""
LEAST: Final = 0.1
"""A row costs at least this share of what it would if a batch cost nothing."""


@dataclass(slots=True)
class Cost:
    """A line through (rows, seconds) of the last batches, by least squares: the farther back, the less a batch counts.
    Where all are of one size, `floor_s` stays what it was, and what is left is the rows'. `rows` were in the last.

    >>> cost = Cost()
    >>> for rows in (9, 9, 100, 300, 200):
    ...     cost.see(rows, 0.25 + 0.001 * rows)
    >>> round(cost.floor_s, 3), round(cost.row_s, 5)
    (0.25, 0.001)
    """

    floor_s: float = 0.0
    row_s: float = 0.0
    rows: int = 0
    _seen: int = 0
    _n: float = 0.0
    _rows: float = 0.0
    _seconds: float = 0.0
    _squares: float = 0.0
    _products: float = 0.0

    @property
    def least(self) -> int:
        """So many rows at least are let in next, though they seem to cost too much: a flow that stops teaches nothing,
        and what a batch costs besides looks like the cost of its rows where these are few."""
        return max(FEW, self.rows // 4)

    @property
    def known(self) -> bool:
        """True once a batch was seen."""
        return self.row_s > 0

    @property
    def settled(self) -> bool:
        """True once the cold batches are over."""
        return self._seen > COLD_BATCHES + 1

    def see(self, rows: int, took_s: float) -> None:
        """A batch of so many `rows` took so long; one without rows teaches nothing."""
        if not rows:
            return
        keep = 0.0 if self._seen <= COLD_BATCHES else MEMORY
        self._seen += 1
        self.rows = rows
        self._n = keep * self._n + 1
        self._rows = keep * self._rows + rows
        self._seconds = keep * self._seconds + took_s
        self._squares = keep * self._squares + rows * rows
        self._products = keep * self._products + rows * took_s
        mean, mean_s = self._rows / self._n, self._seconds / self._n
        spread = self._squares / self._n - mean * mean
        if keep == 0:
            self.floor_s = PRIOR * took_s
        if spread > (APART * mean) ** 2:
            slope = (self._products / self._n - mean * mean_s) / spread
            most = mean_s / mean
            self.floor_s = mean_s - min(most, max(LEAST * most, slope)) * mean
        self.floor_s = min(self.floor_s, (1 - LEAST) * mean_s)
        self.row_s = (mean_s - self.floor_s) / mean
