"""The fail-safe around every controller: absurd readings, jumps and restlessness stop here."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from penstock.control.controllers.base import Amount, Controller, Reading

MINUTE_S = 60.0
LATE = 1.1
"""Results are late from this many targets on: around the target itself they lie half of the time."""


@dataclass(slots=True)
class Safe:
    """`controller`, with three promises.

    A reading that cannot be (NaN, a negative load or delay, no cost though tuples come) is not shown to the controller:
    the last good drop rate stays, and `why` says what was wrong.

    What is kept changes by at most `most_step` times the lanes a period, counted from what the lanes can do: shedding
    that answers to ten times the load is at once what it has to be, a glitch takes half of the results at most.

    The drop rate is restful: changes of less than the share `band` of what is kept are not made, and it turns at most
    `most_turns` times a minute. Past that it stays, unless results are late or the change is as `large` a share.

    >>> from penstock.control.controllers.aurora import Aurora
    >>> safe = Safe(Aurora())
    >>> safe.step(Reading(now_s=0, period_s=0.5, input_load=1.0, queued_load=0, target_s=2)).excess
    0.19...
    >>> safe.step(Reading(now_s=1, period_s=0.5, input_load=float("nan"), queued_load=0, target_s=2))
    Amount(excess=0.19..., why='kept: the input load is nan')
    """

    controller: Controller
    most_step: float = 0.5
    band: float = 0.01
    large: float = 0.5
    most_turns: int = 20
    _input_load: float = 0.0
    _rate: float = 0.0
    _rising: bool | None = None
    _turns: deque[float] = field(default_factory=deque)

    @property
    def name(self) -> str:
        """That of the controller."""
        return self.controller.name

    def step(self, reading: Reading) -> Amount:
        """The controller's amount, as far as it can be believed."""
        wrong = absurd(reading)
        if wrong is not None:
            return Amount(self._rate * self._input_load, f"kept: {wrong}")
        wanted = self.controller.step(reading)
        if not (math.isfinite(wanted.excess) and wanted.excess >= 0):
            return Amount(self._rate * self._input_load, f"kept: {self.name} answered {wanted.excess}")
        load = reading.input_load
        asked = min(1.0, wanted.excess / load) if load else 0.0
        bounded = self._bounded(asked, reading)
        rate = self._calm(bounded, reading)
        self._input_load, self._rate = load, rate
        told = "; bounded" if bounded != asked else "; calmed" if rate != bounded else ""
        return Amount(rate * load, wanted.why + told)

    def _bounded(self, rate: float, reading: Reading) -> float:
        """`rate`, so that what is kept stays near what was kept."""
        load, lanes = reading.input_load, reading.lanes
        before = (1 - self._rate) * self._input_load
        least = min(before, lanes) - self.most_step * lanes
        most = max(before, lanes) + self.most_step * lanes if self._rate else load
        kept = (1 - rate) * load
        if least <= kept <= most or not load:
            return rate
        return min(1.0, max(0.0, 1 - (least if kept < least else most) / load))

    def _calm(self, rate: float, reading: Reading) -> float:
        change = rate - self._rate
        share = abs(change) / max(1e-9, 1 - self._rate)
        if share < self.band and (rate or not self._rate):
            return self._rate
        rising, late = change > 0, reading.delay_s > LATE * reading.target_s
        turned = self._rising not in (None, rising)
        while self._turns and self._turns[0] < reading.now_s - MINUTE_S:
            self._turns.popleft()
        if turned and len(self._turns) >= self.most_turns and share < self.large and not (rising and late):
            return self._rate
        if turned:
            self._turns.append(reading.now_s)
        self._rising = rising
        return rate


def absurd(reading: Reading) -> str | None:
    """What cannot be about a reading; None where nothing is.

    >>> absurd(Reading(now_s=0, period_s=0.5, input_load=1, queued_load=-3, target_s=2))
    'the queued load is -3'
    """
    for name, value in (("input load", reading.input_load), ("queued load", reading.queued_load)):
        if not (math.isfinite(value) and value >= 0):
            return f"the {name} is {value:g}"
    for name, value in (("target", reading.target_s), ("headroom", reading.headroom), ("period", reading.period_s)):
        if not (math.isfinite(value) and value > 0):
            return f"the {name} is {value:g}"
    if reading.delay_s < 0 or reading.p99_s < 0:
        return f"the response time is {min(reading.delay_s, reading.p99_s):g} s"
    if reading.entered > 0 and reading.input_load == 0:
        return f"{reading.entered:.0f} tuples came in and cost nothing"
    return None
