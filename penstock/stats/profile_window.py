"""The profile window (Babu 4.3.1): what the latest tuples that were dropped say about every filter.

A profile tuple has a bit for each filter: 1 where the filter drops the tuple. Here it is one word, bit i for filter i.
With each batch of profile tuples come the times that the filters took.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
TIMES = 25
"""Reports of processing times that are kept: they are noisier than verdicts, and change more slowly."""


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
        self._each: Array = np.full((TIMES, filters), np.nan)
        self._reports = 0
        self._medians: Array | None = None

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
        """Takes in processing times: those of the last `TIMES` reports are kept, whatever the tuples."""
        _kept(self._each[self._reports % TIMES], timed.seconds, timed.rows)
        self._reports += 1
        self._medians = None

    def unit_costs(self, otherwise: Sequence[float]) -> Array:
        """The seconds a tuple (a_i) of each filter, the median of the reports: one that was interrupted does not count;
        `otherwise` for a filter that no time was measured of."""
        if self._medians is None:
            self._medians = _medians(self._each)
        return np.where(np.isnan(self._medians), otherwise, self._medians)


@njit(cache=True)
def _kept(each: Array, seconds: Array, rows: Array) -> None:
    """What a report says a tuple takes of each filter; nothing (NaN) of one that it does not know."""
    for f in range(len(each)):
        each[f] = seconds[f] / rows[f] if rows[f] > 0 and seconds[f] > 0 else np.nan


@njit(cache=True)
def _medians(each: Array) -> Array:
    found, known = np.full(each.shape[1], np.nan), np.empty(len(each))
    for f in range(each.shape[1]):
        count = 0
        for value in each[:, f]:
            if not np.isnan(value):
                known[count] = value
                count += 1
        if count:
            known[:count].sort()
            found[f] = (known[(count - 1) // 2] + known[count // 2]) / 2
    return found
