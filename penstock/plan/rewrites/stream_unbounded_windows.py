"""Istream over an unbounded window is the stream itself (Babu 2.1.3's shortcut, read backwards): no state is needed."""

from __future__ import annotations

from penstock.plan.node import Node, rewrite
from penstock.plan.nodes import Filter, IStream, Map, Window
from penstock.plan.windows import Range, Rows


def stream_unbounded_windows(root: Node) -> Node:
    """`root` without the windows that only gain rows, where nothing but filters and maps lies between them and an
    Istream.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> s = Source("s", Schema.parse("a int"))
    >>> stream_unbounded_windows(IStream(Window(s, Rows(None)))) == s
    True
    """
    return rewrite(root, lambda node: (_unwindowed(node.input) or node) if isinstance(node, IStream) else node)


def _unwindowed(node: Node) -> Node | None:
    """The same filters and maps over the stream below the window; None where something else is in between."""
    if isinstance(node, Window):
        return node.input if unbounded(node) else None
    if isinstance(node, Filter | Map):
        below = _unwindowed(node.input)
        return None if below is None else node.with_inputs((below,))
    return None


def unbounded(window: Window) -> bool:
    """True where the window never loses a row."""
    spec = window.spec
    return (isinstance(spec, Range) and spec.size is None) or (isinstance(spec, Rows) and spec.count is None)
