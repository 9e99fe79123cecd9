"""Sampling: aggregates are estimated from fewer tuples, all with the same largest relative error (Babcock et al.).

Of all effective rates that the machine can carry, those are chosen at which every query has the same relative error;
the error is searched for on the load equation. `penstock.shed.samplers` says where the drops stand. A query that
declares `max_error` gets at least the rate for it.

Queries that want no estimates, or whose answer cannot be one, stay subset: of the excess they bear the part that their
share of the load that can go at all is, by random drops; those that share operators with estimates go along with them
(`penstock.shed.joint`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

from penstock.plan.drops import Location
from penstock.plan.estimates import Estimate, estimate_of
from penstock.plan.node import walk
from penstock.plan.nodes import Aggregate, Window, WindowAggregate
from penstock.plan.running import Plan
from penstock.plan.windows import Range, SlideRange
from penstock.shed.bounds import VARIANCE, Bound
from penstock.shed.joint import companions, spared
from penstock.shed.policy import Shedding, together
from penstock.shed.qos import QoS, qos
from penstock.shed.random_shedding import RandomShedding
from penstock.shed.samplers import samplers
from penstock.stats.load import LoadModel

HALVINGS: Final = 50
LEAST_RATE: Final = 1e-6
UNBOUNDED_S: Final = 3600.0
"""A window without an end is taken to hold what comes in so many seconds."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A query that is estimated: its scatter (see `penstock.shed.bounds`) and what it declares."""

    query: str
    scatter: float
    delta: float
    least: float = LEAST_RATE


def subjects(load: LoadModel, declared: Sequence[QoS], bound: Bound = VARIANCE) -> tuple[Subject, ...]:
    """The queries of the network that want estimates."""
    found = []
    for query, each in zip(load.network.queries, declared, strict=True):
        estimate = estimate_of(query.root) if each.answer == "estimate" and each.max_gap is None else None
        if estimate is not None:
            scatter, delta = scatter_of(load, estimate), 1 - each.confidence
            least = LEAST_RATE if each.max_error is None else bound.rate(each.max_error, scatter, delta)
            found.append(Subject(query.name, scatter, delta, max(least, LEAST_RATE)))
    return tuple(found)


def scatter_of(load: LoadModel, estimate: Estimate) -> float:
    """(sigma^2 + mu^2) / (N mu^2), the largest of the estimate's sums. What was never seen is taken for a count."""
    n = max(rows_per_answer(load, estimate.node), 1.0)
    scatters = []
    for column, ratio in estimate.columns:
        seen = load.values.get((estimate.node.input, column))
        known = seen is not None and seen.observed.rows > 0 and seen.observed.mean != 0
        spread = (seen.observed.deviation / seen.observed.mean) ** 2 if seen is not None and known else 0.0
        scatters.append((spread if ratio else spread + 1) / n)
    return max(scatters)


def rows_per_answer(load: LoadModel, node: Aggregate | WindowAggregate) -> float:
    """N: the tuples that an answer rests on, for the average group."""
    into = load.rate(Location(node.input))
    if isinstance(node, WindowAggregate):
        assert isinstance(node.window, SlideRange)
        answers = load.rate(Location(node))
        windows = into * node.window.size / node.window.slide
        return windows / answers if answers else windows * node.window.slide / 1e6
    sizes = [n.spec.size for n in walk(node.input) if isinstance(n, Window) and isinstance(n.spec, Range)]
    spans = [UNBOUNDED_S if size is None else size / 1e6 for size in sizes]
    return into / 2 * max(spans, default=UNBOUNDED_S)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Effective rates by query, the largest relative error that they leave, and what they save."""

    rates: Mapping[str, float]
    error: float
    saved: float


def allocate(load: LoadModel, wanted: Sequence[Subject], excess: float, bound: Bound = VARIANCE) -> Allocation:
    """The rates at which all queries have the same relative error, the least one that saves `excess`; the most that can
    be saved where that is less. Companions (`penstock.shed.joint`) see what the estimates see."""
    along = companions(load.network)

    def at(error: float) -> Allocation:
        rates = {s.query: min(1.0, max(s.least, bound.rate(error, s.scatter, s.delta))) for s in wanted}
        rates |= {name: max(rates.get(e, 1.0) for e in estimates) for name, estimates in along.items()}
        left = max((bound.error(rates[s.query], s.scatter, s.delta) for s in wanted), default=0.0)
        return Allocation(rates, left, load.load() - load.load_under(samplers(load, rates)))

    low, high = log(1e-9), log(1e9)
    best = at(exp(high))
    if best.saved < excess:
        return best
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found = at(exp(middle))
        if found.saved >= excess:
            best, high = found, middle
        else:
            low = middle
    return best


class Sampling:
    """Samples for the queries that want estimates, and leaves the others alone."""

    name = "estimates"

    def __init__(self, seed: int = 0, bound: Bound = VARIANCE) -> None:
        self.seed = seed
        self.bound = bound

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        wanted = subjects(load, [qos(q) for q in plan.network.queries], self.bound)
        if excess <= 0 or not wanted:
            return Shedding(shortfall=max(0.0, excess))
        found = allocate(load, wanted, excess, self.bound)
        drops = samplers(load, found.rates, self.seed)
        short = excess - found.saved
        declared = {q.name: qos(q) for q in plan.network.queries}
        lost = sum(declared[name].loss(1.0) - declared[name].loss(rate) for name, rate in found.rates.items())
        errors = {s.query: self.bound.error(found.rates[s.query], s.scatter, s.delta) for s in wanted}
        return Shedding(drops, (), found.saved, short if short > 1e-6 * excess else 0.0, lost, tuple(errors.items()))


class SamplingShedding:
    """Samples where queries want estimates; the others lose tuples at random, by the road map."""

    name = "sampling"

    def __init__(self, seed: int = 0) -> None:
        self._parts = (Sampling(seed), RandomShedding(seed, spared))

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        return together(self._parts, plan, load, excess)
