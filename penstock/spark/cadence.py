"""Which batches the gate samples: what a batch costs for being sampled at all is the larger part of profiling there.

Every batch is sampled until a window is full, and as long as a batch brings few profile tuples. Then one in 8 is, one
in 16, and one in 32 where all stays calm; and at once the one after a batch in which the gate took clearly longer than
of late, which is how a change that the order does not suit shows. So does a batch of more rows: it is looked into for
nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import Final

EVERY: Final = (8, 32)
"""Of so many batches in which nothing stands out one is sampled: at first, and at last."""
PLENTY: Final = 500
"""Profile tuples of one batch that say enough, so that batches may be left out."""
LONGER: Final = 1.25
"""The factor by which the gate must take longer than lately: from one batch to the next it varies by 10 to 15%."""
LATELY: Final = 8
"""Batches that say what the gate takes."""


@dataclass(slots=True)
class Cadence:
    """Told of every batch, it says whether the next one is to be sampled.

    >>> cadence = Cadence()
    >>> [cadence.ran(1.0, 900) or cadence.due for _ in range(3)], cadence.ran(1.5, 0) or cadence.due
    ([False, False, False], True)
    """

    due: bool = True
    _since: int = 0
    _every: int = EVERY[0]
    _lately: deque[float] = field(default_factory=lambda: deque(maxlen=LATELY))

    def ran(self, gate_s: float, tuples: int) -> None:
        """A batch has run, and brought so many profile tuples if it was sampled."""
        if self.due and tuples < PLENTY:
            return
        slow = len(self._lately) > 1 and gate_s > LONGER * median(self._lately)
        if self.due:  # What is long about it is being looked into already.
            self._since, self.due = 0, False
        else:
            self._since += 1
            calm = not slow and self._since + 1 >= self._every
            self.due = slow or calm
            self._every = EVERY[0] if slow else min(2 * self._every, EVERY[1]) if calm else self._every
        self._lately.append(gate_s)
