"""Response times of one query over the last minute, in bounded space whatever the number of batches."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from penstock.stats.batches import Waits

RESPONSE_S: Final = 60.0
POINTS: Final = 128
"""What a second that is over is thinned to."""


class Responses:
    """Response times as they come, second by second.

    >>> seen = Responses()
    >>> seen.add(0.2, Waits.of(3_000_000, [(2, [1_000_000, 2_000_000])]))
    >>> seen.add(5.0, Waits.of(9_000_000, [(1, [2_000_000])]))
    >>> seen.last, seen.over(5.0).quantile(0.5), seen.over(61.0).results
    (7.0, 2.0, 1.0)
    """

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, Waits]] = deque()
        self.last: float | None = None

    def add(self, at_s: float, waits: Waits) -> None:
        """Takes note of the results of a batch that was delivered at `at_s`."""
        self.last = waits.quantile(0.5)
        second = int(at_s)
        if self._seconds and self._seconds[-1][0] == second:
            waits = Waits.together([self._seconds.pop()[1], waits])
        self._seconds.append((second, thinned(waits)))

    def over(self, at_s: float) -> Waits | None:
        """All of the minute before `at_s`; of the last second with results, where the minute had none."""
        while len(self._seconds) > 1 and self._seconds[0][0] < at_s - RESPONSE_S:
            self._seconds.popleft()
        return Waits.together([w for _, w in self._seconds]) if self._seconds else None


def thinned(waits: Waits) -> Waits:
    """`waits` by few points that stand for the same number of results each."""
    if len(waits.seconds) <= POINTS:
        return waits
    wanted = (np.arange(POINTS) + 0.5) / POINTS
    seconds = np.array([waits.quantile(float(q)) for q in wanted])
    return Waits(seconds, np.full(POINTS, waits.results / POINTS))
