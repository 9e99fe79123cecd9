"""What a semijoin's predicate means for pairs: equalities to look up, and the rest to evaluate."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.semijoin import TRUE, UNKNOWN
from penstock.operators.semijoin_members import Members
from penstock.operators.vector_eval import can_raise, projection
from penstock.plan.expressions import Call, Column, Expression, columns, conjunction, conjuncts, substitute
from penstock.plan.nodes import SemiJoin
from penstock.plan.schema import Schema

PAIRS_AT_ONCE: Final = 1 << 17
"""Pairs that are evaluated in one go: what they take in memory."""


class Equality(NamedTuple):
    """`left` = `right`, each an expression over its own side's columns."""

    left: Expression
    right: Expression


def split(node: SemiJoin) -> tuple[list[Equality], Expression]:
    """The equalities of the predicate, and what a pair that meets them must still meet.

    Under NOT IN a pair may also count because its predicate is NULL, so there all of it remains.
    """
    keys, others = [], []
    for part in conjuncts(node.predicate):
        found = _equality(node, part)
        if found:
            keys.append(found)
        if not found or (node.negated and node.null_aware):
            others.append(part)
    return keys, conjunction(tuple(others))


def _equality(node: SemiJoin, part: Expression) -> Equality | None:
    if not isinstance(part, Call) or part.function != "=" or can_raise(part):
        return None
    a, b = part.arguments
    if a.type != b.type:
        return None
    for left, right in ((a, b), (b, a)):
        if _over(left, "0.") and _over(right, "1."):
            return Equality(_own(left, node.left.schema, "0."), _own(right, node.right.schema, "1."))
    return None


def _over(expression: Expression, side: str) -> bool:
    names = columns(expression)
    return bool(names) and all(n.startswith(side) for n in names)


def _own(expression: Expression, schema: Schema, side: str) -> Expression:
    return substitute(expression, {f"{side}{f.name}": Column(f.name, f.type) for f in schema})


def used(expression: Expression, schema: Schema, side: str) -> list[int]:
    """The columns of one side that the predicate reads."""
    names = columns(expression)
    return [i for i, f in enumerate(schema) if f"{side}{f.name}" in names]


class Truth:
    """Evaluates the remaining predicate on pairs of a probe and a right, given as columns of both."""

    def __init__(self, predicate: Expression, schema: Schema, context: Context) -> None:
        self.always = not conjuncts(predicate)
        self.evaluate = projection([predicate], schema, context)

    def of(self, probes: Members, left: Array, rights: Members, right: Array) -> Array:
        """TRUE, UNKNOWN (NULL) or 0 for each pair of ids; 0 too where a user's function fails."""
        if self.always:
            return np.full(len(left), TRUE, np.int8)
        truth = np.zeros(len(left), np.int8)
        for start in range(0, len(left), PAIRS_AT_ONCE):
            piece = slice(start, start + PAIRS_AT_ONCE)
            self._evaluate([*probes.columns(left[piece]), *rights.columns(right[piece])], truth[piece])
        return truth

    def _evaluate(self, pairs: list[Vector], truth: Array) -> None:
        places = np.arange(len(truth))
        train, (found,) = self.evaluate(Train(pairs, places))
        # What was set aside is missing from the train; its timestamps say what is there.
        truth[train.ts[found.values.astype(np.bool_)]] = TRUE
        if found.nulls is not None:
            truth[train.ts[found.nulls]] = UNKNOWN
