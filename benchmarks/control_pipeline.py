"""Delay targets in the real pipeline: bursts of 1.2 to 10 times the measured capacity, at D = 2 s (in full: 1 and 5 s).

The work is that of `penstock demo`: a Python function row by row, a regular expression, a join with a relation. The
capacity is what the same query works off, unshed, from a source that delivers more than any machine can; it is measured
before each burst anew, since what a machine can do moves by some percent within minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from pyarrow import parquet

from benchmarks.control_cluster import MEMORY, standalone
from benchmarks.figures.reporting import Row, at_least, at_most, row
from penstock.console.demo import MEASURED, late_p99
from penstock.console.overload import Phase, Seen, adds_up, capacity, kept_rate, overloaded, resumed

LIMITS: Final = (
    "response times are those of whole batches: a batch's 99th percentile stands for its results",
    "the rows that a batch kept are counted in the second in which it was done",
    "the control plane is the driver's Python: what Java does to answer it is not in its processor time",
)
CALM_S: Final = 5.0
CALM: Final = 0.3
SHORT_S: Final = 40.0
LONG_S: Final = 120.0
SOAK_S: Final = 900.0
SETTLING_S: Final = 10.0
AFTER_S: Final = 10.0
STOPPED_S: Final = 20.0
"""How long the run stands still whose backlog is then met."""
COLD_S: Final = 5.0
"""Seconds of a fresh process until it has loaded and compiled what it runs."""
FACTORS: Final = ((1.2, 0.93), (2.0, 0.93), (4.0, 0.93), (10.0, 0.85))
SLICES_S: Final = 10
"""Slices of a replayed trace in a second."""
CHECKED: Final = "rows in = kept + dropped in every batch"


def figures(full: bool, seed: int) -> Iterator[Row]:
    """All figures: of each burst its p99, what was delivered, and how long shedding outlived it."""
    with tempfile.TemporaryDirectory(prefix="penstock-control-") as folder:
        bench = Bench(Path(folder), LONG_S if full else SHORT_S, seed)
        for factor, least in FACTORS:
            yield from bench.burst(factor, 2.0, least)
        yield from bench.below()
        yield from bench.beside(2.0)
        yield from bench.stopped()
        yield from bench.rival()
        if full:
            for delay_s in (1.0, 5.0):
                yield from bench.burst(2.0, delay_s, 0.93)
            yield from bench.soak()
            _end_session()
            with standalone(Path(folder) / "cluster") as master:
                yield from bench.burst(2.0, 2.0, 0.93, master)
        yield from bench.told()


@dataclass(slots=True)
class Bench:
    """Runs the query in `place`, with bursts of `burst_s`; `rates` are the capacities that were measured."""

    place: Path
    burst_s: float
    seed: int
    rates: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def capacity(self, master: str = "local[2]") -> float:
        """Rows a second, now."""
        extra = None if master.startswith("local") else MEMORY
        seen = overloaded(self.place / "capacity", MEASURED, None, _nobody, 0.0, self.seed, master, extra=extra)
        self.rates.append(capacity(seen))
        return self.rates[-1]

    def phases(self, rate: float, factor: float, calm_after: bool = True) -> tuple[Phase, ...]:
        """Calm, a burst of so many times `rate`, and calm again."""
        after = ((AFTER_S, CALM * rate),) if calm_after else ()
        return ((CALM_S, CALM * rate), (self.burst_s, factor * rate), *after)

    def burst(self, factor: float, delay_s: float, least: float, master: str = "local[2]") -> Iterator[Row]:
        """A burst: answers in time, as many as there can be, and all of them again soon after it."""
        rate = self.capacity(master)
        extra = None if master.startswith("local") else MEMORY
        phases = self.phases(rate, factor)
        seen = overloaded(self.place / "burst", phases, delay_s, _nobody, 1.0, self.seed, master, extra=extra)
        _check(seen)
        self.shares.append(sum(s.control_s for s in seen) / sum(s.processor_s for s in seen))
        where = "" if master.startswith("local") else ", two workers"
        about = f"{factor:g} times capacity, D = {delay_s:g} s{where}: "
        start_s, end_s = CALM_S + SETTLING_S, CALM_S + self.burst_s
        yield at_most(about + "p99 of response times", _p99(seen, start_s, end_s), "s", delay_s, CHECKED)
        yield at_least(about + "delivered load", kept_rate(seen, start_s, end_s) / rate, "of capacity", least, CHECKED)
        last = max((s.at_s for s in seen if s.kept < s.came and s.at_s > end_s), default=end_s)
        yield at_most(about + "shedding after the burst", last - end_s, "s", 5.0, CHECKED)

    def below(self) -> Iterator[Row]:
        """What can be worked off is not shed."""
        phases = self.phases(self.capacity(), 0.8, calm_after=False)
        seen = overloaded(self.place / "below", phases, 2.0, _nobody, 1.0, self.seed)
        _check(seen)
        for about, from_s in (("all of it", CALM_S), ("steady", CALM_S + SETTLING_S)):
            chosen = [s for s in seen if s.at_s > from_s]
            shed = 1 - sum(s.kept for s in chosen) / max(1, sum(s.came for s in chosen))
            bar = 0.001 if from_s == CALM_S else 0.0
            yield at_most(f"0.8 times capacity, {about}: shed", shed, "of the rows", bar, CHECKED)

    def beside(self, factor: float) -> Iterator[Row]:
        """The same burst without shedding, and with a static cap of what a second of capacity is."""
        rate = self.capacity()
        phases = self.phases(rate, factor, calm_after=False)
        start_s, end_s = CALM_S + SETTLING_S, CALM_S + self.burst_s
        cap = max(1, round(SLICES_S / factor))
        for name, limit in (("without shedding", None), (f"with a cap of {cap} slices a batch", cap)):
            seen = overloaded(self.place / "beside", phases, None, _nobody, 1.0, self.seed, cap=limit)
            about = f"{factor:g} times capacity {name}: "
            yield row(about + "p99 of response times", _p99(seen, start_s, end_s), "s")
            yield row(about + "delivered load", kept_rate(seen, start_s, end_s) / rate, "of capacity")

    def stopped(self) -> Iterator[Row]:
        """A run that was stopped meets its target again at once, and says what it skipped."""
        rate = self.capacity()
        phases = ((CALM_S + STOPPED_S + self.burst_s + SETTLING_S, 0.8 * rate),)
        place = self.place / "stopped"
        overloaded(place, phases, 2.0, _nobody, CALM_S - phases[0][0], self.seed)
        came = _arrive(place, STOPPED_S)
        seen = resumed(place, self.burst_s, 2.0, _nobody)
        about = f"restart after {STOPPED_S:g} s with what came meanwhile: "
        yield at_most(about + "p99 of response times", _p99(seen, COLD_S, self.burst_s), "s", 2.0, CHECKED)
        given_up = seen[-1].dropped
        yield row(about + "given up since, and counted", given_up / came, "of that", holds=given_up > 0)

    def rival(self) -> Iterator[Row]:
        """A process takes one of the cores from the middle of the burst on."""
        phases = self.phases(self.capacity(), 2.0, calm_after=False)
        half_s = CALM_S + self.burst_s / 2
        with _rival() as starts:
            seen = overloaded(self.place / "rival", phases, 2.0, lambda s: starts(s.at_s >= half_s), 1.0, self.seed)
        _check(seen)
        about = "2 times capacity beside a process that takes a core: "
        p99_s = _p99(seen, half_s + SETTLING_S, CALM_S + self.burst_s)
        yield at_most(about + "p99 of response times", p99_s, "s", 2.0, CHECKED)

    def soak(self) -> Iterator[Row]:
        """Bursts of random height and length, one after another: memory stays what it was, no row is lost sight of."""
        random, rate = np.random.default_rng(self.seed), self.capacity()
        phases: list[Phase] = []
        while sum(s for s, _ in phases) < SOAK_S:
            phases += [(float(random.uniform(10, 30)), CALM * rate),
                       (float(random.uniform(15, 40)), float(random.uniform(1.2, 6)) * rate)]  # fmt: skip
        memory: list[tuple[float, int]] = []
        place = self.place / "soak"
        seen = overloaded(place, phases, 2.0, lambda s: memory.append((s.at_s, _resident())), 1.0, self.seed)
        _check(seen)
        settled = [m for at, m in memory if SOAK_S / 3 < at < SOAK_S / 2]
        grown = max(m for at, m in memory if at > 0.8 * SOAK_S) / max(settled) - 1
        yield at_most("soak: growth of memory from the middle to the end", grown, "of it", 0.1, CHECKED)
        late = sum(s.p99_s is not None and s.p99_s > 2.0 for s in seen if not _begins(phases, s.at_s)) / len(seen)
        yield at_most("soak: late batches past the bursts' first seconds", late, "of all", 0.01, CHECKED)

    def told(self) -> Iterator[Row]:
        """What the bursts had in common."""
        apart = max(self.rates) - min(self.rates)
        middle = median(self.rates)
        yield row("capacity of the measured query", middle, "rows/s", apart, 20_000.0, middle <= 20_000)
        yield at_most("control plane in the bursts", max(self.shares), "of the processor time", 0.02)


def _arrive(place: Path, seconds: float) -> int:
    """Has the slices of a replay arrive for so long while nobody reads them; the rows that came."""
    (pending,) = place.glob("checkpoint/sources/**/pending")
    arrived = pending.with_name("arrived")
    reached_us = max(int(p.stem) for p in arrived.iterdir())
    start_s, came = time.time() - reached_us / 1e6, 0
    for piece in sorted(pending.iterdir()):
        due_s = start_s + int(piece.stem) / 1e6
        if int(piece.stem) > reached_us + seconds * 1e6:
            break
        came += parquet.read_metadata(piece).num_rows
        os.utime(piece, (due_s, due_s))
        piece.rename(arrived / piece.name)
    time.sleep(seconds)
    return came


def _p99(seen: Sequence[Seen], start_s: float, end_s: float) -> float:
    p99_s = late_p99(seen, start_s, end_s)
    return float("inf") if p99_s is None else p99_s


def _begins(phases: Sequence[Phase], at_s: float) -> bool:
    """True in the first seconds of a burst, and of the run."""
    starts = np.cumsum([0.0, *(s for s, _ in phases)])
    return bool(np.any((at_s >= starts) & (at_s < starts + SETTLING_S)))


def _resident() -> int:
    """Bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _check(seen: Sequence[Seen]) -> None:
    if not adds_up(seen):
        raise AssertionError("rows that came are not those that were kept and those that were dropped")


def _end_session() -> None:
    """Ends the session of the runs so far, so that the next may be elsewhere."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()


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


def _nobody(seen: Seen) -> None:
    """Nobody looks on."""
