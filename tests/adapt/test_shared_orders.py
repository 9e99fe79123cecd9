"""One order for many queries: no dearer than what each would do for itself, Static Greedy for one query."""

from __future__ import annotations

import numpy as np

from penstock.adapt.orders import Statistics, static_greedy, unit_cost
from penstock.adapt.shared_orders import shared_cost, shared_order
from tests.adapt.streams import correlated


def test_with_one_query_it_is_static_greedy() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        facts = correlated(rng, int(rng.integers(2, 8)), 200)
        bits = np.concatenate((facts.bits, np.zeros(int(facts.passing), np.int64)))
        every = (1 << facts.filters) - 1
        order = shared_order(bits, facts.costs.tolist(), (every,))
        cost = shared_cost(order, bits, facts.costs.tolist(), (every,))
        assert abs(cost - unit_cost(order, Statistics(bits, facts.costs))) < 1e-9 * cost
        greedy = unit_cost(static_greedy(facts), Statistics(bits, facts.costs))
        assert unit_cost(order, Statistics(bits, facts.costs)) <= greedy * (1 + 1e-9)


def test_sharing_is_never_dearer_than_each_query_for_itself_in_the_same_order() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        facts = correlated(rng, 6, 200)
        costs = facts.costs.tolist()
        queries = [int(w) for w in rng.integers(1, 64, 10)]
        order = shared_order(facts.bits, costs, queries)
        alone = 0.0
        for word in queries:
            mine = [f for f in order if word >> f & 1]
            alone += unit_cost(mine, Statistics(facts.bits, facts.costs))
        assert shared_cost(order, facts.bits, costs, queries) <= alone * (1 + 1e-9)
