"""Dstream (Babu 2.1.2): at every instant t the rows of R(t-1) - R(t), as a bag."""

from __future__ import annotations

from penstock.operators.base import Context, Operator, Stream, Timeline
from penstock.operators.delta_stream import DeltaStream
from penstock.operators.histories import changes
from penstock.plan.nodes import DStream


def build(node: DStream, context: Context) -> Operator:
    """The running operator."""
    return DeltaStream(-1)


def reference(node: DStream, relation: Timeline) -> Stream:
    """What each instant takes from the content of the instant before."""
    return changes(relation, entering=False)
