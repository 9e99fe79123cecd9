"""Except: the bag difference (ALL), or the left's distinct rows that the right does not hold. NULLs are equal here."""

from __future__ import annotations

from penstock.operators.base import Context, Operator, Row, Timeline
from penstock.operators.histories import distinct, minus, pointwise, row_key
from penstock.operators.kernels.netting import EXCEPT, EXCEPT_ALL
from penstock.operators.set_operator import SetOperator
from penstock.plan.nodes import Except


def build(node: Except, context: Context) -> Operator:
    """The running operator."""
    return SetOperator(node, EXCEPT_ALL if node.all else EXCEPT)


def reference(node: Except, left: Timeline, right: Timeline) -> Timeline:
    """The difference at every instant."""
    return pointwise(minus if node.all else _distinct_minus, left, right)


def _distinct_minus(left: list[Row], right: list[Row]) -> list[Row]:
    excluded = set(map(row_key, right))
    return [row for row in distinct(left) if row_key(row) not in excluded]
