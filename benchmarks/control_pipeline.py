"""Delay targets in the real pipeline: bursts of 1.2 to 10 times the measured capacity, at D = 2 s (in full: 1 and 5 s).

The work is that of `penstock demo`: a Python function row by row, a regular expression, a join with a relation. The
capacity is what the same query works off, unshed, from a source that delivers more than any machine can.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from penstock.console.demo import MEASURED, late_p99
from penstock.console.overload import Seen, adds_up, capacity, kept_rate, overloaded

LIMITS: Final = (
    "response times are those of whole batches: a batch's 99th percentile stands for its results",
    "the rows that a batch kept are counted in the second in which it was done",
)
CALM_S: Final = 5.0
SHORT_S: Final = 40.0
LONG_S: Final = 120.0
SOAK_S: Final = 900.0
SETTLING_S: Final = 10.0
AFTER_S: Final = 10.0
FACTORS: Final = ((1.2, 0.93), (2.0, 0.93), (4.0, 0.93), (10.0, 0.85))
Figure = dict[str, Any]


def figures(full: bool, seed: int) -> Iterator[Figure]:
    """All figures: of each burst its p99, what was delivered, and how long shedding outlived it."""
    burst_s = LONG_S if full else SHORT_S
    with tempfile.TemporaryDirectory(prefix="penstock-control-") as folder:
        place = Path(folder)
        rate = capacity(overloaded(place / "capacity", MEASURED, None, _nobody, 0.0, seed))
        yield _figure("capacity of the measured query", rate, "rows/s", 20_000.0, rate <= 20_000)
        for factor, least in FACTORS:
            yield from _burst(place, rate, factor, 2.0, burst_s, seed, least)
        yield from _below(place, rate, burst_s, seed)
        yield from _competing(place, rate, burst_s, seed)
        for delay_s in (1.0, 5.0) if full else ():
            yield from _burst(place, rate, 2.0, delay_s, burst_s, seed, 0.93)
        if full:
            yield from soak(place, rate, SOAK_S, seed)


def _burst(place: Path, rate: float, factor: float, delay_s: float, burst_s: float, seed: int,
           least: float) -> Iterator[Figure]:  # fmt: skip
    calm = 0.3 * rate
    phases = ((CALM_S, calm), (burst_s, factor * rate), (AFTER_S, calm))
    seen = overloaded(place / "burst", phases, delay_s, _nobody, 1.0, seed)
    about = f"{factor:g} times capacity, D = {delay_s:g} s: "
    start_s, end_s = CALM_S + SETTLING_S, CALM_S + burst_s
    _check(seen)
    yield from _kept_in_time(about, seen, start_s, end_s, delay_s)
    delivered = kept_rate(seen, start_s, end_s) / rate
    yield _figure(about + "delivered load", delivered, "of capacity", least, delivered >= least)
    last = max((s.at_s for s in seen if s.kept < s.came and s.at_s > end_s), default=end_s)
    yield _figure(about + "shedding after the burst", last - end_s, "s", 5.0, last - end_s <= 5)


def _below(place: Path, rate: float, burst_s: float, seed: int) -> Iterator[Figure]:
    seen = overloaded(place / "below", ((CALM_S, 0.3 * rate), (burst_s, 0.8 * rate)), 2.0, _nobody, 1.0, seed)
    chosen = [s for s in seen if s.at_s > CALM_S]
    shed = 1 - sum(s.kept for s in chosen) / max(1, sum(s.came for s in chosen))
    yield _figure("0.8 times capacity: shed", shed, "of the rows", 0.001, shed <= 0.001)


def _competing(place: Path, rate: float, burst_s: float, seed: int) -> Iterator[Figure]:
    """A process takes one of the cores from the middle of the burst on."""
    phases = ((CALM_S, 0.3 * rate), (burst_s, 2 * rate))
    half_s = CALM_S + burst_s / 2
    with _rival() as starts:
        seen = overloaded(place / "rival", phases, 2.0, lambda s: starts(s.at_s >= half_s), 1.0, seed)
    about = "2 times capacity beside a process that takes a core: "
    yield from _kept_in_time(about, seen, half_s + SETTLING_S, CALM_S + burst_s, 2.0)


def soak(place: Path, rate: float, seconds: float, seed: int) -> Iterator[Figure]:
    """Bursts of random height and length, one after another: memory stays what it was, and no row is lost sight of."""
    random = np.random.default_rng(seed)
    phases: list[tuple[float, float]] = []
    while sum(s for s, _ in phases) < seconds:
        phases += [(float(random.uniform(10, 30)), 0.3 * rate),
                   (float(random.uniform(15, 40)), float(random.uniform(1.2, 6)) * rate)]  # fmt: skip
    memory: list[tuple[float, int]] = []
    seen = overloaded(place / "soak", phases, 2.0, lambda s: memory.append((s.at_s, _resident())), 1.0, seed)
    _check(seen)
    settled = [m for at, m in memory if seconds / 3 < at < seconds / 2]
    grown = max(m for at, m in memory if at > 0.8 * seconds) / max(settled) - 1
    yield _figure("soak: growth of memory from the middle to the end", grown, "of it", 0.1, grown <= 0.1)
    late = sum(s.p99_s is not None and s.p99_s > 2.0 for s in seen if not _begins(phases, s.at_s)) / len(seen)
    yield _figure("soak: late batches past the bursts' first seconds", late, "of all", 0.01, late <= 0.01)


def _begins(phases: Sequence[tuple[float, float]], at_s: float) -> bool:
    """True in the first seconds of a burst, and of the run."""
    starts = np.cumsum([0.0, *(s for s, _ in phases)])
    return bool(np.any((at_s >= starts) & (at_s < starts + SETTLING_S)))


def _resident() -> int:
    """Bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _check(seen: Sequence[Seen]) -> None:
    if not adds_up(seen):
        raise AssertionError("rows that came are not those that were kept and those that were dropped")


@contextmanager
def _rival() -> Iterator[Any]:
    """Something that starts a busy process once, when it is first told to."""
    running: list[subprocess.Popen[bytes]] = []

    def starts(now: bool) -> None:
        if now and not running:
            running.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))

    try:
        yield starts
    finally:
        for process in running:
            process.kill()
            process.wait()


def _kept_in_time(about: str, seen: Sequence[Seen], start_s: float, end_s: float, delay_s: float) -> Iterator[Figure]:
    p99_s = late_p99(seen, start_s, end_s)
    value = float("inf") if p99_s is None else p99_s
    yield _figure(about + "p99 of response times", value, "s", delay_s, value <= delay_s)


def _figure(name: str, value: float, unit: str, bar: float | None, holds: bool) -> Figure:
    checked = "rows in = kept + dropped in every batch"
    return {"name": name, "value": value, "unit": unit, "spread": None, "bar": bar, "holds": holds,
            "checked_against": checked}  # fmt: skip


def _nobody(seen: Seen) -> None:
    """Nobody looks on."""
