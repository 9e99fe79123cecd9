"""AgeDrop: the tuples that arrived before an instant go, whatever they are: they can no longer be answered in time."""

from __future__ import annotations

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.plan.drops import AgeDrop
from penstock.plan.node import Node


class RunningAgeDrop:
    """Keeps the tuples that arrived at `drop.before` or later."""

    def __init__(self, drop: AgeDrop) -> None:
        self.drop = drop

    def __call__(self, train: Train) -> Train:
        """The tuples that stay."""
        return train.where(train.arrival >= self.drop.before)


def build(drop: AgeDrop, node: Node, context: Context) -> RunningAgeDrop:
    """The drop, ready to run on trains of `node`."""
    return RunningAgeDrop(drop)
