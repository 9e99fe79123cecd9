"""The set-up of Babu 4.7 in the real lane engine, and the three measures of an adaptive algorithm.

A stream of tuples with a key for each filter; filter i probes a window of 10,000 tuples by its key. Filters are in
groups: within one, two filters agree on 80% of the tuples, across groups they are independent. The lane runs the query
as it is written in CQL, a batch of rows a control period, with the loop that a user's run has.

    overhead      processor time of profiling and re-optimising, as a share of all
    convergence   processing rate in steady conditions, and filters evaluated a tuple
    adaptation    rows after a change of the data until the order in force costs no more than 5% above the best
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from penstock.adapt import ordering as adapt_ordering
from penstock.adapt.filter_orders import OFF, FilterOrders, order_of
from penstock.adapt.matrix_view import MatrixView
from penstock.adapt.orders import Statistics, optimal, unit_cost
from penstock.control.change_gate import ChangeGate
from penstock.control.loop import Loop
from penstock.cql import compile_script
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.operators.filter_pipeline import FilterPipelineOperator
from penstock.operators.membership import Membership
from penstock.plan.filters import Order
from penstock.plan.nodes import FilterPipeline
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, Reorder
from penstock.settings import Settings
from penstock.stats.profile_window import ProfileWindow
from penstock.stats.snapshot import Snapshot

Array = npt.NDArray[Any]
WINDOW = 10_000
BATCH = 200_000
AGREE = 0.8
STEP_US = 10


@dataclass(frozen=True)
class Workload:
    """`n` filters in groups of `gamma`; `selectivity` of each, by its place, is a share of tuples that pass; filter i
    makes `probes[i]` random probes more than one."""

    n: int
    gamma: int = 2
    selectivity: tuple[float, ...] = (0.5,)
    probes: tuple[int, ...] = (1,)

    def passes(self, count: int, rng: np.random.Generator) -> Array:
        """Which of `count` tuples each filter passes: bool[count, n]."""
        found = np.empty((count, self.n), np.bool_)
        for first in range(0, self.n, self.gamma):
            common = rng.random(count)
            for i in range(first, min(first + self.gamma, self.n)):
                s = self.selectivity[i % len(self.selectivity)]
                alike = s * s + (1 - s) * (1 - s)
                follow = rng.random(count) < max(0.0, (AGREE - alike) / (1 - alike)) ** 0.5
                found[:, i] = np.where(follow, common, rng.random(count)) < s
        return found

    def costs(self) -> Array:
        """Probes a tuple of each filter."""
        return np.array([self.probes[i % len(self.probes)] for i in range(self.n)], float)

    def statistics(self, count: int = 20_000, seed: int = 0) -> Statistics:
        """What a perfect profiler knows."""
        drops = ~self.passes(count, np.random.default_rng(seed))
        bits = (drops.astype(np.int64) << np.arange(self.n)).sum(axis=1)
        return Statistics(bits[bits != 0], self.costs(), int((bits == 0).sum()))

    def best(self) -> Order:
        """The optimal order."""
        return optimal(self.statistics())

    @property
    def script(self) -> str:
        """The query in CQL."""
        keys = ", ".join(f"k{i} BIGINT" for i in range(self.n))
        streams = [f"CREATE STREAM s{i} (v BIGINT);" for i in range(self.n)]
        tests = " AND ".join(f"k{i} IN (SELECT v FROM s{i} [Rows {WINDOW}])" for i in range(self.n))
        return "\n".join(
            [f"CREATE STREAM s ({keys});", *streams, f"CREATE QUERY q AS SELECT k0 FROM s WHERE {tests};"]
        )

    def batch(self, count: int, rng: np.random.Generator) -> list[Vector]:
        """The columns of a batch."""
        passes = self.passes(count, rng)
        keys = rng.integers(0, WINDOW, passes.shape)
        return [Vector(np.where(passes[:, i], keys[:, i], keys[:, i] + WINDOW)) for i in range(self.n)]

    def dear(self) -> dict[int, int]:
        """Filters that make more than one probe."""
        return {i: int(c) for i, c in enumerate(self.costs()) if c > 1}


class Dear:
    """A filter that makes `probes` random probes into its index for a tuple (Babu 4.7.3); the first one decides."""

    def __init__(self, test: Membership, probes: int) -> None:
        self.test = test
        self.probes = probes

    def __call__(self, train: Train) -> Array:
        """The verdicts of the first probe."""
        (key,) = self.test.left
        keys = key(train).values
        for j in range(1, self.probes):
            self.test.index.holds(((keys * 7919 + j * 104729) % (2 * WINDOW)).reshape(-1, 1))
        return self.test(train)


class Pool:
    """Batches that are made once and come again and again: what is compared then sees the same rows."""

    def __init__(self, workload: Workload, count: int, seed: int, batches: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self._made = [workload.batch(count, rng) for _ in range(batches)]
        self._next = 0

    def __call__(self) -> list[Vector]:
        """The next batch's columns."""
        self._next += 1
        return self._made[self._next % len(self._made)]


@dataclass
class Spent:
    """Processor seconds: all, and of them the loop with its parts (table 4.2)."""

    total_s: float = 0.0
    rows: int = 0
    window_s: float = 0.0
    view_s: float = 0.0
    violations_s: float = 0.0
    loop_s: float = 0.0


