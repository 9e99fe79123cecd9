"""The loop that CTRL and SEaMLESS have in common (Pham equation 6), and what a running system needs besides."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.controllers.gains import CTRL_GAINS, Gains


@dataclass(slots=True)
class Feedback:
    """From the estimated delay to the load that may come in during the next period.

    | Pham   | here         | unit |                                                                            |
    |--------|--------------|------|----------------------------------------------------------------------------|
    | y      | `delay_s`    | s    | the estimate: queued load over headroom                                    |
    | e      | `_error`     | s    | setpoint - y; the last one is e(k-1)                                       |
    | u      | `_added`     | s    | load added to the queues; the last one is u(k-1)                           |
    | v      | the result   | s    | load that may come in                                                      |
    | H T    | `worked_s`   | s    | load that is worked off meanwhile                                          |

    Anti-windup, and bumpless transfer with it: u(k-1) is what the last period did add, where less came in than might
    have or the queues were too short to give away more. So while nothing has to be shed the controller follows the
    plant, and it begins to shed from where the plant is. The first error counts as if it had stood before.

    >>> feedback = Feedback()
    >>> round(feedback.admit(delay_s=2.0, setpoint_s=2.0, headroom=1.0, worked_s=0.5), 3)
    0.5
    >>> round(feedback.admit(delay_s=2.5, setpoint_s=2.0, headroom=1.0, worked_s=0.5), 3)
    0.3
    """

    gains: Gains = CTRL_GAINS
    _error: float | None = None
    _added: float = 0.0

    def admit(self, delay_s: float, setpoint_s: float, headroom: float, worked_s: float) -> float:
        """The processor-seconds that may come in."""
        g, error = self.gains, setpoint_s - delay_s
        before = error if self._error is None else self._error
        self._error = error
        self._added = headroom * (g.b0 * error + g.b1 * before) - g.a * self._added
        return max(0.0, self._added + worked_s)

    def came(self, admitted_s: float, worked_s: float, queued_s: float) -> None:
        """Says what did come in, and what was queued before it."""
        self._added = max(admitted_s - worked_s, -queued_s)
