"""Filters of several queries on one stream, taken together: these are ordered where each is evaluated once for all."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.expressions import Expression, conjuncts
from penstock.plan.node import Node
from penstock.plan.nodes.stateless import Filter
from penstock.plan.schema import Schema


@dataclass(frozen=True, slots=True)
class SharedFilters(Node):
    """The filters of `members`, all of which read one stream or relation. No operator of its own: in a plan it is what
    an order, or what is to be measured, is said of.

    conditions   the different conjuncts of all members, in an order in which they may be evaluated
    """

    members: tuple[Filter, ...]
    conditions: tuple[Expression, ...]

    def _derive(self) -> Schema:
        return self.members[0].input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.members[0].input,)

    @property
    def label(self) -> str:
        return f"{len(self.conditions)} filters of {len(self.members)} queries on {self.members[0].input.label}"

    @property
    def words(self) -> tuple[int, ...]:
        """For each member, as bits, the conditions that it has."""
        places = {c: i for i, c in enumerate(self.conditions)}
        return tuple(sum(1 << places[c] for c in set(conjuncts(m.predicate))) for m in self.members)
