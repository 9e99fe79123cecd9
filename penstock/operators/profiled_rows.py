"""Which rows of a train are profiled, and what is said of a run of them in a long train (Babu 4.3.1).

Runs are of thousands of rows that pass or fail at random: their bits are kept by kernels, since what is spent on them
is spent beside the chain's own work.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.plan.filters import NEXT

RUN: Final = 512
"""Rows of a sampled run: enough that a filter's time is that of its work, few enough that the last runs are recent."""
NOBODY: Final = np.empty(0, np.int64)
_WORD: Final = (1 << 64) - 1


class Sampler:
    """Draws a share `rate` of rows as they pass, by a pseudo-random sequence of its own."""

    def __init__(self, rate: float, seed: int) -> None:
        self.rate = rate
        self._state = (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _WORD
        self._left = 0

    def run(self, count: int) -> tuple[int, int] | None:
        """The run of rows to sample of the next `count`, all of them where they are few; None for none."""
        if self._left >= count or not self.rate:
            self._left -= count
            return None
        length = max(RUN, int(self.rate * count))
        start = 0 if count <= length else min(max(0, self._left), count - length)
        stop = min(count, start + length)
        self._left = self._left - count + self._gap(stop - start) if self.rate < 1 else 0
        return start, stop

    def rows(self, count: int) -> Array | None:
        """The single rows to sample of the next `count`; None for none."""
        mean = self.rate * count
        wanted = min(count, int(mean) + (self._uniform() < mean - int(mean)))
        if not wanted:
            return None
        step = count / wanted
        return np.minimum(((np.arange(wanted) + self._uniform()) * step).astype(np.int64), count - 1)

    def _gap(self, length: int) -> int:
        """Rows from the begin of a run of `length` to that of the next: `rate` of them on average."""
        return int(length / self.rate * (0.5 + self._uniform())) if self.rate else 0

    def _uniform(self) -> float:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _WORD
        z = ((self._state ^ self._state >> 30) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _WORD
        return (z ^ z >> 31) / 2**64


class ProfiledRun:
    """Verdicts on the rows from `start` up to `stop` of a train: `bits`, and in `last` the rows dropped last.

    >>> run = ProfiledRun(10, 13)
    >>> run.say(0, None, np.arange(20) != 11, NOBODY, NOBODY == 0)
    >>> run.wanted(1, 1).tolist(), run.bits.tolist()
    ([11], [0, 1, 0])
    """

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self.bits = np.zeros(stop - start, np.int64)
        self.last = NOBODY

    def wanted(self, what: str | int, i: int) -> Array:
        """The dropped rows that filter `i` is asked about, too."""
        if what == i:
            return self.dead() + self.start
        return self.last + self.start if what == NEXT else NOBODY

    def dead(self) -> Array:
        """The places in the run of rows that are dropped."""
        return _set(self.bits)

    def say(self, i: int, rows: Array | None, mask: Array, dead: Array, others: Array) -> None:
        """Records what filter `i` says of the rows that are left (None: of all), and of dropped ones."""
        if rows is None:
            left, low, high = np.arange(self.start, self.stop), self.start, self.stop
        else:
            low, high = (int(place) for place in np.searchsorted(rows, (self.start, self.stop)))
            left = rows[low:high]
        self.last = _said(self.bits, self.start, 1 << i, left, mask[low:high], dead, others)


@njit(cache=True)
def _set(bits: Array) -> Array:
    found, used = np.empty(len(bits), np.int64), 0
    for place in range(len(bits)):
        found[used] = place
        used += bits[place] != 0
    return found[:used]


@njit(cache=True)
def _said(bits: Array, start: int, bit: int, left: Array, mask: Array, dead: Array, others: Array) -> Array:
    """Verdicts come at random: no step here depends on one."""
    for k in range(len(dead)):
        bits[dead[k] - start] |= 0 if others[k] else bit
    last, used = np.empty(len(left), np.int64), 0
    for k in range(len(left)):
        place = left[k] - start
        bits[place] = 0 if mask[k] else bit
        last[used] = place
        used += not mask[k]
    return last[:used]


@njit(cache=True)
def note(bits: Array, passed: Array, i: int) -> None:
    """Filter `i` says of these rows which of them pass."""
    for k in range(len(bits)):
        bits[k] |= np.int64(not passed[k]) << i


def outside(mask: Array, start: int, stop: int) -> Array:
    """The places that `mask` marks before `start` and from `stop` on. They are counted first: to make room for as many
    as could be would take longer than to find them."""
    count = np.count_nonzero(mask) - np.count_nonzero(mask[start:stop])
    found: Array = _outside(mask, start, stop, np.empty(count + 1, np.int64))
    return found


@njit(cache=True)
def _outside(mask: Array, start: int, stop: int, found: Array) -> Array:
    used = 0
    for k in range(start):
        found[used] = k
        used += mask[k]
    for k in range(stop, len(mask)):
        found[used] = k
        used += mask[k]
    return found[:used]
