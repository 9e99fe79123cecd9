"""SEaMLESS where a control period is a micro-batch: the queue is the batch itself, known before it is shed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.control.controllers.base import Amount, Reading, known
from penstock.control.controllers.headroom import LEAST

LEAST_SHARE = 0.1
"""The share of the setpoint that a batch's rows get, however late it starts and whatever it takes besides: a flow that
stops teaches nothing."""

LEAST_AIM = 0.5
"""How far late results lower the setpoint at most."""

TELLING = 0.02
"""The share of the target that a batch's load must be, so that its duration says something about it."""


@dataclass(slots=True)
class Batches:
    """How much of a batch to keep, so that its oldest input is answered in time and the next batch does not begin late.

    Batch k takes c(k) = f + w(k) / H: a fixed part, and the load that is kept of it. Its oldest input came when the
    last batch began, so it has waited for c(k-1) and is answered after

        y(k) = c(k-1) + c(k)

    This is the plant with a period of dead time of `gains`, but without its integrator: a batch leaves no queue
    behind, what is not kept is gone. The controller needs none either. With S the setpoint, c = S / 2 answers just in
    time and keeps the processor busy. Steered by c(k) = S - c(k-1) the durations would swing for ever (pole at -1).
    So what is a little longer than S / 2, by half of the margin, is let be: the same drop rate as ever brings it back
    by itself (pole at 1 - 2f / S). What is longer than that shortens the next batch,

        c(k) = min(S / 2, S + slack - c(k-1))

    and the one after that is right again (both poles at 0).

    What lies between two batches besides their work, l, is waited for like the rest: c = (S - l) / 2.

    H comes from each batch anew, w / (c - f), as estimate and measurement are of the same tuples: falling by half of
    the difference, rising by a fifth. The setpoint lies below the target by `margin` and by how much batches differ
    from what H says of them; `_aim`, its share of that, shrinks by D / D' when the 99th percentile of the response
    times lies above the target, and grows back slowly.

    >>> batches = Batches()
    >>> batches.step(Reading(now_s=0, period_s=1, input_load=2, queued_load=2, target_s=2, headroom=1, waited_s=1))
    Amount(excess=1.0, why='keeps 1 of 2, waited 1 s, at headroom 1')
    """

    margin: float = 0.1
    name: str = "seamless"
    _headroom: float | None = None
    _aim: float = 1.0
    _error: float = 0.0

    def step(self, reading: Reading) -> Amount:
        """What does not fit into the time that the batch has."""
        headroom, setpoint = self._learned(reading), self._setpoint_s(reading)
        waited = known(reading.waited_s, reading.period_s)
        half, slack = (setpoint - reading.lead_s) / 2, self.margin / 2 * reading.target_s
        room = max(min(half, setpoint + slack - waited) - reading.floor_s, LEAST_SHARE * setpoint)
        gathered = half if half < reading.period_s <= half + slack else reading.period_s
        kept = max(0.0, headroom * room) / gathered
        why = (
            f"keeps {min(kept, reading.input_load):.3g} of {reading.input_load:.3g}, waited {waited:.3g} s, at headroom"
        )
        return Amount(max(0.0, reading.input_load - kept), f"{why} {headroom:.3g}")

    def _setpoint_s(self, reading: Reading) -> float:
        share = known(reading.p99_s / reading.target_s, 0.0)
        if share > 1:
            self._aim = max(LEAST_AIM, self._aim * max(0.8, 1 / share))
        else:
            self._aim += 0.1 * (1 - self._aim)
        return max(0.25, 1 - self.margin - 3.5 * self._error) * self._aim * reading.target_s

    def _learned(self, reading: Reading) -> float:
        """H; a batch whose work is lost in its fixed part says nothing about it. After such batches what was believed
        at first is believed again by and by, or a time of no work at all would be the last word."""
        if self._headroom is None:
            self._headroom = reading.headroom
        worked = reading.took_s - reading.floor_s
        kept = reading.processed * reading.took_s
        if math.isfinite(kept) and kept > TELLING * reading.target_s and worked > 0.1 * reading.target_s:
            found = min(reading.lanes, max(LEAST, kept / worked))
            self._error += 0.1 * (min(0.2, max(0.0, self._headroom / found - 1)) - self._error)
            self._headroom += (0.5 if found < self._headroom else 0.2) * (found - self._headroom)
        elif math.isfinite(kept):
            self._headroom += 0.2 * max(0.0, reading.headroom - self._headroom)
        return self._headroom
