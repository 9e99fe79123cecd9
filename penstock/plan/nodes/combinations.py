"""Operators over two or more inputs of one kind, and what they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.plan.expressions import Expression, format_expression
from penstock.plan.node import Node
from penstock.plan.nodes.checks import check_aligned, check_expression, check_relations, combined
from penstock.plan.schema import Schema
from penstock.plan.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class Combination(Node):
    """Base of the nodes over two or more inputs of one kind."""

    def _named_inputs(self, inputs: tuple[Node, ...]) -> dict[str, Any]:
        return {"left": inputs[0], "right": inputs[1]}


@dataclass(frozen=True, slots=True)
class Union(Combination):
    """Bag union of streams (merged in the total order) or of relations; types agree by position, names are the first
    input's."""

    members: tuple[Node, ...]

    def _derive(self) -> Schema:
        check_aligned(self.members, "union")
        return self.members[0].schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.members

    def _named_inputs(self, inputs: tuple[Node, ...]) -> dict[str, Any]:
        return {"members": inputs}


@dataclass(frozen=True, slots=True)
class Join(Combination):
    """N-way inner join of relations; column x of input i is `i.x`; `predicate` may hold equi, band and general
    conjuncts; TRUE is the product."""

    members: tuple[Node, ...]
    predicate: Expression

    def _derive(self) -> Schema:
        check_relations(self.members, "join")
        schema = combined(self.members)
        check_expression(self.predicate, schema, BOOLEAN)
        return schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.members

    def _named_inputs(self, inputs: tuple[Node, ...]) -> dict[str, Any]:
        return {"members": inputs}

    @property
    def label(self) -> str:
        return f"join {format_expression(self.predicate)}"


@dataclass(frozen=True, slots=True)
class SemiJoin(Combination):
    """Rows of `left` for which some row of `right` makes `predicate` (over `0.x`, `1.y`) true; `negated`: for which
    none does (antisemijoin).

    `null_aware`, with `negated`, is NOT IN: a right row that makes the predicate NULL also excludes the left row.
    """

    left: Node
    right: Node
    predicate: Expression
    negated: bool = False
    null_aware: bool = False

    def _derive(self) -> Schema:
        check_relations((self.left, self.right), "semijoin")
        check_expression(self.predicate, combined((self.left, self.right)), BOOLEAN)
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def label(self) -> str:
        return f"{'anti' if self.negated else ''}semijoin {format_expression(self.predicate)}"


@dataclass(frozen=True, slots=True)
class Except(Combination):
    """Bag difference (`all`), or the distinct rows of `left` that are not in `right`. NULLs are equal here."""

    left: Node
    right: Node
    all: bool = False

    def _derive(self) -> Schema:
        check_relations((self.left, self.right), "except")
        check_aligned((self.left, self.right), "except")
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Intersect(Combination):
    """Bag intersection (`all`), or the distinct rows that are in both. NULLs are equal here."""

    left: Node
    right: Node
    all: bool = False

    def _derive(self) -> Schema:
        check_relations((self.left, self.right), "intersect")
        check_aligned((self.left, self.right), "intersect")
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)
