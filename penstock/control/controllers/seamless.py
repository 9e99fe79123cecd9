"""SEaMLESS: queued load under feedback control, with a headroom that adjusts itself (Pham III). The default."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.control.controllers.base import Amount, Reading, known
from penstock.control.controllers.feedback import Feedback
from penstock.control.controllers.headroom import Headroom
from penstock.control.controllers.spread import Spread


@dataclass(slots=True)
class Seamless:
    """Like CTRL, but the queue is the real one, in processor-seconds, and the headroom is learned.

    | Pham         | here                   | unit |                                                            |
    |--------------|------------------------|------|------------------------------------------------------------|
    | qL, eq. 4    | `reading.queued_load`  | s    | queue lengths times load coefficients: any network will do |
    | y, eq. 5     | qL / H                 | s    | the estimated response time                                |
    | u, eq. 6     | `feedback`             | s    | load that may be added to the queues                       |
    | v            | `admitted`             | s    | u + H T                                                    |
    | L - v        | `excess`               | s/s  | what must go (per second)                                  |
    | H            | `headroom.value`       | s/s  |                                                            |

    In place of D stands a setpoint below it (see `Spread`). While the queues stand, H T is replaced by the load that
    was worked off in the last period: it is the same quantity, measured. So an H that is wrong shifts the delay by its
    own factor and by nothing else, which is what D / D' undoes in one adjustment.

    >>> seamless = Seamless()
    >>> seamless.step(Reading(now_s=0, period_s=0.5, input_load=1.5, queued_load=1.6, target_s=2, headroom=0.8))
    Amount(excess=0.7, why='estimated 2 s of 2 s at headroom 0.8')
    """

    periods: int = 30
    feedback: Feedback = field(default_factory=Feedback)
    spread: Spread | None = field(default_factory=Spread)
    headroom: Headroom | None = None
    name: str = "seamless"
    _queued_s: float = 0.0

    def step(self, reading: Reading) -> Amount:
        """What the feedback does not admit."""
        setpoint = reading.target_s if self.spread is None else self.spread.setpoint_s(reading)
        headroom = self._learned(reading, setpoint)
        period, queued = reading.period_s, reading.queued_load
        delay, worked = queued / headroom, self._worked_s(reading, headroom)
        admitted = self.feedback.admit(delay, setpoint, headroom, worked)
        coming = reading.input_load * period
        self.feedback.came(min(admitted, coming), worked, queued)
        self._queued_s = queued
        excess = max(0.0, coming - admitted) / period
        return Amount(excess, f"estimated {delay:.3g} s of {setpoint:.3g} s at headroom {headroom:.3g}")

    def _learned(self, reading: Reading, setpoint_s: float) -> float:
        if self.headroom is None:
            self.headroom = Headroom(reading.headroom, self.periods)
        if reading.shedding > 0:
            self.headroom.observe(reading.delay_s, setpoint_s, reading.lanes)
        return self.headroom.value

    def _worked_s(self, reading: Reading, headroom: float) -> float:
        """H T: as measured where the queues stood all the time, so that the processor was never idle."""
        standing = reading.shedding > 0 and min(self._queued_s, reading.queued_load) > 0
        return known(reading.processed, headroom) * reading.period_s if standing else headroom * reading.period_s
