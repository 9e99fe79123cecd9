"""What a controller sees, and what it answers: plain numbers in, the load that has to go out.

A controller answers "when" and "how much" (Pham II-A, definition 4); where and what goes is the matter of
`penstock.shed`. The same readings in the same order always lead to the same amounts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

MISSING = math.nan
"""Stands for a number that was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One control period, as it looks at the moment of the decision. Loads are processor-seconds; NaN says unknown.

    | name          | unit | Pham       |                                                                            |
    |---------------|------|------------|----------------------------------------------------------------------------|
    | `now_s`       | s    |            | the instant of the decision                                                |
    | `period_s`    | s    | T          | the length of the period that the decision is for                          |
    | `input_load`  | s/s  | L          | what arrives before anything is shed: in the last period, or known ahead   |
    | `queued_load` | s    | qL, eq. 4  | queue lengths times load coefficients                                      |
    | `target_s`    | s    | D          | the delay target                                                           |
    | `headroom`    | s/s  | H          | the headroom that is configured: fixed for some, a beginning for others    |
    | `lanes`       | s/s  |            | the most that H can be                                                     |
    | `delay_s`     | s    | the real y | average response time of what was delivered in the last period             |
    | `p99_s`       | s    |            | its 99th percentile                                                        |
    | `shedding`    | s/s  |            | load that drops took away in the last period                               |
    | `processed`   | s/s  |            | load that was worked off in the last period                                |
    | `entered`     |      | f_in T     | tuples that came past the drops in the last period                         |
    | `left`        |      | f_out T    | tuples that were delivered or discarded in it                              |
    | `cost_s`      | s    | c          | processor-seconds a tuple costs on its whole way                           |
    | `waited_s`    | s    |            | micro-batches: how long the oldest input of this batch has waited          |
    | `took_s`      | s    |            | micro-batches: from the last batch's decision to its commit                |
    | `floor_s`     | s    |            | micro-batches: what a batch takes whose every tuple is shed                |
    | `lead_s`      | s    |            | micro-batches: what lies between the end of one and the start of the next  |
    """

    now_s: float
    period_s: float
    input_load: float
    queued_load: float
    target_s: float
    headroom: float = 0.8
    lanes: float = 1.0
    delay_s: float = MISSING
    p99_s: float = MISSING
    shedding: float = 0.0
    processed: float = MISSING
    entered: float = MISSING
    left: float = MISSING
    cost_s: float = MISSING
    waited_s: float = MISSING
    took_s: float = MISSING
    floor_s: float = 0.0
    lead_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Amount:
    """`excess` processor-seconds per second of the input must go in the coming period, counted from what arrives, not
    from what is shed already; `why` is for the log."""

    excess: float
    why: str


class Controller(Protocol):
    """Decides once a control period."""

    @property
    def name(self) -> str:
        """What users call it."""

    def step(self, reading: Reading) -> Amount:
        """How much has to go until the next step."""


def known(value: float, otherwise: float) -> float:
    """`value`, or `otherwise` where it is not measured.

    >>> known(MISSING, 2.0)
    2.0
    """
    return value if math.isfinite(value) else otherwise


def steps(controller: Controller, readings: Sequence[Reading]) -> list[float]:
    """The amounts for one reading after another."""
    return [controller.step(reading).excess for reading in readings]
