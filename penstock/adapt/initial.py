"""The plan to begin with (Babu 3.1): orders enumerated, the least unit-time cost taken.

Nothing was measured yet, so every filter is taken to pass half of the tuples, independently, and to cost what filters
of its kind do. Of orders that cost the same the first, as written, is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Final

from penstock.plan.filters import Order, allowed, guessed_costs
from penstock.plan.node import Node

PASS: Final = 0.5
ENUMERATED: Final = 6
"""Filters of which all orders are looked at; more are sorted by cost, which is the same where they are independent."""


def expected_cost(order: Sequence[int], costs: Sequence[float]) -> float:
    """Equation 4.1 for independent filters.

    >>> expected_cost((1, 0), (3.0, 1.0))
    2.5
    """
    return sum(costs[f] * PASS**place for place, f in enumerate(order))


def initial_order(node: Node) -> Order:
    """The order of the filters of `node` before anything was measured."""
    costs = guessed_costs(node)
    if len(costs) > ENUMERATED:
        by_cost = tuple(sorted(range(len(costs)), key=costs.__getitem__))
        return by_cost if allowed(node, by_cost) else tuple(range(len(costs)))
    orders = (o for o in permutations(range(len(costs))) if allowed(node, o))
    return min(orders, key=lambda o: (round(expected_cost(o, costs), 15), o))
