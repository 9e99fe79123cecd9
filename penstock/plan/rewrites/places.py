"""Which operators read the order of elements that are stamped alike: a rewrite below them must not change it."""

from __future__ import annotations

from penstock.plan.aggregates import properties
from penstock.plan.node import Node
from penstock.plan.nodes import Aggregate, BSort, Delay, Filter, Map, Resample, Source, Window, WindowAggregate
from penstock.plan.windows import Rows, SlideRange, SlideRows, WindowSpec


def reads_places(node: Node) -> bool:
    """True where the result depends on the order of elements that are stamped alike. Elements of a derived stream are
    ordered by their values, so for them columns that nobody reads matter too.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> from penstock.plan.windows import Range, Rows, SlideRange
    >>> s = Source("s", Schema.parse("a int"))
    >>> reads_places(Window(s, Rows(2))), reads_places(Window(s, Range(2))), reads_places(Window(s, Range(2, "a")))
    (True, False, False)
    >>> reads_places(Window(s, SlideRange(2, 2))), reads_places(Window(s, SlideRange(2, 2, 0, "a")))
    (False, True)
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
    """True for windows that tuples move on, one after the other."""
    if isinstance(spec, SlideRange):
        return spec.on is not None
    return isinstance(spec, SlideRows) or (isinstance(spec, Rows) and spec.count is not None)
