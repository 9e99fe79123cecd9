"""Windows whose rows lie in one store (Babu 2.3.1).

Windows over one stream number its rows alike. A drop before one of them alone would leave the others with rows that it
does not know of, and the numbers would name other rows: so drops stand before all windows over a stream, or behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.plan.node import Node
from penstock.plan.nodes import Window

WHY: Final = "its rows lie in one store with those of other windows over the stream"


def in_one_store(nodes: Iterable[Node]) -> frozenset[Node]:
    """The windows over streams that other windows are over, too.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> from penstock.plan.windows import Range
    >>> s, t = (Source(n, Schema.parse("a int")) for n in "st")
    >>> sorted(w.spec.size for w in in_one_store([Window(s, Range(3)), Window(t, Range(5)), Window(t, Range(7))]))
    [5, 7]
    """
    over: dict[Node, set[Node]] = {}
    for node in nodes:
        if isinstance(node, Window):
            over.setdefault(node.input, set()).add(node)
    return frozenset(w for windows in over.values() if len(windows) > 1 for w in windows)
