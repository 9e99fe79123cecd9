"""Which queries' filters are evaluated together: those on one stream that have a condition in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from penstock.plan.expressions import Expression, conjuncts
from penstock.plan.filters import MOST, protectors
from penstock.plan.node import Node
from penstock.plan.nodes import Filter
from penstock.plan.nodes.shared import SharedFilters

Pairs = frozenset[tuple[Expression, Expression]]
TOGETHER: Final = 1024
"""Queries that are settled together at most: what is not known yet of a row is a bit for each."""


def shared_filters(nodes: Iterable[Node]) -> tuple[SharedFilters, ...]:
    """The groups among `nodes`; an operator is in one at most.

    >>> from penstock.cql import compile_script
    >>> script = '''CREATE STREAM s (a INT, b INT);
    ... CREATE QUERY p AS SELECT a FROM s WHERE a > 1 AND b > 2;
    ... CREATE QUERY q AS SELECT a FROM s WHERE b > 2 AND a < 9;'''
    >>> [group.words for group in shared_filters(compile_script(script).nodes())]
    [(3, 6)]
    """
    by_input: dict[Node, list[Filter]] = {}
    for node in nodes:
        if isinstance(node, Filter) and len(conjuncts(node.predicate)) <= MOST:
            by_input.setdefault(node.input, []).append(node)
    return tuple(g for filters in by_input.values() for g in _groups(filters))


def _groups(filters: list[Filter]) -> Iterator[SharedFilters]:
    """Filters join the first group in which they fit; those that have nothing in common with others stay alone."""
    found: list[_Group] = []
    for node in filters:
        if not any(group.takes(node) for group in found):
            found.append(_Group(node))
    for group in found:
        if len(group.members) > 1:
            yield SharedFilters(tuple(group.members), group.written())


class _Group:
    """Operators that are evaluated together, their conditions, and which of these must stay before which."""

    def __init__(self, node: Filter) -> None:
        self.members = [node]
        self.conditions = dict.fromkeys(conjuncts(node.predicate))
        self.before = _before(node)

    def takes(self, node: Filter) -> bool:
        """Takes `node` in, if it shares a condition, all conditions fit in a word, and orders do not contradict."""
        mine = dict.fromkeys(conjuncts(node.predicate))
        together, before = self.conditions | mine, self.before | _before(node)
        fits = len(together) <= MOST and len(self.members) < TOGETHER and any(c in self.conditions for c in mine)
        if not fits or len(_sorted(together, before)) < len(together):
            return False
        self.members.append(node)
        self.conditions, self.before = together, before
        return True

    def written(self) -> tuple[Expression, ...]:
        """The conditions as they come, but for what protects a later one."""
        return tuple(_sorted(self.conditions, self.before))


def _before(node: Filter) -> Pairs:
    listed = conjuncts(node.predicate)
    guards = protectors(node)
    return frozenset((listed[j], f) for i, f in enumerate(listed) for j in range(i) if guards[i] >> j & 1)


def _sorted(conditions: Iterable[Expression], before: Pairs) -> list[Expression]:
    """`conditions` in an order that fulfils all pairs; only some of them, where none does."""
    left, found = list(conditions), list[Expression]()
    while free := [c for c in left if not any(later == c and first in left for first, later in before)]:
        found.append(free[0])
        left.remove(free[0])
    return found