class Run:
    """A lane under one algorithm; `order` fixes one instead. `spent` is since `clear`."""

    def __init__(self, workload: Workload, name: str, seed: int = 1, settings: Settings | None = None,
                 order: Order | None = None, whole: bool = True, batch: int = BATCH) -> None:  # fmt: skip
        network = optimize(compile_script(workload.script))
        self.node = next(n for n in network.nodes() if isinstance(n, FilterPipeline))
        self.lane = Lane(network, optimized=False)
        plan = Plan(network)
        if order is not None and order != order_of(plan, self.node):
            plan = plan.apply(Reorder(self.node, order))
        orders = [] if name == OFF else [FilterOrders.over(name, network.nodes(), settings, seed)]
        self.loop = Loop(plan, orders, ChangeGate(settings or Settings()))
        if orders:
            self.loop.step(Snapshot(0, 0.0))
        self.rng = np.random.default_rng(seed)
        self.whole = whole
        self.batch = batch
        self.now = 0
        self.spent = Spent()
        self.lane.adopt(self.loop.plan)
        self._fill(workload.n)
        for slot in self.lane._graph.order:
            if isinstance(slot.operator, FilterPipelineOperator):
                tests = slot.operator.chain.tests
                for i, probes in workload.dear().items():
                    tests[i] = Dear(cast(Membership, tests[i]), probes)

    def _fill(self, n: int) -> None:
        for i in range(n):
            train = Train([Vector(np.arange(WINDOW))], np.arange(WINDOW))
            self.lane.push(f"s{i}", train, WINDOW)
        self.lane.push("s", Train([Vector(np.empty(0, np.int64))] * len(self._schema()), np.empty(0, np.int64)), WINDOW)
        self.lane.run()
        self.now = WINDOW

    def _schema(self) -> Any:
        return self.node.left.schema

    def go(self, workload: Workload, batches: int, pool: Pool | None = None) -> None:
        """So many batches of `workload`, new ones or from `pool`, timed; results are taken and thrown away."""
        for _ in range(batches):
            columns = workload.batch(self.batch, self.rng) if pool is None else pool()
            ts = self.now + STEP_US * np.arange(1, self.batch + 1)
            self.now = int(ts[-1]) + STEP_US
            train = Train(columns, ts)
            with timed(self.spent):
                started = time.perf_counter()
                self._advance(train, workload.n)
                self.spent.total_s += time.perf_counter() - started
            self.spent.rows += self.batch
            self.lane.take("q")

    def _advance(self, train: Train, n: int) -> None:
        for i in range(n):
            self.lane.push(f"s{i}", Train([Vector(np.empty(0, np.int64))], np.empty(0, np.int64)), self.now)
        self.lane.push("s", train, self.now)
        self.lane.run()
        if self.loop.strategies:
            looked = replace(self.lane.snapshot(), now_s=time.monotonic())
            started = time.perf_counter()
            snapshot = replace(looked, profiles=self.lane.profiled())
            plan = self.loop.step(snapshot)
            if not self.whole:
                plan = replace(plan, profiled=tuple((n, replace(p, whole=False)) for n, p in plan.profiled))
            self.lane.adopt(plan)
            self.loop.log.clear()
            self.spent.loop_s += time.perf_counter() - started

    @property
    def order(self) -> Order:
        """The order in force."""
        return order_of(self.loop.plan, self.node)

    def rate(self) -> float:
        """Rows a processor second."""
        return self.spent.rows / self.spent.total_s

    def clear(self) -> None:
        """Counts anew."""
        self.spent = Spent()


@contextmanager
def timed(spent: Spent) -> Iterator[None]:
    """Times the parts of table 4.2 where they happen."""
    patches: list[tuple[Any, str, Any]] = []

    def clock(owner: Any, name: str, part: str) -> None:
        original = getattr(owner, name)

        def run(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return original(*arguments)
            finally:
                setattr(spent, part, getattr(spent, part) + time.perf_counter() - started)

        patches.append((owner, name, original))
        setattr(owner, name, run)

    clock(ProfileWindow, "push", "window_s")
    clock(ProfileWindow, "time", "window_s")
    clock(MatrixView, "count", "view_s")
    clock(MatrixView, "violation", "violations_s")
    clock(adapt_ordering.Greedy, "corrected", "violations_s")
    try:
        yield
    finally:
        for owner, name, original in patches:
            setattr(owner, name, original)


def adaptation(name: str, before: Workload, after: Workload, seed: int, settings: Settings | None = None,
               most: int = 150, batch: int = 5_000) -> tuple[int | None, list[float]]:  # fmt: skip
    """Rows after the change until the order in force costs at most 5% more than the best; and the costs, batch by
    batch."""
    run = Run(before, name, seed, settings, batch=batch)
    run.go(before, 40)
    statistics = after.statistics()
    least = unit_cost(optimal(statistics), statistics)
    trace: list[float] = []
    for _ in range(most):
        run.go(after, 1)
        trace.append(unit_cost(run.order, statistics) / least)
        if len(trace) > 12 and max(trace[-10:]) <= 1.05:
            break
    reached = next((i for i in range(len(trace)) if max(trace[i:]) <= 1.05), None)
    return None if reached is None else (reached + 1) * batch, trace


def spread_of(values: Sequence[float]) -> float:
    """Half the distance between the smallest and the largest."""
    return (max(values) - min(values)) / 2
