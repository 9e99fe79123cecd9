"""The input manager (Babu 2.2.5): arrivals in any order become streams in timestamp order, with a promise of progress.

A stream waits for stragglers as long as its skew bound says. The bound is declared (`WITHIN`), or measured: then it is
the largest skew seen so far. Progress is the largest timestamp seen less the bound, or what a heartbeat says, if that
is more. What comes later than that is late: it is counted, and kept, stamped with the stream's current time (the
largest timestamp seen before it), or dropped, as the stream declares. With a declared bound each tuple is judged by
what came before it, so it does not matter how arrivals are cut into batches; with a measured one by the batches before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from penstock.errors import PenstockError, unknown
from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.columns.vector import Array
from penstock.plan.network import StreamDefinition
from penstock.plan.schema import Schema
from penstock.plan.windows import BEGIN, END
from penstock.settings import Settings
from penstock.stats.snapshot import StreamStatistics

_SECOND_US = 1_000_000


class StreamInput:
    """One stream's arrivals. `now` is its current time: the largest timestamp seen."""

    def __init__(self, definition: StreamDefinition, settings: Settings) -> None:
        self.definition = definition
        self.bound_us = settings.skew_us if definition.within_us is None else definition.within_us
        self.now = self.first = BEGIN
        self.progress = BEGIN
        self.rows = self.late_kept = self.late_dropped = 0
        self._waiting = Train.empty(definition.schema)

    def arrive(self, train: Train) -> None:
        """Takes in a train in arrival order, of which nothing is stamped at or past the end of time."""
        if not len(train):
            return
        ts = train.ts
        if int(ts.min()) <= BEGIN or int(ts.max()) >= END:
            raise PenstockError(f"stream '{self.definition.name}' has a timestamp outside of all time: {_outside(ts)}")
        before = np.maximum.accumulate(np.concatenate([[self.now], ts[:-1]]))
        late = self._late(ts, before)
        if self.now == BEGIN:
            self.first = int(ts[0])
        self.now = max(self.now, int(ts.max()))
        self.rows += len(train)
        self._wait(self._judged(train, late, np.maximum(before, self.progress)))

    def _late(self, ts: Array, before: Array) -> Array:
        """Marks what is later than the bound; a measured bound widens so that what is not past progress is in time."""
        if self.definition.within_us is not None:
            return (ts < before - self.bound_us) | (ts < self.progress)
        late: Array = ts < self.progress
        skew = np.where(before > BEGIN, before - ts, 0)[~late]
        self.bound_us = max(self.bound_us, int(skew.max(initial=0)))
        return late

    def _judged(self, train: Train, late: Array, now: Array) -> Train:
        count = int(late.sum())
        if not count:
            return _stamped(train, train.ts, now)
        if self.definition.late == "drop":
            self.late_dropped += count
            return _stamped(train, train.ts, now).where(~late)
        self.late_kept += count
        return _stamped(train, np.where(late, now, train.ts), now)

    def _wait(self, train: Train) -> None:
        whole = concat_trains([self._waiting, train])
        keys = (whole.ts,) if whole.seq is None else (whole.seq, whole.ts)
        self._waiting = whole.take(np.lexsort(keys)).dense()

    def heartbeat(self, ts: int) -> None:
        """Learns that nothing stamped before `ts` comes any more."""
        self.progress = max(self.progress, ts)

    def release(self) -> Train:
        """What is in order for good, up to the progress that this makes."""
        if self.now > BEGIN:
            self.progress = max(self.progress, self.now - self.bound_us)
        ready, self._waiting = self._waiting.before(self.progress)
        self._waiting = self._waiting.dense()
        return ready

    @property
    def waiting(self) -> Train:
        """What waits for stragglers."""
        return self._waiting

    def statistics(self) -> StreamStatistics:
        """What came in so far."""
        span_us = self.now - self.first
        return StreamStatistics(
            name=self.definition.name,
            rows=self.rows,
            late_kept=self.late_kept,
            late_dropped=self.late_dropped,
            waiting=len(self._waiting),
            bound_us=self.bound_us,
            progress=self.progress,
            rate=self.rows * _SECOND_US / span_us if span_us else None,
        )


class InputManager:
    """All streams' inputs. Each has a progress of its own: an operator waits for nothing but its own inputs."""

    def __init__(self, streams: Iterable[StreamDefinition], settings: Settings | None = None) -> None:
        knobs = settings or Settings()
        self._inputs = {s.name: StreamInput(s, knobs) for s in streams}

    def input(self, stream: str) -> StreamInput:
        """The input of `stream`."""
        if stream not in self._inputs:
            raise PenstockError(unknown("stream", stream, list(self._inputs)))
        return self._inputs[stream]

    def arrive(self, stream: str, train: Train) -> None:
        """Takes in arrivals of `stream`, in the order in which they came."""
        self.input(stream).arrive(train)

    def heartbeat(self, stream: str, ts: int) -> None:
        """Learns that `stream` has nothing stamped before `ts` to come, so that its silence holds nobody back."""
        self.input(stream).heartbeat(ts)

    def release(self) -> Iterator[tuple[str, Train, int]]:
        """For each stream: its name, what is in order for good, and its progress."""
        for name, stream in self._inputs.items():
            train = stream.release()
            yield name, train, stream.progress

    def waiting(self) -> Iterator[tuple[Train, Schema]]:
        """The trains that wait for stragglers, with their schemas."""
        return ((s.waiting, s.definition.schema) for s in self._inputs.values())

    def statistics(self) -> tuple[StreamStatistics, ...]:
        """What each stream brought so far."""
        return tuple(s.statistics() for s in self._inputs.values())


def _stamped(train: Train, ts: Array, now: Array) -> Train:
    """The train with these timestamps, arrived when the stream's time was at `now` or where they say."""
    return Train(train.columns, ts, None, train.seq, np.maximum(now, ts), train.weight)


def _outside(ts: Array) -> int:
    return int(ts[(ts <= BEGIN) | (ts >= END)][0])
