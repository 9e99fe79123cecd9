"""Union: streams merged in the total order (Aurora), relations as bags (Babu table 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from penstock.operators.base import Context, Operator, Stateless, Stream, Timeline, order_key
from penstock.operators.columns.train import Train, merge_trains
from penstock.operators.histories import pointwise
from penstock.plan.node import Kind
from penstock.plan.nodes import Union


class StreamUnion(Stateless):
    """Elements keep their place in the stream they come from."""

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """All elements by timestamp, then place."""
        return merge_trains(inputs)


class RelationUnion(Stateless):
    """Row numbers of different stores mean nothing side by side, so they are left behind."""

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """All changes by timestamp."""
        return merge_trains([t.unplaced() for t in inputs])


def build(node: Union, context: Context) -> Operator:
    """The running operator."""
    return StreamUnion() if node.kind is Kind.STREAM else RelationUnion()


def reference(node: Union, *histories: Stream | Timeline) -> Stream | Timeline:
    """All rows of all inputs."""
    if node.kind is Kind.STREAM:
        return sorted((e for h in cast(tuple[Stream, ...], histories) for e in h), key=order_key)
    return pointwise(lambda *contents: [r for c in contents for r in c], *cast(tuple[Timeline, ...], histories))
