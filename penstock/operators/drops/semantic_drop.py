"""SemanticDrop: the tuples that matter least go, by what they say (Tatbul 3.7)."""

from __future__ import annotations

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.drops.identity import draws
from penstock.operators.vector_eval import predicate, projection
from penstock.plan.drops import SemanticDrop
from penstock.plan.node import Node


class RunningSemanticDrop:
    """Keeps the tuples for which the drop's condition is true; of some of them a part, by chance."""

    def __init__(self, drop: SemanticDrop, node: Node, context: Context) -> None:
        self.drop = drop
        self.node = node
        self.context = context
        self.keep = predicate(drop.keep, node.schema, context)
        self.partly = projection([drop.partly], node.schema, context) if drop.part > 0 else None

    def __call__(self, train: Train) -> Train:
        """The tuples that stay."""
        kept = self.keep(train)
        if self.partly is None:
            return kept
        _, (some,) = self.partly(kept)
        among = some.values if some.nulls is None else some.values & ~some.nulls
        return kept.where(~among | (draws(kept, self.node, self.drop.seed, self.context) >= self.drop.part))


def build(drop: SemanticDrop, node: Node, context: Context) -> RunningSemanticDrop:
    """The drop, ready to run on trains of `node`."""
    return RunningSemanticDrop(drop, node, context)
