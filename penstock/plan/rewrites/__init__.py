"""Passes from plan to plan, in their order. Each keeps every result as it was; the schema of each query is checked
after each pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.rewrites.fold_constants import fold_constants
from penstock.plan.rewrites.pipeline_filters import pipeline_filters
from penstock.plan.rewrites.prune_columns import prune_columns
from penstock.plan.rewrites.push_down_filters import push_down_filters
from penstock.plan.rewrites.stream_unbounded_windows import stream_unbounded_windows

Pass = Callable[[Node], Node]
PASSES: Final[tuple[Pass, ...]] = (
    fold_constants,
    stream_unbounded_windows,
    push_down_filters,
    prune_columns,
    pipeline_filters,
)


def optimize_node(root: Node) -> Node:
    """`root` after all passes."""
    for rewriting in PASSES:
        after = rewriting(root)
        if after.schema != root.schema or after.kind is not root.kind:
            raise AssertionError(
                f"pass {rewriting.__name__} changed the result's shape: {root.schema} became {after.schema}"
            )
        root = after
    return root


def optimize(network: Network) -> Network:
    """`network` with every query rewritten; equal sub-plans stay equal, since each pass looks at one query alone."""
    return replace(network, queries=tuple(replace(q, root=optimize_node(q.root)) for q in network.queries))
