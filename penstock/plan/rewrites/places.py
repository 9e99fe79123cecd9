"""Which operators read the order of elements that are stamped alike: a rewrite below them must not change it."""

from __future__ import annotations

from penstock.plan.aggregates import properties
from penstock.plan.node import Node
from penstock.plan.nodes import Aggregate, BSort, Delay, Filter, Map, Resample, Source, Window, WindowAggregate
from penstock.plan.windows import Rows, SlideRows, WindowSpec


def reads_places(node: Node) -> bool:
    """True where the result depends on the order of elements that are stamped alike. Elements of a derived stream are
    ordered by their values, so for them columns that nobody reads matter too.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> from penstock.plan.windows import Range
    >>> s = Source("s", Schema.parse("a int"))
    >>> reads_places(Window(s, Rows(2))), reads_places(Window(s, Range(2)))
    (True, False)
    """
    if isinstance(node, Window):
        return _counts(node.spec)
    if isinstance(node, Aggregate | WindowAggregate):
        counted = isinstance(node, WindowAggregate) and _counts(node.window)
        return counted or any(properties(a.function, a.distinct).order_sensitive for a in node.aggregates)
    return isinstance(node, BSort | Resample)


def orders_by_value(node: Node) -> bool:
    """True where `node` reads places, and those of its input may tie, so that values decide."""
    return reads_places(node) and not all(map(_placed, node.inputs))


def _placed(stream: Node) -> bool:
    """True where each element has a place of its own."""
    if isinstance(stream, Filter | Map | Delay):
        return _placed(stream.input)
    return isinstance(stream, Source | BSort)


def _counts(spec: WindowSpec) -> bool:
    return isinstance(spec, SlideRows) or (isinstance(spec, Rows) and spec.count is not None)
