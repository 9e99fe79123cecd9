"""Map (duplicate-preserving project): each element with its columns computed anew."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.operators.base import Context, Event, Operator, Row, Snapshot, Stateless, Stream, Timeline, order_key
from penstock.operators.columns.train import Train
from penstock.operators.vector_eval import projection
from penstock.plan.expressions import Column
from penstock.plan.functions import SetAside, evaluate
from penstock.plan.node import Kind
from penstock.plan.nodes import Map


class PickOperator(Stateless):
    """Plain columns in another order: no value is touched."""

    def __init__(self, indices: list[int]) -> None:
        self.indices = indices

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The same elements with the picked columns."""
        return inputs[0].pick(self.indices)


class MapOperator(Stateless):
    """At least one column is computed."""

    def __init__(self, node: Map, context: Context) -> None:
        self.outputs = projection([e for _, e in node.outputs], node.input.schema, context)

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The same elements with the computed columns, without those on which a user's function fails."""
        train, columns = self.outputs(inputs[0])
        return train.with_columns(columns)


def build(node: Map, context: Context) -> Operator:
    """The running operator."""
    plain = [node.input.schema.index(e.name) for _, e in node.outputs if isinstance(e, Column)]
    return PickOperator(plain) if len(plain) == len(node.outputs) else MapOperator(node, context)


def reference(node: Map, history: Stream | Timeline) -> Stream | Timeline:
    """Row by row; elements that tie are put in order anew, by their new values."""
    if node.kind is Kind.STREAM:
        mapped = (Event(e.ts, e.seq, r) for e in history if isinstance(e, Event) for r in _mapped(node, [e.row]))
        return sorted(mapped, key=order_key)
    return [Snapshot(s.ts, _mapped(node, s.rows)) for s in history if isinstance(s, Snapshot)]


def _mapped(node: Map, rows: list[Row]) -> list[Row]:
    names = node.input.schema.names
    mapped = []
    for row in rows:
        values = dict(zip(names, row, strict=True))
        try:
            mapped.append(tuple(evaluate(e, values) for _, e in node.outputs))
        except SetAside:
            continue
    return mapped
