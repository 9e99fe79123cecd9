"""Constant folding: what can be computed once is, and a filter that always holds goes."""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expressions import TRUE
from penstock.plan.fold import fold
from penstock.plan.node import Node, rewrite
from penstock.plan.nodes import Filter, Join, Map, Read, SemiJoin


def fold_constants(root: Node) -> Node:
    """`root` with folded expressions.

    >>> from penstock.plan.expressions import Column
    >>> from penstock.plan.functions import call
    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.expressions import Literal
    >>> from penstock.plan.schema import Schema
    >>> from penstock.plan.types import INT
    >>> s = Source("s", Schema.parse("a int"))
    >>> fold_constants(Filter(s, call("<", Literal(1, INT), Literal(2, INT)))) == s
    True
    """
    return rewrite(root, _folded)


def _folded(node: Node) -> Node:
    if isinstance(node, Filter):
        predicate = fold(node.predicate)
        return node.input if predicate == TRUE else replace(node, predicate=predicate)
    if isinstance(node, Join | SemiJoin | Read):
        return replace(node, predicate=fold(node.predicate))
    if isinstance(node, Map):
        return replace(node, outputs=tuple((name, fold(e)) for name, e in node.outputs))
    return node
