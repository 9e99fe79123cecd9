"""Distinct (Babu's duplicate-eliminate): each row that the relation holds, once. NULLs are equal here, and NaNs."""

from __future__ import annotations

from penstock.operators.base import Context, Operator, Timeline
from penstock.operators.histories import distinct, pointwise
from penstock.operators.kernels.netting import DISTINCT
from penstock.operators.set_operator import SetOperator
from penstock.plan.nodes import Distinct


def build(node: Distinct, context: Context) -> Operator:
    """The running operator."""
    return SetOperator(node, DISTINCT)


def reference(node: Distinct, relation: Timeline) -> Timeline:
    """Each row once, at every instant."""
    return pointwise(distinct, relation)
