"""The profile window (Babu 4.3.1): what the latest tuples that were dropped say about every filter.

A profile tuple has a bit for each filter: 1 where the filter drops the tuple. Here it is one word, bit i for filter i.
With each batch of profile tuples come the times that the filters took; they leave the window with their tuples.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Timed(NamedTuple):
    """How long each filter took over how many rows, while `tuples` profile tuples were made."""

    tuples: int
    seconds: Array
    rows: Array


class ProfileWindow:
    """The last `size` profile tuples over `filters` filters.

    >>> window = ProfileWindow(2, 3)
    >>> window.push(np.array([0b001, 0b010, 0b110])).tolist(), window.bits().tolist()
    ([], [2, 6])
    >>> window.push(np.array([0b100])).tolist(), window.bits().tolist()
    ([2], [6, 4])
    """

    def __init__(self, size: int, filters: int) -> None:
        self.size = size
        self.filters = filters
        self._ring: Array = np.zeros(size, np.int64)
        self._end = 0
        self._count = 0
        self._times: deque[Timed] = deque()
        self._timed = 0

    def __len__(self) -> int:
        return self._count

    def push(self, bits: Array) -> Array:
        """Takes in profile tuples; those that leave for them. Of more than fit, only the last are ever in."""
        bits = bits[-self.size :]
        places = (self._end + np.arange(len(bits))) % self.size
        leaving = max(0, self._count + len(bits) - self.size)
        gone = self._ring[(self._end - self._count + np.arange(leaving)) % self.size].copy()
        self._ring[places] = bits
        self._end = (self._end + len(bits)) % self.size
        self._count += len(bits) - leaving
        return gone

    def bits(self) -> Array:
        """The tuples, oldest first."""
        return self._ring[(self._end - self._count + np.arange(self._count)) % self.size]

    def clear(self) -> None:
        """Forgets the tuples; the times stay."""
        self._count = 0

    def time(self, timed: Timed) -> None:
        """Takes in processing times; those leave whose tuples all have left."""
        self._times.append(timed)
        self._timed += timed.tuples
        while self._timed - self._times[0].tuples >= self.size:
            self._timed -= self._times.popleft().tuples

    def unit_costs(self, otherwise: Sequence[float]) -> Array:
        """The average seconds a tuple (a_i) of each filter; `otherwise` for one that no time was measured of."""
        seconds = np.sum([t.seconds for t in self._times], axis=0, initial=0.0) + np.zeros(self.filters)
        rows = np.sum([t.rows for t in self._times], axis=0, initial=0.0) + np.zeros(self.filters)
        known = (rows > 0) & (seconds > 0)
        costs: Array = np.where(known, seconds / np.where(known, rows, 1.0), np.asarray(otherwise, np.float64))
        return costs
