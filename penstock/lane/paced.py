"""A run in process on a clock: tuples arrive at their times, wait in queues, and are answered when they are.

Time is virtual (only stated costs move it: experiments repeat to the digit) or real. An event arrives when its
timestamp says, none before the one before it; what has arrived is in the queues a `QUANTUM_S` later at the latest. Once
a control period there is a snapshot with the response times of the results since, and a plan for the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np

from penstock.errors import PenstockError, unknown
from penstock.lane.clock import Clock, VirtualClock, WallClock
from penstock.lane.events import Arrival
from penstock.lane.runtime import Lane
from penstock.lane.schedulers import fitting
from penstock.lane.session import Job, Outcome, Session, Steering
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.plan.windows import BEGIN
from penstock.settings import Settings
from penstock.stats.batches import BatchStatistics, DelayStatistics, Points
from penstock.stats.snapshot import StreamStatistics

QUANTUM_S: Final = 0.01
LOOKED_AT: Final = 200
"""Results of a quantum whose response times stand for those of all."""
_SECOND_US: Final = 1_000_000


class PacedClock(Clock, Protocol):
    """A clock on which one can wait."""

    def wait_until(self, instant: float) -> None:
        """Idles until `instant`."""


CLOCKS: Final[Mapping[str, Callable[[], PacedClock]]] = {"virtual": VirtualClock, "wall": WallClock}


def clock_of(wanted: str | PacedClock) -> PacedClock:
    """The clock of that name, or the clock itself."""
    if not isinstance(wanted, str):
        return wanted
    if wanted not in CLOCKS:
        raise PenstockError(unknown("clock", wanted, list(CLOCKS)))
    return CLOCKS[wanted]()


@dataclass(slots=True)
class _Stream:
    """A stream's tuples in one train, and when each arrives."""

    train: Train
    due: Array
    taken: int = 0

    def until(self, now_us: int) -> Train:
        """What has arrived by now and was not taken yet."""
        first, self.taken = self.taken, int(np.searchsorted(self.due, now_us, side="right"))
        return self.train.slice(first, self.taken)


@dataclass(slots=True)
class _Answered:
    """The response times of the results since the last snapshot, by query."""

    due: dict[str, list[tuple[int, Points]]] = field(default_factory=dict)

    def add(self, query: str, ts: Array, now_us: int) -> None:
        chosen = ts if len(ts) <= LOOKED_AT else ts[np.linspace(0, len(ts) - 1, LOOKED_AT).astype(np.int64)]
        self.due.setdefault(query, []).append((now_us, (len(ts), (chosen - now_us).tolist())))

    def statistics(self) -> Iterator[DelayStatistics]:
        """Of each query that had results."""
        for query, parts in self.due.items():
            yield DelayStatistics.of(query, 0, [points for _, points in parts])
        self.due.clear()


class Paced:
    """Runs `job` on a lane by `clock`, under the plans that `steering` chooses; without a `scheduler`, by what its
    queries declare (`penstock.lane.schedulers.fitting`)."""

    def __init__(self, job: Job, clock: PacedClock, scheduler: str | None = None, steering: Steering | None = None,
                 settings: Settings | None = None) -> None:  # fmt: skip
        lane = Lane(job.network, scheduler=scheduler or fitting(job.network), clock=clock, settings=settings)
        self._session = Session(job, lane, None)
        self._lane = lane
        self._clock = clock
        self._period_s = (settings or Settings()).control_period_us / _SECOND_US
        self._steering = steering
        self._answered = _Answered()
        self._streams = {n: self._stream(n, listed) for n, listed in _by_stream(job).items()}
        self._bounds = {name: d.within_us or 0 for name, d in self._session.definitions.items()}
        self._started_s = clock.now()
        self._first_us = min((int(s.due[0]) for s in self._streams.values()), default=0)
        if steering is not None:
            lane.adopt(steering.plan)

    def _stream(self, name: str, listed: Sequence[tuple[int, Arrival]]) -> _Stream:
        due = np.array([due for due, _ in listed], np.int64)
        return _Stream(self._session.train(name, [a for _, a in listed]), due)

    def run(self) -> Outcome:
        """To the end of the input, and until everything that came in is answered."""
        self._session.load(self._session.job.given)
        control_s = self._clock.now() + self._period_s
        while True:
            self._arrive()
            until_s = min(self._clock.now() + QUANTUM_S, control_s)
            busy = self._lane.work(until_s)
            self._collect()
            if self._clock.now() >= control_s:
                self._control()
                control_s += self._period_s
            elif not busy:
                coming_s = self._next_s()
                if coming_s is None:
                    break
                self._clock.wait_until(min(max(coming_s, self._clock.now()), control_s))
        self._session.end()
        self._control()
        return self._session.outcome

    def _now_us(self) -> int:
        return self._first_us + round((self._clock.now() - self._started_s) * _SECOND_US)

    def _next_s(self) -> float | None:
        """When the next tuple comes."""
        coming = [int(s.due[s.taken]) for s in self._streams.values() if s.taken < len(s.due)]
        return None if not coming else self._started_s + (min(coming) - self._first_us) / _SECOND_US

    def _arrive(self) -> None:
        now_us = self._now_us()
        for name, stream in self._streams.items():
            train = stream.until(now_us)
            if len(train):
                self._session.manager.arrive(name, train)
            self._session.manager.heartbeat(name, now_us - self._bounds.get(name, 0) + 1)
        for name, train, progress in self._session.manager.release():
            self._lane.push(name, train, progress)

    def _collect(self) -> None:
        now_us = self._now_us()
        for query, train in self._session.collect():
            self._answered.add(query, train.ts, now_us)

    def _control(self) -> None:
        log = self._session.outcome.log
        batch = BatchStatistics(len(log) + 1, 0, delays=tuple(self._answered.statistics()))
        streams = [self._statistics(name, stream) for name, stream in self._streams.items()]
        snapshot = replace(self._lane.snapshot(streams), batch=batch)
        snapshot = replace(snapshot, now_s=self._clock.now() - self._started_s, profiles=self._lane.profiled())
        log.append(snapshot)
        self._session.sweep()
        if self._steering is not None:
            self._lane.adopt(self._steering.step(snapshot))

    def _statistics(self, name: str, stream: _Stream) -> StreamStatistics:
        seconds = (self._now_us() - self._first_us) / _SECOND_US
        rate = stream.taken / seconds if seconds else None
        return StreamStatistics(name, stream.taken, 0, 0, 0, self._bounds.get(name, 0), self._now_us(), rate)


def _by_stream(job: Job) -> dict[str, list[tuple[int, Arrival]]]:
    """Each stream's tuples and when they arrive, in microseconds: when they are stamped, but in the order given."""
    found: dict[str, list[tuple[int, Arrival]]] = {}
    now = BEGIN
    for arrival in job.given:
        if arrival.ts > BEGIN:
            now = max(now, arrival.ts)
            found.setdefault(arrival.name, []).append((now, arrival))
    return found
