"""When tuples arrive: the arrival processes of workloads, as microseconds from 0, in order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from penstock.errors import Diagnostic, PenstockError
from penstock.operators.columns.vector import Array

SECOND_US: Final = 1_000_000
PERIOD_PAIRS: Final = 64
"""Bursts, with the times between them, that are drawn at once."""
UNITS_US: Final = {"microseconds": 1, "milliseconds": 1000, "seconds": SECOND_US}


class ArrivalProcess(Protocol):
    """Draws arrival instants."""

    def instants(self, until_us: int, random: np.random.Generator) -> Array:
        """The arrivals in [0, `until_us`), int64 and never falling."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One arrival every 1 / `rate_hz` seconds.

    >>> Constant(4).instants(1_000_000, np.random.default_rng(0)).tolist()
    [0, 250000, 500000, 750000]
    """

    rate_hz: float

    def __post_init__(self) -> None:
        _positive("rate", self.rate_hz)

    def instants(self, until_us: int, random: np.random.Generator) -> Array:
        """Evenly spaced."""
        count = math.ceil(until_us * self.rate_hz / SECOND_US)
        instants = (np.arange(count) * (SECOND_US / self.rate_hz)).astype(np.int64)
        return instants[instants < until_us]


@dataclass(frozen=True, slots=True)
class Poisson:
    """Independent arrivals, `rate_hz` a second on average."""

    rate_hz: float

    def __post_init__(self) -> None:
        _positive("rate", self.rate_hz)

    def instants(self, until_us: int, random: np.random.Generator) -> Array:
        """A Poisson number of instants, each anywhere."""
        return np.sort(random.integers(0, until_us, random.poisson(until_us * self.rate_hz / SECOND_US)))


@dataclass(frozen=True, slots=True)
class Bursty:
    """Bursts of `on_hz` that last `on_s` seconds on average, and between them `off_hz` for `off_s` seconds.

    The lengths are exponential, or with `tail` Pareto with that exponent: 1 < tail < 2 gives the bursts of all lengths
    that network traffic shows, whose variance is infinite. Within a period arrivals are Poisson.
    """

    on_hz: float
    on_s: float
    off_s: float
    off_hz: float = 0.0
    tail: float | None = None

    def __post_init__(self) -> None:
        _positive("rate of a burst", self.on_hz)
        _positive("length of a burst", self.on_s)
        _positive("time between bursts", self.off_s)
        if self.off_hz < 0:
            raise PenstockError(f"the rate between bursts is {self.off_hz}: it cannot be negative")
        if self.tail is not None and self.tail <= 1:
            raise PenstockError(Diagnostic(f"tail = {self.tail} has no mean", help="take a tail above 1, such as 1.5"))

    def instants(self, until_us: int, random: np.random.Generator) -> Array:
        """Period by period, beginning with a burst."""
        ends = self._period_ends(until_us, random)
        starts = np.concatenate([[0.0], ends])[: len(ends)]
        rates = np.where(np.arange(len(ends)) % 2 == 0, self.on_hz, self.off_hz)
        counts = random.poisson(rates * (ends - starts) / SECOND_US)
        within = random.random(counts.sum()) * np.repeat(ends - starts, counts) + np.repeat(starts, counts)
        instants = np.sort(within.astype(np.int64))
        return instants[instants < until_us]

    def _period_ends(self, until_us: int, random: np.random.Generator) -> Array:
        means = np.tile([self.on_s * SECOND_US, self.off_s * SECOND_US], PERIOD_PAIRS)
        ends = np.empty(0)
        while not len(ends) or ends[-1] < until_us:
            ends = np.concatenate([ends, np.cumsum(means * self._lengths(len(means), random)) + ends[-1:].sum()])
        return ends[: int(np.searchsorted(ends, until_us)) + 1]

    def _lengths(self, count: int, random: np.random.Generator) -> Array:
        """Lengths with mean 1."""
        if self.tail is None:
            return random.exponential(size=count)
        lengths: Array = (1 + random.pareto(self.tail, count)) * (self.tail - 1) / self.tail
        return lengths


@dataclass(frozen=True, slots=True)
class Recorded:
    """The instants in a file, one number a line, counted from the first; `speed` 2 replays them in half the time."""

    path: Path
    unit: str = "milliseconds"
    speed: float = 1.0

    def __post_init__(self) -> None:
        _positive("speed", self.speed)
        if self.unit not in UNITS_US:
            raise PenstockError(Diagnostic(f"unknown unit '{self.unit}'", notes=(f"known: {', '.join(UNITS_US)}",)))

    def instants(self, until_us: int, random: np.random.Generator) -> Array:
        """As recorded, in order."""
        numbers = np.sort(self._numbers())
        instants: Array = ((numbers - numbers[:1]) * (UNITS_US[self.unit] / self.speed)).astype(np.int64)
        return instants[instants < until_us]

    def _numbers(self) -> Array:
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except OSError as error:
            raise PenstockError(f"cannot read arrival instants: {error}") from None
        return np.array([_number(self.path, i, line) for i, line in enumerate(lines, 1) if line.strip()], np.float64)


def _number(path: Path, line: int, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise PenstockError(f"{path}:{line}  '{text.strip()}' is no instant: one number a line is needed")
    return number


def _positive(what: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise PenstockError(f"the {what} is {value}: it must be positive")
