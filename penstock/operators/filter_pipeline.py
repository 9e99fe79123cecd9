"""Pipelined filters (Babu 4.1, 4.7): the tuples of a stream that meet all conditions and have partners in all of the
relations that are probed, at their instant.

What is kept of the stream is what has passed and has not left: a tuple is in the result at its own instant alone. Of
each relation the keys are kept, in a hash index, with the number of rows that bear them; a filter is a probe, or a
condition, and a chain evaluates them in the order that the plan says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.operators.base import Context, Event, Operator, Row, Snapshot, Stream, Timeline, content, instants
from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.columns.vector import Vector
from penstock.operators.filter_chain import FilterChain, Profiled, Test
from penstock.operators.membership import Membership
from penstock.operators.vector_eval import Condition
from penstock.plan.expressions import Expression, columns, conjuncts
from penstock.plan.filters import Order, Profiling, protectors
from penstock.plan.functions import SetAside, evaluate
from penstock.plan.nodes import FilterPipeline
from penstock.plan.nodes.pipeline import equality, own, probes
from penstock.plan.types import Type
from penstock.plan.windows import END


class FilterPipelineOperator:
    """`members` are the relations; `passed` has the elements that are in the result and leave it next."""

    def __init__(self, node: FilterPipeline, context: Context) -> None:
        self.types = node.left.schema.types
        self.members: dict[int, Membership] = {}
        self.chain = FilterChain([self._test(node, f, context) for f in node.filters], protectors(node), context)
        self.passed = Train.empty(node.schema)

    def _test(self, node: FilterPipeline, part: Expression, context: Context) -> Test:
        i = probes(part)
        if not i:
            return Condition(own(part), node.left.schema, context)
        pairs = [pair for e in conjuncts(part) if (pair := equality(e, i)) is not None]
        self.members[i] = Membership(pairs, node.left.schema, node.inputs[i].schema, context)
        return self.members[i]

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The elements that pass enter at their instants and leave one microsecond later."""
        for i, member in self.members.items():
            member.change(inputs[i])
        entering = self.chain(inputs[0])
        for member in self.members.values():
            member.settle()
        standing = concat_trains([self.passed, entering]) if len(self.passed) else entering
        cut = int(np.searchsorted(standing.ts, min(until, END) - 1))
        leaving, self.passed = standing.slice(0, cut), standing.slice(cut, len(standing)).dense()
        return _merged(entering, leaving)

    def next_instant(self) -> int | None:
        """When the oldest element leaves."""
        if not len(self.passed):
            return None
        leaves = int(self.passed.ts[0]) + 1
        return leaves if leaves < END else None

    def nbytes(self) -> int:
        """The relations' keys."""
        return sum(m.nbytes for m in self.members.values())

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """All keys, and the elements that leave next."""
        for member in self.members.values():
            yield from member.vectors()
        yield from zip(self.types, self.passed.columns, strict=True)

    def arrange(self, order: Order | None, profiling: Profiling | None) -> None:
        """The filters in another order (None: as written), and what of them to measure."""
        self.chain.arrange(order, profiling)

    def profiled(self) -> Profiled | None:
        """What was measured since this was asked the last time."""
        return self.chain.profiled()


def _merged(entering: Train, leaving: Train) -> Train:
    """Both as changes of the result, in the order of time; what leaves comes first."""
    if not len(leaving):
        return entering.unplaced()
    ts = np.concatenate((leaving.ts + 1, entering.ts))
    order = np.argsort(ts, kind="stable")
    sign = np.repeat(np.array([-1, 1], np.int8), (len(leaving), len(entering)))[order]
    both = concat_trains([leaving, entering]).take(order)
    return Train(both.columns, ts[order], sign, None, both.arrival, both.weight)


def build(node: FilterPipeline, context: Context) -> Operator:
    """The running operator."""
    return FilterPipelineOperator(node, context)


def reference(node: FilterPipeline, stream: Stream, *relations: Timeline) -> Timeline:
    """Every tuple with every row, at every instant at which a tuple comes."""
    moments = sorted({t for e in stream for t in (e.ts, e.ts + 1) if t < END} | set(instants(*relations)))
    return [Snapshot(t, [e.row for e in stream if e.ts == t and _stays(node, e, relations)]) for t in moments]


def _stays(node: FilterPipeline, event: Event, relations: Sequence[Timeline]) -> bool:
    left = {f"0.{name}": value for name, value in zip(node.left.schema.names, event.row, strict=True)}
    try:
        return all(_holds(node, part, left, relations, event.ts) for part in node.filters)
    except SetAside:
        return False


def _holds(node: FilterPipeline, part: Expression, left: dict[str, object], relations: Sequence[Timeline],
           instant: int) -> bool:  # fmt: skip
    i = probes(part)
    if not i:
        return evaluate(part, left) is True

    def named(row: Row) -> dict[str, object]:
        return {f"{i}.{name}": value for name, value in zip(node.inputs[i].schema.names, row, strict=True)}

    rows = content(relations[i - 1], instant)
    return any(evaluate(part, left | named(row)) is True for row in rows) if columns(part) else False
