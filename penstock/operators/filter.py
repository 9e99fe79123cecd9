"""Filter (select): the elements for which a predicate is true.

The same for streams and relations: a row's `-` meets the same answer as its `+`.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.operators.base import Context, Event, Operator, Row, Snapshot, Stateless, Stream, Timeline
from penstock.operators.columns.train import Train
from penstock.operators.filter_chain import FilterChain, Profiled
from penstock.operators.vector_eval import Condition
from penstock.plan.filters import Order, Profiling, filters_of, protectors
from penstock.plan.functions import SetAside, evaluate
from penstock.plan.node import Kind
from penstock.plan.nodes import Filter


class FilterOperator(Stateless):
    """The predicate's conjuncts shrink a selection, one after another; nothing is copied."""

    def __init__(self, node: Filter, context: Context) -> None:
        tests = [Condition(c, node.input.schema, context) for c in filters_of(node)]
        self.chain = FilterChain(tests, protectors(node), context)

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The elements that stay, with `ids` and `seq` as they were."""
        return self.chain(inputs[0])

    def arrange(self, order: Order | None, profiling: Profiling | None) -> None:
        """The conjuncts in another order (None: as written), and what of them to measure."""
        self.chain.arrange(order, profiling)

    def profiled(self) -> Profiled | None:
        """What was measured since this was asked the last time."""
        return self.chain.profiled()


def build(node: Filter, context: Context) -> Operator:
    """The running operator."""
    return FilterOperator(node, context)


def reference(node: Filter, history: Stream | Timeline) -> Stream | Timeline:
    """Row by row."""
    if node.kind is Kind.STREAM:
        return [e for e in history if isinstance(e, Event) and _stays(node, e.row)]
    return [Snapshot(s.ts, [r for r in s.rows if _stays(node, r)]) for s in history if isinstance(s, Snapshot)]


def _stays(node: Filter, row: Row) -> bool:
    try:
        return evaluate(node.predicate, dict(zip(node.schema.names, row, strict=True))) is True
    except SetAside:
        return False
