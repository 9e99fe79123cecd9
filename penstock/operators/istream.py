"""Istream (Babu 2.1.2): at every instant t the rows of R(t) - R(t-1), as a bag.

So of two equal rows one microsecond apart, Istream over [Now] emits only the first: the second replaces its twin.
"""

from __future__ import annotations

from penstock.operators.base import Context, Operator, Stream, Timeline
from penstock.operators.delta_stream import DeltaStream
from penstock.operators.histories import changes
from penstock.plan.nodes import IStream


def build(node: IStream, context: Context) -> Operator:
    """The running operator."""
    return DeltaStream(1)


def reference(node: IStream, relation: Timeline) -> Stream:
    """What each instant adds to the content of the instant before."""
    return changes(relation, entering=True)
