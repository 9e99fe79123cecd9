"""When statistics stand still: A-Greedy and Sweep end at Static Greedy's order, within a factor of the best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from penstock.adapt.a_greedy import AGreedy
from penstock.adapt.independent import Independent
from penstock.adapt.local_swaps import LocalSwaps
from penstock.adapt.ordering import Filters, Ordering
from penstock.adapt.orders import Statistics, optimal, static_greedy, unit_cost
from penstock.adapt.sweep import Sweep
from penstock.plan.filters import ALL, NEXT, Order
from penstock.stats.snapshot import FilterProfile
from tests.adapt.streams import NODE, correlated

SETS = 1000


def seen(ordering: Ordering, order: Order, statistics: Statistics) -> FilterProfile:
    """What an executor under `order` says of all the tuples of `statistics`: only the bits that were asked for."""
    wanted = ordering.wants(order)
    assert wanted is not None
    known = np.zeros(len(statistics.bits), np.int64)
    alive, last = np.ones(len(known), np.bool_), np.zeros(len(known), np.bool_)
    for f in order:
        asked = alive | (last if wanted.what == NEXT else np.full(len(known), wanted.what in (ALL, f)))
        dropped = asked & (statistics.bits >> f & 1 == 1)
        known[dropped] |= 1 << f
        last, alive = dropped & alive, alive & ~dropped
    total = len(known) + int(statistics.passing)
    rows = np.full(len(order), float(total))
    return FilterProfile(NODE, known[known != 0], total, statistics.costs * rows, rows)


def settled(ordering: Ordering, order: Order, statistics: Statistics) -> Order:
    """The order that is not changed any more, on the same tuples again and again."""
    quiet = 0
    for _ in range(400):
        ordering.see(seen(ordering, order, statistics))
        better = ordering.better(order)
        quiet = 0 if better else quiet + 1
        order = better.order if better else order
        ordering.wants(order)
        if quiet > 2 * len(order) + 2:
            return order
    raise AssertionError("it does not come to rest")


def made(kind: Callable[..., Ordering], statistics: Statistics, alpha: float) -> Ordering:
    n, count = statistics.filters, len(statistics.bits)
    return kind(Filters((0,) * n, tuple(statistics.costs.tolist())), 1.0, count, alpha)


def sets(seed: int, count: int) -> list[Statistics]:
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        statistics = correlated(rng, int(rng.integers(2, 9)))
        if len(statistics.bits) >= 100:
            found.append(statistics)
    return found


def test_a_greedy_ends_at_static_greedys_order_within_four_times_the_best() -> None:
    best = 0
    for statistics in sets(1, SETS):
        mixed = tuple(np.random.default_rng(1).permutation(statistics.filters).tolist())
        order = settled(made(AGreedy, statistics, 1.0), mixed, statistics)
        assert same_greedy(order, statistics)
        least, cost = unit_cost(optimal(statistics), statistics), unit_cost(order, statistics)
        assert least <= cost * (1 + 1e-12) and cost <= 4 * least
        best += cost <= least * (1 + 1e-9)
    assert best > 0.8 * SETS, "it is usually the best"


@pytest.mark.parametrize("alpha", [0.9, 0.5])
def test_with_alpha_below_one_it_is_within_four_over_alpha(alpha: float) -> None:
    for statistics in sets(2, SETS):
        order = settled(made(AGreedy, statistics, alpha), tuple(range(statistics.filters)), statistics)
        assert unit_cost(order, statistics) <= 4 / alpha * unit_cost(optimal(statistics), statistics)


def test_sweep_ends_there_too() -> None:
    for statistics in sets(3, SETS):
        order = settled(made(Sweep, statistics, 1.0), tuple(range(statistics.filters)), statistics)
        assert same_greedy(order, statistics)


@pytest.mark.parametrize("kind", [Independent, LocalSwaps])
def test_the_others_come_to_rest(kind: Callable[..., Ordering]) -> None:
    for statistics in sets(4, 100):
        order = settled(made(kind, statistics, 0.9), tuple(range(statistics.filters)), statistics)
        assert sorted(order) == list(range(statistics.filters))


def same_greedy(order: Order, statistics: Statistics) -> bool:
    """True for Static Greedy's order, but for filters behind the place from which nothing is left to drop."""
    left = statistics.bits
    for mine, greedy in zip(order, static_greedy(statistics), strict=True):
        if not len(left):
            return True
        if mine != greedy:
            return False
        left = left[left >> mine & 1 == 0]
    return True


def test_a_gain_that_chance_would_show_is_not_sure() -> None:
    """Four filters alike, whose order hardly ever seems worth changing; and one that clearly is better."""
    rng = np.random.default_rng(5)
    sure = 0
    for seed in range(200):
        ordering = AGreedy(Filters((0,) * 4, (1.0,) * 4), 1.0, 1000, 0.9, seed)
        bits = (rng.random((2000, 4)) < 0.5) @ (1 << np.arange(4))
        ordering.see(FilterProfile(NODE, bits[bits != 0], len(bits), np.zeros(4), np.zeros(4)))
        better = ordering.better((0, 1, 2, 3))
        sure += better is not None and better.sure
    assert sure < 20
    bits = (rng.random((2000, 4)) < np.array([0.5, 0.5, 0.5, 0.7])) @ (1 << np.arange(4))
    ordering.see(FilterProfile(NODE, bits[bits != 0], len(bits), np.zeros(4), np.zeros(4)))
    better = ordering.better((0, 1, 2, 3))
    assert better is not None and better.sure and better.order[0] == 3
