"""Pipelined filters (Babu 4.1): each is evaluated for the rows that those before it have left, in an order that may
change between two trains.

Profiling (4.3.1) is a by-product. Of a sampled train every filter is evaluated for every row, so its verdicts on the
rows that were dropped are known, and all filters are timed on the same rows; the rows that stay come out of the same
masks. A filter that can raise sees no row that one of its protectors drops.

The first sampled train is not timed: kernels may be compiled for it.

Where a filter raises, its row is set aside: but not if a filter that is written before it, and in this order comes
after it, drops the row. So no order sets aside what the order as written would have dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.profiled_rows import NOBODY, ProfiledRun, Sampler, note, outside
from penstock.plan.filters import ALL, NEXT, Order, Profiling
from penstock.plan.functions import SetAside

Test = Callable[[Train], Array]
"""Which rows of a train a filter keeps: booleans, as many as the train is long or one for all."""


class Profiled(NamedTuple):
    """What was measured: a word of bits for each sampled row that was dropped (bit i: filter i drops it), how many rows
    were sampled, and for each filter seconds and the rows they were spent on."""

    bits: Array
    sampled: int
    seconds: Array
    rows: Array


class FilterChain:
    """`tests` in `order`; `chain(train)` is the train with only the rows that pass all of them."""

    def __init__(self, tests: Sequence[Test], protectors: Sequence[int], context: Context) -> None:
        self.tests = list(tests)
        self.protectors = list(protectors)
        self.context = context
        self.order: Order = tuple(range(len(tests)))
        self.profiling: Profiling | None = None
        self._sampler = Sampler(0.0, 0)
        self._warm = False
        self._start()

    def _start(self) -> None:
        self._bits: list[Array] = []
        self._sampled = 0
        self._seconds, self._rows = np.zeros(len(self.tests)), np.zeros(len(self.tests))

    def arrange(self, order: Order | None, profiling: Profiling | None) -> None:
        """Another order (None: as written) and other measurements from the next train on."""
        self.order = order or tuple(range(len(self.tests)))
        if profiling != self.profiling:
            before, self.profiling = self.profiling, profiling
            if profiling is not None and (before is None or profiling.rate != before.rate):
                self._sampler = Sampler(profiling.rate, profiling.seed)

    def profiled(self) -> Profiled | None:
        """What was measured since this was asked the last time; None where nothing was."""
        if not self._sampled:
            return None
        bits = np.concatenate(self._bits) if self._bits else NOBODY
        found = Profiled(bits, self._sampled, self._seconds, self._rows)
        self._start()
        return found

    def __call__(self, train: Train) -> Train:
        if self.profiling is None:
            rows = self._filtered(train)
        elif self.profiling.whole:
            rows = self._in_runs(train)
        else:
            sampled = self._sampler.rows(len(train))
            rows = self._filtered(train) if sampled is None else self._watched(train, sampled)
        return train if rows is None else train.take(rows)

    def _in_runs(self, train: Train) -> Array | None:
        run = self._sampler.run(len(train))
        if run is None:
            return self._filtered(train)
        start, stop = run
        if stop - start == len(train):
            return self._watched(train, None)
        if any(self.protectors):
            return self._in_pieces(train, start, stop)
        try:
            asked = self._all_of_run if self.profiling.what == ALL else self._beside  # type: ignore[union-attr]
            return asked(train, start, stop)
        except SetAside:
            return self._in_pieces(train, start, stop)

    def _all_of_run(self, train: Train, start: int, stop: int) -> Array:
        """A run in a long train of which every filter is asked about every row, as a piece that lies as it is: right
        after the rows outside of it that are left, while what the filter reads is at hand."""
        run, bits, rows = train.slice(start, stop), np.zeros(stop - start, np.int64), None
        seconds, seen = np.zeros(len(self.tests)), np.zeros(len(self.tests))
        for i in self.order:
            started = time.perf_counter()
            part = train if rows is None else train.take(rows)
            mask = self._or_back(i, part)
            said = mask[start:stop] if rows is None else self._or_back(i, run)
            seconds[i], seen[i] = time.perf_counter() - started, len(part) + (0 if rows is None else len(run))
            note(bits, said, i)
            rows = outside(mask, start, stop) if rows is None else rows[mask.nonzero()[0]]
        self._count(bits, seconds, seen)
        kept = np.flatnonzero(bits == 0) + start
        assert rows is not None
        cut = int(np.searchsorted(rows, start))
        return np.concatenate((rows[:cut], kept, rows[cut:]))

    def _count(self, bits: Array, seconds: Array, seen: Array) -> None:
        if self._warm:
            self._seconds += seconds
            self._rows += seen
        self._warm = True
        self._bits.append(bits[bits != 0])
        self._sampled += len(bits)

    def _beside(self, train: Train, start: int, stop: int) -> Array:
        """A run in a long train: the verdicts on rows of the run that are left are those of the whole train, and each
        filter is asked about the others right after, while what it reads is at hand."""
        run, rows = ProfiledRun(start, stop), None
        seconds, seen = np.zeros(len(self.tests)), np.zeros(len(self.tests))
        for i in self.order:
            dead = run.wanted(self.profiling.what, i)  # type: ignore[union-attr]
            started = time.perf_counter()
            part = train if rows is None else train.take(rows)
            mask = self._or_back(i, part)
            others = self._or_back(i, train.take(dead)) if len(dead) else mask[:0]
            seconds[i], seen[i] = time.perf_counter() - started, len(part) + len(dead)
            run.say(i, rows, mask, dead, others)
            passed = mask.nonzero()[0]
            rows = passed if rows is None else rows[passed]
        self._count(run.bits, seconds, seen)
        return np.arange(len(train)) if rows is None else rows

    def _or_back(self, i: int, train: Train) -> Array:
        """Filter `i` on these rows; where it raises, nothing of it counts: all will be asked again, run by run."""
        try:
            mask = self.tests[i](train)
        except SetAside as failure:
            self._uncount(failure, _counted(train.take(failure.rows)))  # type: ignore[arg-type]
            raise
        return mask if mask.ndim else np.full(len(train), mask)

    def _in_pieces(self, train: Train, start: int, stop: int) -> Array:
        """The same where a filter raises, or might."""
        watched = self._watched(train.slice(start, stop), None)
        kept = [self._between(train, 0, start), watched + start, self._between(train, stop, len(train))]
        return np.concatenate(kept)

    def _between(self, train: Train, start: int, stop: int) -> Array:
        """The rows from `start` up to `stop` that pass."""
        if start >= stop:
            return NOBODY
        rows = self._filtered(train.slice(start, stop))
        return np.arange(start, stop) if rows is None else rows + start

    def _filtered(self, train: Train) -> Array | None:
        """The rows that pass; None for all."""
        rows: Array | None = None
        for place, i in enumerate(self.order):
            part = train if rows is None else train.take(rows)
            if not len(part):
                break
            try:
                mask = self.tests[i](part)
            except SetAside as failure:
                return self._with_failures(train, i, rows, failure, self.order[:place])
            passed = mask.nonzero()[0] if mask.ndim else np.arange(len(part) if mask else 0)
            if len(passed) != len(part):
                rows = passed if rows is None else rows[passed]
        return rows

    def _with_failures(self, train: Train, i: int, rows: Array | None, failure: SetAside, before: Order) -> Array:
        """The rows that pass where filter `i` raised on some of those that came to it."""
        came = np.arange(len(train)) if rows is None else rows
        self._acquit(i, train.take(came[failure.rows]), failure, before)
        left = np.delete(came, failure.rows)  # type: ignore[arg-type]
        again = self._filtered(train.take(left))
        return left if again is None else left[again]

    def _acquit(self, i: int, suspects: Train, failure: SetAside, before: Sequence[int]) -> None:
        """Takes back from the count of rows set aside those that an earlier filter, as written, would have dropped."""
        left = suspects
        for j in range(i):
            if j not in before and len(left):
                left = self._alone(j, left)
        self._uncount(failure, _counted(suspects) - _counted(left))

    def _alone(self, j: int, train: Train) -> Train:
        """The rows that filter `j` keeps or sets aside."""
        try:
            return train.where(np.broadcast_to(self.tests[j](train), len(train)))
        except SetAside as failure:
            self._uncount(failure, _counted(train.take(failure.rows)))  # type: ignore[arg-type]
            return train

    def _uncount(self, failure: SetAside, rows: int) -> None:
        if rows:
            self.context.set_aside[failure.function] -= rows

    def _watched(self, train: Train, sampled: Array | None) -> Array:
        """The rows that pass; the verdicts on the rows at `sampled` (None: all) are recorded."""
        assert self.profiling is not None
        if sampled is None and self.profiling.what == ALL and not any(self.protectors):
            return self._all_asked(train)
        return self._one_by_one(train, sampled)

    def _one_by_one(self, train: Train, sampled: Array | None) -> Array:
        assert self.profiling is not None
        watch = _Watch(len(train), sampled, self.profiling.what)
        for place, i in enumerate(self.order):
            rows = watch.wanted(i, self.protectors[i])
            if len(rows):
                started = time.perf_counter()
                mask = self._verdicts(i, train, rows, watch, self.order[:place])
                if self._warm:
                    self._seconds[i] += time.perf_counter() - started
                    self._rows[i] += len(rows)
                watch.say(i, rows, mask)
        self._warm = True
        self._bits.append(watch.dropped())
        self._sampled += len(train) if sampled is None else len(sampled)
        return np.flatnonzero(watch.alive)

    def _all_asked(self, train: Train) -> Array:
        """The same where every filter is asked about every row, and none can raise on what another one drops: in few
        steps, since runs are short."""
        bits = np.zeros(len(train), np.int64)
        times = np.zeros(len(self.tests))
        try:
            for i in self.order:
                started = time.perf_counter()
                mask = self.tests[i](train)
                times[i] = time.perf_counter() - started
                bits |= np.left_shift(~mask, i, dtype=np.int64)
        except SetAside as failure:
            self._uncount(failure, _counted(train.take(failure.rows)))  # type: ignore[arg-type]
            return self._one_by_one(train, None)
        self._count(bits, times, np.full(len(times), float(len(train))))
        return np.flatnonzero(bits == 0)

    def _verdicts(self, i: int, train: Train, rows: Array, watch: _Watch, before: Sequence[int]) -> Array:
        """Filter `i` on these rows; True for a row that it sets aside, which is taken out."""
        part = train if len(rows) == len(train) else train.take(rows)
        try:
            return np.broadcast_to(self.tests[i](part), len(rows))
        except SetAside as failure:
            assert failure.rows is not None
            lost = rows[failure.rows]
            dead = lost[~watch.alive[lost]]
            self._uncount(failure, _counted(train.take(dead)))
            self._acquit(i, train.take(lost[watch.alive[lost]]), failure, before)
            watch.lose(lost)
            mask = np.ones(len(rows), np.bool_)
            others = np.ones(len(rows), np.bool_)
            others[failure.rows] = False
            if others.any():
                mask[others] = self._verdicts(i, train, rows[others], watch, before)
            return mask


class _Watch:
    """Verdicts on the rows of one train: `alive` says which no filter has dropped, `bits` which filters did."""

    def __init__(self, count: int, sampled: Array | None, what: str | int) -> None:
        self.alive = np.ones(count, np.bool_)
        self.bits = np.zeros(count, np.int64)
        self.what = what
        self.sampled = np.ones(count, np.bool_) if sampled is None else np.zeros(count, np.bool_)
        if sampled is not None:
            self.sampled[sampled] = True
        self.last = np.zeros(count, np.bool_)

    def wanted(self, i: int, protectors: int) -> Array:
        """The rows that filter `i` has to see: those that are left, and the sampled ones that are to be profiled."""
        if self.what == ALL:
            rows = self.alive | self.sampled
        elif self.what == NEXT:
            rows = self.alive | (self.last & self.sampled)
        else:
            rows = self.alive | self.sampled if self.what == i else self.alive
        if protectors:
            rows = rows & (self.bits & protectors == 0)
        found: Array = np.flatnonzero(rows)
        return found

    def say(self, i: int, rows: Array, mask: Array) -> None:
        """Records what filter `i` says of these rows."""
        dropped = rows[~mask]
        self.bits[dropped] |= 1 << i
        self.last = np.zeros(len(self.alive), np.bool_)
        self.last[dropped[self.alive[dropped]]] = True
        self.alive[dropped] = False

    def lose(self, rows: Array) -> None:
        """These rows raise: nothing more is asked of them."""
        self.alive[rows] = False
        self.sampled[rows] = False
        self.bits[rows] = 0

    def dropped(self) -> Array:
        """The profile tuples."""
        found: Array = self.bits[(self.bits != 0) & self.sampled]
        return found


def _counted(train: Train) -> int:
    """Rows as they are counted when they are set aside."""
    return len(train) if train.insertions_only else int(np.count_nonzero(train.sign > 0))
