"""SemanticDrop: the tuples that matter least go, by what they say (Tatbul 3.7)."""

from __future__ import annotations

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.vector_eval import predicate
from penstock.plan.drops import SemanticDrop
from penstock.plan.node import Node


class RunningSemanticDrop:
    """Keeps the tuples for which the drop's condition is true."""

    def __init__(self, drop: SemanticDrop, node: Node, context: Context) -> None:
        self.keep = predicate(drop.keep, node.schema, context)

    def __call__(self, train: Train) -> Train:
        """The tuples that stay."""
        return self.keep(train)


def build(drop: SemanticDrop, node: Node, context: Context) -> RunningSemanticDrop:
    """The drop, ready to run on trains of `node`."""
    return RunningSemanticDrop(drop, node, context)
