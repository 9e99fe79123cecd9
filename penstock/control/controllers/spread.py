"""How far below the target to aim, so that the slow results meet it too."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.controllers.base import Reading

LEAST = 0.25
"""The setpoint is at least this share of the target: below, almost everything would be shed to save a few."""


@dataclass(slots=True)
class Spread:
    """The setpoint: the target minus what the 99th percentile of the response times lies above their average.

    The controllers steer an average, the target is for the worst case (Pham II-A, definition 2). `memory` is how much
    of the learned spread the next period leaves: a wider one is believed at once by half, a narrower one slowly.

    >>> spread = Spread()
    >>> reading = Reading(now_s=0, period_s=0.5, input_load=1, queued_load=1, target_s=2, delay_s=1.5, p99_s=1.9)
    >>> round(spread.setpoint_s(reading), 3)
    1.8
    """

    memory: float = 0.9
    spread_s: float = 0.0

    def setpoint_s(self, reading: Reading) -> float:
        """The average response time to aim at."""
        seen = reading.p99_s - reading.delay_s
        if seen >= 0:
            kept = 0.5 if seen > self.spread_s else self.memory
            self.spread_s = kept * self.spread_s + (1 - kept) * seen
        return max(LEAST * reading.target_s, reading.target_s - self.spread_s)
