"""A delay box: passes tuples on, and costs a stated processor time for each (the papers' synthetic operators).

The box says what it costs, the lane that runs it spends it: it is busy for that long on the wall clock, and charges it
to the clock in virtual time. So operators never read a clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.operators.base import Context, Stateless, Stream, Timeline
from penstock.operators.columns.train import Train
from penstock.plan.nodes import Delay


class DelayOperator(Stateless):
    """`cost_s` seconds of processor time for each element, `-` included."""

    def __init__(self, cost_s: float) -> None:
        self.cost_s = cost_s

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Passes the train on."""
        return inputs[0]


def build(node: Delay, context: Context) -> DelayOperator:
    """The running operator."""
    return DelayOperator(node.cost_s)


def reference(node: Delay, history: Stream | Timeline) -> Stream | Timeline:
    """The input: time spent changes no result."""
    return history
