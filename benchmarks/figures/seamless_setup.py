"""The set-up of Pham, Chrysanthis and Labrinidis, section IV, in the lane under virtual time.

Physical queues before every operator, round-robin scheduling, a stated cost for each operator, shedding at the sources
alone. The processor gives the lane `SYSTEM` of its time, as an operating system would, and half of that once background
jobs run.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from penstock.control.change_gate import ChangeGate
from penstock.control.controllers import Amount, Controller, Reading, Safe
from penstock.control.delay import Delay
from penstock.control.loop import Loop
from penstock.control.promise import Promise
from penstock.control.steer import QUEUES_BAND, QUEUES_TURNS
from penstock.lane.clock import SharedClock
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.plan.drops import Location, RandomDrop
from penstock.plan.network import Network
from penstock.plan.nodes import Source
from penstock.plan.running import Plan
from penstock.shed import Shedding
from penstock.stats.batches import BatchStatistics, DelayStatistics, Points
from penstock.stats.load import LoadModel
from penstock.stats.snapshot import Snapshot, StreamStatistics

TARGET_S, PERIOD_S, SYSTEM = 2.0, 0.5, 0.97
SECOND_US = 1_000_000
# Values of the stream's one column lie below this.
LARGEST = 1 << 30
# Parts of a control period after which what has come goes in.
QUANTA = 10
Share = Callable[[float], float]
Given = TypeVar("Given")
Found = TypeVar("Found")


def alone(now: float) -> float:
    """What the processor gives while nothing else runs."""
    return SYSTEM


def taken_from(step_s: float) -> Share:
    """Background jobs take half of the processor from `step_s` on (Pham V-A1: 100 s)."""
    return lambda now: SYSTEM if now < step_s else SYSTEM / 2


def in_parallel(work: Callable[[Given], Found], given: Sequence[Given]) -> list[Found]:
    """The results of `work`, two at a time."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(work, given))


@dataclass(frozen=True, slots=True)
class Track:
    """What one run was like: per control period its end, the mean and the largest response time of its results (NaN
    without any), and the headroom believed in; and how many tuples came and were dropped."""

    now_s: Array
    mean_s: Array
    largest_s: Array
    headroom: Array
    came: int
    dropped: int

    @property
    def loss(self) -> float:
        """The share of the input that was dropped."""
        return self.dropped / self.came

    def violations(self) -> tuple[float, float]:
        """By how much the response time lay above the target: at most, and on average over the control periods."""
        over = np.maximum(self.mean_s[np.isfinite(self.mean_s)] - TARGET_S, 0.0)
        return float(over.max(initial=0.0)), float(over.mean()) if len(over) else 0.0

    def mean_between(self, start_s: float, end_s: float) -> float:
        """The average response time of the periods that end in this time."""
        inside = (self.now_s > start_s) & (self.now_s <= end_s) & np.isfinite(self.mean_s)
        return float(self.mean_s[inside].mean())


@dataclass(frozen=True, slots=True)
class AtTheSource:
    """Drops tuples of `s` at its source operator, each with the same probability (Pham IV-A)."""

    seed: int = 0
    name: str = "at the source"

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """The share of the input's load that `excess` is."""
        whole = load.load()
        rate = min(1.0, excess / whole) if whole > 0 else 0.0
        source = next(node for node in load.nodes if isinstance(node, Source))
        drops = ((Location(source), RandomDrop(rate, self.seed)),) if rate > 0 else ()
        return Shedding(drops, saved=rate * whole)


class Watched:
    """A controller whose belief about the headroom is noted at every step."""

    def __init__(self, controller: Controller, configured: float) -> None:
        self.controller, self.configured = controller, configured
        self.name = controller.name
        self.seen: list[float] = []

    def step(self, reading: Reading) -> Amount:
        """What the controller says."""
        amount = self.controller.step(reading)
        learned = getattr(self.controller, "headroom", None)
        self.seen.append(self.configured if learned is None else learned.value)
        return amount


class Run:
    """One run of `network` over the tuples that come at `instants` (microseconds) on the stream `s`."""

    def __init__(self, network: Network, instants: Array, controller: Controller, headroom: float,
                 share: Share = alone, train_rows: int = 500, seed: int = 0) -> None:  # fmt: skip
        self.clock = SharedClock(share)
        self.lane = Lane(network, scheduler="round-robin", train_rows=train_rows, clock=self.clock, optimized=False)
        self.watched = Watched(controller, headroom)
        promise = Promise(network, AtTheSource(seed), headroom=headroom)
        strategy = Delay(promise, Safe(self.watched, band=QUEUES_BAND, most_turns=QUEUES_TURNS))
        self.loop = Loop(Plan(network), [strategy], ChangeGate())
        self.loop.step(Snapshot(0, 0.0))
        self.due = instants
        values = np.random.default_rng(seed).integers(0, LARGEST, len(instants))
        self.train = Train([Vector(values)], instants, seq=np.arange(len(instants)))
        self.taken = 0
        self.names = [q.name for q in network.queries]
        self.answers: list[tuple[str, int, Points]] = []
        self.rows: list[tuple[float, float, float, float]] = []

    def to(self, end_s: float) -> Track:
        """The run until `end_s`, whatever then still waits."""
        period = 0
        while self.clock.now() < end_s:
            period += 1
            for quantum in range(1, QUANTA + 1):
                self._quantum((period - 1 + quantum / QUANTA) * PERIOD_S)
            self._control(period)
        dropped = sum(d.dropped for d in self.lane.snapshot().drops)
        return Track(*np.array(self.rows).T, came=self.taken, dropped=dropped)

    def _quantum(self, until_s: float) -> None:
        """What has come goes in, operators run, results are taken."""
        now_us = round(self.clock.now() * SECOND_US)
        first, self.taken = self.taken, int(np.searchsorted(self.due, now_us, side="right"))
        self.lane.push("s", self.train.slice(first, self.taken), now_us + 1)
        if not self.lane.work(until_s, whole=True):
            self.clock.wait_until(until_s)
        now_us = round(self.clock.now() * SECOND_US)
        for name in self.names:
            for train in self.lane.take(name):
                self.answers.append((name, now_us, train.ts))

    def _control(self, period: int) -> None:
        """Once a period: what was measured, and the drops of the next one."""
        times = [(now_us - ts) / SECOND_US for _, now_us, ts in self.answers]
        seconds = np.concatenate(times) if times else np.full(1, np.nan)
        batch = BatchStatistics(period, 0, delays=tuple(self._delays()))
        streams = [StreamStatistics("s", self.taken, 0, 0, 0, 0, 0, None)]
        snapshot = replace(self.lane.snapshot(streams), batch=batch)
        self.lane.adopt(self.loop.step(snapshot))
        self.answers.clear()
        self.rows.append((self.clock.now(), float(seconds.mean()), float(seconds.max()), self.watched.seen[-1]))

    def _delays(self) -> Iterator[DelayStatistics]:
        """Of each query that had results."""
        found: dict[str, list[Array]] = {}
        for name, now_us, ts in self.answers:
            found.setdefault(name, []).append(ts - now_us)
        for name, parts in found.items():
            listed: list[Points] = [(len(part), part) for part in parts]
            yield DelayStatistics.of(name, 0, listed)
