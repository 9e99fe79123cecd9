"""Which module runs which node. A new operator is one new file and one line here."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, Final, cast

from penstock.operators.base import Context, Operator, Stream, Timeline
from penstock.plan import nodes
from penstock.plan.node import Node

MODULES: Final[tuple[tuple[type[Node], str], ...]] = (
    (nodes.Source, "source"),
    (nodes.Table, "table"),
    (nodes.Window, "window"),
    (nodes.Filter, "filter"),
    (nodes.Map, "map"),
    (nodes.Delay, "delay"),
    (nodes.Union, "union"),
    (nodes.Join, "join"),
    (nodes.SemiJoin, "semijoin"),
    (nodes.FilterPipeline, "filter_pipeline"),
    (nodes.Except, "except_"),
    (nodes.Intersect, "intersect"),
    (nodes.Distinct, "distinct"),
    (nodes.Aggregate, "aggregate"),
    (nodes.WindowAggregate, "window_aggregate"),
    (nodes.IStream, "istream"),
    (nodes.DStream, "dstream"),
    (nodes.RStream, "rstream"),
    (nodes.BSort, "bsort"),
    (nodes.Resample, "resample"),
    (nodes.Read, "read"),
)
"""Each node type and its module in this package, imported when the first such node is built."""
_BY_TYPE: Final = dict(MODULES)


def module(node: Node | type[Node]) -> ModuleType:
    """The module that runs `node`."""
    kind = node if isinstance(node, type) else type(node)
    return import_module(f"penstock.operators.{_BY_TYPE[kind]}")


def build(node: Node, context: Context) -> Operator:
    """The running operator of `node`, with empty state."""
    return cast(Operator, module(node).build(node, context))


def reference(node: Node, *inputs: Any) -> Stream | Timeline:
    """The naive result of `node` over whole histories; `Source` and `Table` get the list of what was fed."""
    return cast(Stream | Timeline, module(node).reference(node, *inputs))
