"""Intersect: the bag intersection (ALL), or the distinct rows that both sides hold. NULLs are equal here."""

from __future__ import annotations

from penstock.operators.base import Context, Operator, Row, Timeline
from penstock.operators.histories import common, distinct, pointwise, row_key
from penstock.operators.kernels.netting import INTERSECT, INTERSECT_ALL
from penstock.operators.set_operator import SetOperator
from penstock.plan.nodes import Intersect


def build(node: Intersect, context: Context) -> Operator:
    """The running operator."""
    return SetOperator(node, INTERSECT_ALL if node.all else INTERSECT)


def reference(node: Intersect, left: Timeline, right: Timeline) -> Timeline:
    """The intersection at every instant."""
    return pointwise(common if node.all else _distinct_common, left, right)


def _distinct_common(left: list[Row], right: list[Row]) -> list[Row]:
    included = set(map(row_key, right))
    return [row for row in distinct(left) if row_key(row) in included]
