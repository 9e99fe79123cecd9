"""CTRL: the virtual queue under feedback control (Tu et al. 2006; Pham II-B2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.control.controllers.base import Amount, Reading, known
from penstock.control.controllers.feedback import Feedback


@dataclass(slots=True)
class Ctrl:
    """Counts the tuples that come in and those that leave; what is between is the virtual queue, and the delay is its
    length times the cost of a tuple over a headroom that somebody has tuned (Pham equation 3):

        y(k) = c q(k-1) / H        q(k) = q(k-1) + f_in T - f_out T

    Of a tuple that comes in it expects exactly one that leaves. Shared operators and joins make several of one,
    aggregates make one of many: then the virtual queue has nothing to do with the real ones, and CTRL is blind.

    | Pham, Tu | here       | unit   |
    |----------|------------|--------|
    | c        | `cost_s`   | s      |
    | H        | `headroom` | s/s    |
    | q        | `_queue`   | tuples |

    What may come in is u(k) c + f_out c, with f_out as last measured: so a wrong headroom spoils the estimate of the
    delay and nothing else, and the delay settles at target x (tuned / true headroom).
    """

    feedback: Feedback = field(default_factory=Feedback)
    name: str = "ctrl"
    _queue: float = 0.0

    @property
    def virtual_queue(self) -> float:
        """Tuples between in and out, as far as it can tell."""
        return self._queue

    def step(self, reading: Reading) -> Amount:
        """What its feedback does not admit."""
        period, cost = reading.period_s, known(reading.cost_s, 0.0)
        entered, left = known(reading.entered, 0.0), known(reading.left, 0.0)
        self._queue = max(0.0, self._queue + entered - left)
        worked = left * cost if self._queue > 0 else reading.headroom * period
        delay = self._queue * cost / reading.headroom
        admitted = self.feedback.admit(delay, reading.target_s, reading.headroom, worked)
        coming = reading.input_load * period
        self.feedback.came(min(admitted, coming), worked, self._queue * cost)
        excess = max(0.0, coming - admitted) / period
        return Amount(excess, f"virtual queue {self._queue:.0f}, delay {delay:.3g} s of {reading.target_s:.3g} s")
