"""The headroom factor that adjusts itself (Pham III-B)."""

from __future__ import annotations

import math
from dataclasses import dataclass

LEAST = 0.01
"""The share of one processor below which the headroom does not fall: it has to be able to rise again."""


@dataclass(slots=True)
class Headroom:
    """The factor H, learned from response times.

    While load is shed the real response time converges to some D'. If D' is not the target, the estimate of the delay
    is wrong by just that factor, so after `periods` periods in which shedding was in effect H becomes H D / D'. Other
    periods say nothing: delays then rise or fall, or are too small to measure anything by. Of the periods the later
    half is averaged: in the first one the response times still converge.

    | Pham | here      | unit |                                          |
    |------|-----------|------|------------------------------------------|
    | H    | `value`   | s/s  |                                          |
    | P    | `periods` |      | periods in which shedding was in effect  |
    | D'   |           | s    | what the response times converge to      |

    `most_change` bounds one adjustment: a wrong measurement must not cost more than a few periods.

    >>> headroom = Headroom(0.8, periods=2)
    >>> for delay_s in (1.1, 1.6):
    ...     headroom.observe(delay_s, setpoint_s=2.0, lanes=1.0)
    >>> headroom.value
    1.0
    """

    value: float
    periods: int = 30
    most_change: float = 3.0
    _sum_s: float = 0.0
    _count: int = 0

    def observe(self, delay_s: float, setpoint_s: float, lanes: float) -> None:
        """One period in which shedding was in effect."""
        if not (math.isfinite(delay_s) and delay_s > 0):
            return
        self._count += 1
        if self._count > self.periods // 2:
            self._sum_s += delay_s
        if self._count >= self.periods:
            factor = setpoint_s * (self.periods - self.periods // 2) / self._sum_s
            self.adjust(min(self.most_change, max(1 / self.most_change, factor)), lanes)

    def adjust(self, factor: float, lanes: float) -> None:
        """H times `factor`, inside what there is; the average begins anew."""
        self.value = min(lanes, max(LEAST, self.value * factor))
        self._sum_s, self._count = 0.0, 0
