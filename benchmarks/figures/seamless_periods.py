"""Figure 5 of Pham: how many periods P of shedding the headroom is learned from, in the experiment of figure 3.

Measured twice: with SEaMLESS as it is printed, and with ours beside it. Ours averages the later half of the P periods
and takes H T as it was measured, so that its adjustments are right at once and a short P costs it little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.figures.reporting import Row, at_least, at_most, row
from benchmarks.figures.seamless_flat import FIRST_HEADROOM, STEP_S, trial
from benchmarks.figures.seamless_setup import TARGET_S, in_parallel
from penstock.control.controllers import Controller, Reading, Seamless
from penstock.control.controllers.headroom import Headroom

PERIODS = (1, 5, 10, 20, 30, 40, 60)
OURS = (1, 10, 30, 60)
AFTER_S = 150.0
# By so many percentage points the loss may differ and still be called the same.
SAME_LOSS = 0.1
# What is told of each run, and its unit.
VIOLATION, LOSS = "average violation, s violation", "loss, %"
SPREAD = "spread from 60 s after the step on, s spread"


@dataclass(slots=True)
class WholeAverage(Headroom):
    """Pham III-B to the letter: D' is the average over all of the P periods."""

    def observe(self, delay_s: float, setpoint_s: float, lanes: float) -> None:
        """One period in which shedding was in effect."""
        if not (math.isfinite(delay_s) and delay_s > 0):
            return
        self._sum_s, self._count = self._sum_s + delay_s, self._count + 1
        if self._count >= self.periods:
            factor = setpoint_s * self.periods / self._sum_s
            self.adjust(min(self.most_change, max(1 / self.most_change, factor)), lanes)


@dataclass(slots=True)
class AsPrinted(Seamless):
    """Pham III to the letter, but for the sign of e: v = u + H T with H as it is believed, D' over all P periods, and
    the target itself as the setpoint."""

    name: str = "seamless as printed"

    def __post_init__(self) -> None:
        self.spread, self.headroom = None, WholeAverage(FIRST_HEADROOM, self.periods)

    def _worked_s(self, reading: Reading, headroom: float) -> float:
        return headroom * reading.period_s


@dataclass(frozen=True, slots=True)
class Adjusting:
    """One run in which the background jobs begin `offset_s` after `STEP_S`: somewhere in a period of adjustment."""

    printed: bool
    periods: int
    offset_s: float

    def run(self) -> dict[str, float]:
        """What P makes of it."""
        step_s = STEP_S + self.offset_s
        kind: Controller = AsPrinted(periods=self.periods) if self.printed else Seamless(periods=self.periods)
        track = trial(kind, FIRST_HEADROOM, step_s + AFTER_S, int(self.offset_s), step_s)
        after = track.mean_s[track.now_s > step_s]
        times = track.now_s[track.now_s > step_s] - step_s
        seen = np.isfinite(after)
        back = times[seen & (times > 5) & (after < 1.1 * TARGET_S)]
        return {
            VIOLATION: float(np.maximum(after[seen] - TARGET_S, 0.0).mean()),
            LOSS: 100 * track.loss,
            "distance from the target, s distance": float(np.abs(after[seen] - TARGET_S).mean()),
            SPREAD: float(after[seen & (times > 60)].std()),
            "below 110% of the target after, s": float(back[0]) if len(back) else AFTER_S,
        }


Told = dict[int, dict[str, float]]


def figure_5(full: bool, seed: int) -> list[Row]:
    """For each P the average over when in a period of adjustment the step comes."""
    offsets = np.linspace(0, 20, 13 if full else 6)[:-1]
    given = [Adjusting(printed, p, float(o)) for printed, ps in ((True, PERIODS), (False, OURS)) for p in ps
             for o in offsets]  # fmt: skip
    found = list(zip(given, in_parallel(Adjusting.run, given), strict=True))
    printed, ours = (_means([(g.periods, f) for g, f in found if g.printed is which]) for which in (True, False))
    return [*_rows("as printed", printed), *_rows("ours", ours), *_judged(printed), *_beside(printed, ours)]


def _means(found: list[tuple[int, dict[str, float]]]) -> Told:
    listed: dict[int, list[dict[str, float]]] = {}
    for periods, told in found:
        listed.setdefault(periods, []).append(told)
    return {p: {key: float(np.mean([t[key] for t in told])) for key in told[0]} for p, told in listed.items()}


def _rows(which: str, means: Told) -> list[Row]:
    return [
        row(f"figure 5 {which}, P = {periods}: {key.rpartition(', ')[0]}", value, key.rpartition(", ")[2])
        for periods, told in means.items()
        for key, value in told.items()
    ]


def _judged(means: Told) -> list[Row]:
    """The claims of the paper."""
    violation = {p: told[VIOLATION] for p, told in means.items()}
    loss = {p: told[LOSS] for p, told in means.items()}
    spread = {p: told[SPREAD] for p, told in means.items()}
    best = min(violation, key=lambda p: violation[p])
    inside, outside = ([v for p, v in violation.items() if (20 <= p <= 40) is which] for which in (True, False))
    return [
        row("figure 5 P with the least violation", best, "periods", None, 20.0, 20 <= best <= 40),
        at_least("figure 5 violation at any other P than 20 to 40, over the largest in there",
                 min(outside) / max(inside), "times", 1.0),
        at_most("figure 5 loss at P = 20 to 40, above the least",
                max(loss[p] for p in (20, 30, 40)) - min(loss.values()), "points", SAME_LOSS),
        at_least("figure 5 P = 1 loses more than P = 30", loss[1] - loss[30], "points", SAME_LOSS),
        at_least("figure 5 P = 1 jitters more than P = 30", spread[1] / spread[30], "times", 1.2),
        at_least("figure 5 P = 60 violates more than P = 30", violation[60] / violation[30], "times", 1.2),
    ]  # fmt: skip


def _beside(printed: Told, ours: Told) -> list[Row]:
    ratio = ours[30][VIOLATION] / printed[30][VIOLATION]
    return [at_most("figure 5 P = 30: violation of ours, over that as printed", ratio, "times", 1.0)]
