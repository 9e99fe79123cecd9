"""Filters that one operator evaluates together: which they are, what protects which, and what is asked about them.

A filter is a conjunct of a `Filter`, or one of a `FilterPipeline`'s. They commute (Babu 4.1), but for those that can
raise on rows which another one drops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.plan.expressions import Expression, columns, conjuncts
from penstock.plan.functions import can_raise, expensive
from penstock.plan.node import Node
from penstock.plan.nodes import Filter, FilterPipeline
from penstock.plan.nodes.pipeline import probes
from penstock.plan.nodes.shared import SharedFilters

Order = tuple[int, ...]
"""Filters by their places in the query as it is written, in the order in which they are evaluated."""
MOST: Final = 60
"""Filters that one operator can order: what their verdicts on a tuple leave of a machine word."""
ALL, NEXT = "all", "next"
COMPARISON_S, EXPENSIVE_S, USERS_S, PROBE_S = 5e-9, 2e-7, 5e-7, 5e-8
"""What a filter costs a tuple before anything was measured: their ratios matter, and where they are wrong the first
profile tuples say so."""


@dataclass(frozen=True, slots=True)
class Profiling:
    """What is to be measured of an operator's filters (Babu 4.3.1).

    rate   the drop-profiling probability p: the share of rows whose verdicts are recorded
    what   which filters are evaluated for a sampled row that another one has dropped: `ALL` (A-Greedy, Independent),
           the `NEXT` one in the order (LocalSwaps), or the one of this number (Sweep)
    whole  whether runs of rows are sampled, so that every filter is timed on the same rows, or single rows
    """

    rate: float
    what: str | int = ALL
    seed: int = 0
    whole: bool = True


def filters_of(node: Node) -> tuple[Expression, ...]:
    """The filters of `node`, as they are written; none for an operator that has no choice."""
    if isinstance(node, Filter):
        return conjuncts(node.predicate)
    if isinstance(node, SharedFilters):
        return node.conditions
    return node.filters if isinstance(node, FilterPipeline) else ()


def orderable(node: Node) -> bool:
    """True where the filters of `node` can be put in another order."""
    return 2 <= len(filters_of(node)) <= MOST


def protectors(node: Node) -> tuple[int, ...]:
    """For each filter, as a word of bits, those that stay before it.

    Only users' functions raise. What is written before one protects it, unless it is a user's function over other
    columns: `x <> 0 AND inverse(x) > 2` keeps its order, `slow(a) AND slower(b)` need not. Where queries share filters,
    what protects one in any of them does so in all.
    """
    if isinstance(node, SharedFilters):
        return _of_all(node)
    listed = filters_of(node)
    return tuple(
        sum(1 << j for j, earlier in enumerate(listed[:i]) if _protects(earlier, later))
        for i, later in enumerate(listed)
    )


def _of_all(shared: SharedFilters) -> tuple[int, ...]:
    places = {c: i for i, c in enumerate(shared.conditions)}
    words = [0] * len(places)
    for member in shared.members:
        mine = [places[c] for c in conjuncts(member.predicate)]
        for i, guards in zip(mine, protectors(member), strict=True):
            words[i] |= sum(1 << p for p in {mine[j] for j in range(len(mine)) if guards >> j & 1} if p != i)
    return tuple(words)


def _protects(earlier: Expression, later: Expression) -> bool:
    return can_raise(later) and (not can_raise(earlier) or bool(columns(earlier) & columns(later)))


def allowed(node: Node, order: Order) -> bool:
    """True for an order of all filters of `node` in which each comes after its protectors."""
    guards = protectors(node)
    if sorted(order) != list(range(len(guards))):
        return False
    placed = 0
    for f in order:
        if guards[f] & ~placed:
            return False
        placed |= 1 << f
    return True


def guessed_costs(node: Node) -> tuple[float, ...]:
    """What the filters cost, before anything was measured."""
    probed = isinstance(node, FilterPipeline)
    return tuple(PROBE_S if probed and probes(f) else _guessed(f) for f in filters_of(node))


def _guessed(condition: Expression) -> float:
    return USERS_S if can_raise(condition) else EXPENSIVE_S if expensive(condition) else COMPARISON_S
