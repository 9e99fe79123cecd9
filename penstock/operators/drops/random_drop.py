"""RandomDrop: each tuple goes with the same probability, by a hash (Tatbul 3.5).

A relation's `-` has the values of its `+`, and on a relation it is the values alone that decide: both go, or neither.
"""

from __future__ import annotations

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.drops.identity import draws
from penstock.plan.drops import RandomDrop
from penstock.plan.node import Node


class RunningRandomDrop:
    """Keeps the tuples whose draw is `rate` at least; weighted, what stays stands for what went."""

    def __init__(self, drop: RandomDrop, node: Node, context: Context) -> None:
        self.drop = drop
        self.node = node
        self.context = context

    def __call__(self, train: Train) -> Train:
        """The tuples that stay."""
        drop = self.drop
        kept = train.where(draws(train, self.node, drop.seed, self.context) >= drop.rate)
        return kept.reweighted(np.float64(1 / (1 - drop.rate))) if drop.weighted and drop.rate < 1 else kept


def build(drop: RandomDrop, node: Node, context: Context) -> RunningRandomDrop:
    """The drop, ready to run on trains of `node`."""
    return RunningRandomDrop(drop, node, context)
