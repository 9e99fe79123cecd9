"""A registered stream: what the input manager has put in order passes on."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.operators.base import Context, Operator, Stateless, Stream, order_key
from penstock.operators.columns.train import Train
from penstock.plan.nodes import Source


class SourceOperator(Stateless):
    """Its one input is what was fed."""

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Passes the train on."""
        return inputs[0]


def build(node: Source, context: Context) -> Operator:
    """The running operator."""
    return SourceOperator()


def reference(node: Source, fed: Stream) -> Stream:
    """What was fed, in the total order."""
    return sorted(fed, key=order_key)
