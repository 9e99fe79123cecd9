"""Pipelining: the conditions on a stream and the semijoins of its tuples with relations become filters of one operator,
which evaluates them in the order that pays (Babu 4.1).

Taken are semijoins by equality over `[Now]`: at the instant of a tuple they say whether it stays, and nothing of it has
to be kept. Others, and NOT IN, stay above: semijoins commute.
"""

from __future__ import annotations

from penstock.plan.expressions import TRUE, Column, Expression, columns, conjuncts, substitute, walk
from penstock.plan.node import Kind, Node, rewrite
from penstock.plan.nodes import Filter, FilterPipeline, SemiJoin, Window
from penstock.plan.nodes.pipeline import equality
from penstock.plan.windows import Range


def pipeline_filters(root: Node) -> Node:
    """`root` with every such chain as one node.

    >>> from penstock.plan.functions import call
    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> from penstock.plan.types import INT
    >>> from penstock.plan.windows import Rows
    >>> s, t = Source("s", Schema.parse("a int")), Window(Source("t", Schema.parse("b int")), Rows(10))
    >>> equal = call("=", Column("0.a", INT), Column("1.b", INT))
    >>> chain = SemiJoin(SemiJoin(Window(s, Range(0)), t, equal), t, equal)
    >>> pipeline_filters(chain).label
    'filters (0.a = 1.b) AND (0.a = 2.b)'
    """
    return rewrite(root, _pipelined)


def _pipelined(node: Node) -> Node:
    """Inputs come first, so the chain below `node` is a pipeline already, perhaps under other semijoins."""
    if not isinstance(node, SemiJoin):
        return node
    below = node.left
    if isinstance(below, SemiJoin):
        moved = _pipelined(node.with_inputs((below.left, node.right)))
        return node if isinstance(moved, SemiJoin) else below.with_inputs((moved, below.right))
    if not _taken(node):
        return node
    if isinstance(below, FilterPipeline):
        i = len(below.members) + 1
        return FilterPipeline(below.left, (*below.members, node.right), (*below.filters, _probe(node, i)))
    if isinstance(below, Window) and below.spec == Range(0) and not below.bounds and below.input.kind is Kind.STREAM:
        stream, conditions = _filtered(below.input)
        return FilterPipeline(stream, (node.right,), (*conditions, _probe(node, 1)))
    return node


def _taken(node: SemiJoin) -> bool:
    parts = conjuncts(node.predicate)
    return not node.negated and node.predicate != TRUE and all(equality(p, 1) is not None for p in parts)


def _probe(node: SemiJoin, i: int) -> Expression:
    """The predicate with the right side as input `i`."""
    right = (e for e in walk(node.predicate) if isinstance(e, Column) and e.name.startswith("1."))
    return substitute(node.predicate, {e.name: Column(f"{i}.{e.name[2:]}", e.type) for e in right})


def _filtered(stream: Node) -> tuple[Node, tuple[Expression, ...]]:
    """The stream under a filter, and the filter's conditions by the names of input 0."""
    if not isinstance(stream, Filter):
        return stream, ()
    names = {f.name: Column(f"0.{f.name}", f.type) for f in stream.schema}
    parts = conjuncts(stream.predicate)
    if any(not columns(p) for p in parts):
        return stream, ()
    return stream.input, tuple(substitute(p, names) for p in parts)
