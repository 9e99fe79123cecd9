"""Networks and trains for tests of the lane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from penstock.lane.rows import rows_of, train_of
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.histories import row_key
from penstock.plan.expressions import Column, Literal
from penstock.plan.functions import call
from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import Filter, Source, Window
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT
from penstock.plan.windows import Range

S = Source("s", Schema.parse("a bigint, b string"))
T = Source("t", Schema.parse("a bigint, b string"))
Net = dict[tuple[int, Any], int]


def network(**roots: Node) -> Network:
    """A network of these queries."""
    return Network(queries=tuple(Query(name, root) for name, root in roots.items()))


def above(node: Node, least: int) -> Node:
    """The rows whose `a` is above `least`."""
    return Filter(node, call(">", Column("a", BIGINT), Literal(least, BIGINT)))


def window(node: Node, size: int) -> Node:
    """The last `size` microseconds."""
    return Window(node, Range(size))


def train(lane: Lane, rows: Sequence[tuple[int, Any, Any]], first: int = 0) -> Train:
    """A train of (ts, a, b), numbered from `first`."""
    stamps = [r[0] for r in rows]
    return train_of(S.schema, [r[1:] for r in rows], stamps, range(first, first + len(rows)), lane.dictionaries)


def push(lane: Lane, name: str, rows: Sequence[tuple[int, Any, Any]], progress: int, first: int = 0) -> None:
    """Pushes rows (ts, a, b) and runs the lane."""
    lane.push(name, train(lane, rows, first), progress)
    lane.run()


def collected(lane: Lane, query: str, node: Node) -> Net:
    """The net counts of what `query` produced since it was last taken."""
    counts: Counter[tuple[int, Any]] = Counter()
    for t in lane.take(query):
        rows = rows_of(t, node.schema, lane.dictionaries)
        for ts, sign, row in zip(t.ts.tolist(), t.sign.tolist(), rows, strict=True):
            counts[ts, row_key(row)] += sign
    return {k: c for k, c in counts.items() if c}
