"""Istream over an unbounded window is the stream itself (Babu 2.1.3's shortcut, read backwards): no state is needed.

Not under an operator that reads the places of equal timestamps: the stream's elements have places of their own, those
of an Istream are ordered by their values.
"""

from __future__ import annotations

from penstock.plan.node import Node, walk
from penstock.plan.nodes import Filter, IStream, Map, Window
from penstock.plan.rewrites.places import reads_places
from penstock.plan.windows import Range, Rows


def stream_unbounded_windows(root: Node) -> Node:
    """`root` without the windows that only gain rows, where nothing but filters and maps lies between them and an
    Istream.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> s = Source("s", Schema.parse("a int"))
    >>> whole = IStream(Window(s, Rows(None)))
    >>> stream_unbounded_windows(whole) == s
    True
    >>> stream_unbounded_windows(Window(whole, Range(5))) == Window(s, Range(5))
    True
    >>> stream_unbounded_windows(Window(whole, Rows(5))) == Window(whole, Rows(5))
    True
    """
    ordered = {below for node in walk(root) if reads_places(node) for below in walk(node)}
    done: dict[Node, Node] = {}
    for node in walk(root):
        now = node.with_inputs(tuple(done[i] for i in node.inputs))
        done[node] = (_unwindowed(now.input) or now) if isinstance(now, IStream) and node not in ordered else now
    return done[root]


def _unwindowed(node: Node) -> Node | None:
    """The same filters and maps over the stream below the window; None where something else is in between."""
    if isinstance(node, Window):
        return node.input if unbounded(node) else None
    if isinstance(node, Filter | Map):
        below = _unwindowed(node.input)
        return None if below is None else node.with_inputs((below,))
    return None


def unbounded(window: Window) -> bool:
    """True where the window takes every row and never loses one; over an attribute it does not take a NULL."""
    spec = window.spec
    if isinstance(spec, Range):
        return spec.size is None and spec.on is None
    return isinstance(spec, Rows) and spec.count is None
