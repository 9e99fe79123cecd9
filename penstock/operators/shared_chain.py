"""Filters of several queries on one stream, each evaluated once for all of them (beyond Babu chapter 4).

A filter sees the rows about which some query that has it is still in doubt, in an order that may change between two
trains; what is left at the end are every query's own rows. All members come with the same train, one after another: the
first has it judged, and the others take their rows. Who comes with another train, since drops stand before it or a
scheduler has cut its queue elsewhere, is sent back to its own chain; so are all, where a filter raises.

A share of the rows, in runs, is asked about every filter: that is what the order goes by. A filter that can raise sees
no row that one of its protectors drops, in whichever of the queries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.filter_chain import Profiled, Test
from penstock.operators.profiled_rows import NOBODY, Sampler
from penstock.plan.doubts import all_open, dealt, in_doubt, settle, users
from penstock.plan.filters import Order, Profiling
from penstock.plan.functions import SetAside

Process = Callable[[Sequence[Train], int], Train]
PATIENCE = 8
"""Trains on which a filter raises, after which all queries are left to their own chains: all was asked twice there."""


class SharedChain:
    """`tests` for queries that are words of them (bit i: the query has test i)."""

    def __init__(self, tests: Sequence[Test], words: Sequence[int], protectors: Sequence[int],
                 context: Context) -> None:  # fmt: skip
        self.tests = list(tests)
        self.queries = len(words)
        self.protectors = list(protectors)
        self.context = context
        self.order: Order = tuple(range(len(tests)))
        self.profiling: Profiling | None = None
        self._users = users(words, len(tests))
        self._sampler = Sampler(0.0, 0)
        self._warm = False
        self._raised = 0
        self._train: Train | None = None
        self._waiting: set[int] = set()
        self._rows, self._starts = NOBODY, NOBODY
        self._start()

    def _start(self) -> None:
        self._bits: list[Array] = []
        self._sampled = 0
        self._seconds, self._asked = np.zeros(len(self.tests)), np.zeros(len(self.tests))

    def arrange(self, order: Order | None, profiling: Profiling | None) -> None:
        """Another order (None: as written) and other measurements from the next train on."""
        self.order = order or tuple(range(len(self.tests)))
        if profiling != self.profiling:
            self.profiling = profiling
            self._sampler = Sampler(0.0, 0) if profiling is None else Sampler(profiling.rate, profiling.seed)

    def profiled(self) -> Profiled | None:
        """What was measured since this was asked the last time; None where nothing was."""
        if not self._sampled:
            return None
        bits = np.concatenate(self._bits)
        found = Profiled(bits[bits != 0], self._sampled, self._seconds, self._asked)
        self._start()
        return found

    def member(self, query: int, alone: Process) -> Process:
        """What the operator of `query` does with a train, instead of `alone`."""

        def process(inputs: Sequence[Train], until: int) -> Train:
            rows = self.rows(query, inputs[0])
            if rows is None:
                return alone(inputs, until)
            return inputs[0] if len(rows) == len(inputs[0]) else inputs[0].take(rows)

        return process

    def rows(self, query: int, train: Train) -> Array | None:
        """The rows of `train` that pass all filters of `query`; None where it has to ask its own chain."""
        if train is not self._train and self._train is not None and query in self._waiting:
            self._taken(query)
            return None
        if train is not self._train:
            self._train, self._waiting = train, set(range(self.queries))
            self._judge(train)
        starts, rows = self._starts, None
        if len(starts):
            rows = self._rows[starts[query] : starts[query + 1]]
        self._taken(query)
        return rows

    def _taken(self, query: int) -> None:
        self._waiting.discard(query)
        if not self._waiting:
            self._train, self._rows = None, NOBODY

    def _judge(self, train: Train) -> None:
        self._rows, self._starts = NOBODY, NOBODY
        if self._raised >= PATIENCE:
            return
        before = dict(self.context.set_aside)
        try:
            doubts = self._settled(train)
            self._profile(train)
            self._rows, self._starts = dealt(doubts, self.queries)
        except SetAside:
            self._raised += 1
            self.context.set_aside.update({name: before.get(name, 0) for name in self.context.set_aside})

    def _settled(self, train: Train) -> Array:
        doubts = all_open(len(train), self.queries)
        for f in self.order:
            rows = in_doubt(doubts, self._users[f])
            if len(rows):
                settle(doubts, self._users[f], rows, self._asks(f, train, rows))
        return doubts

    def _asks(self, f: int, train: Train, rows: Array) -> Array:
        part = train if len(rows) == len(train) else train.take(rows)
        return np.broadcast_to(self.tests[f](part), len(rows))

    def _profile(self, train: Train) -> None:
        run = self._sampler.run(len(train)) if self.profiling is not None else None
        if run is None:
            return
        part = train.slice(*run)
        bits = np.zeros(len(part), np.int64)
        for f in self.order:
            rows = np.flatnonzero(bits & self.protectors[f] == 0)
            if len(rows):
                started = time.perf_counter()
                passed = self._asks(f, part, rows)
                if self._warm:
                    self._seconds[f] += time.perf_counter() - started
                    self._asked[f] += len(rows)
                bits[rows[~passed]] |= 1 << f
        self._warm = True
        self._bits.append(bits)
        self._sampled += len(part)
