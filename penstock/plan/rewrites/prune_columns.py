"""Projection pruning: an operator that combines or keeps rows gets only the columns that somebody above it reads.

The maps go above windows, not below: the store under a stream stays one for all queries, and a map of plain columns
costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expressions import Column, columns
from penstock.plan.node import Node, rewrite
from penstock.plan.nodes import Aggregate, AggregateCall, Filter, FilterPipeline, Join, Map, SemiJoin, WindowAggregate
from penstock.plan.rewrites.places import orders_by_value
from penstock.plan.windows import SlideRows


def prune_columns(root: Node) -> Node:
    """`root` with narrow inputs under joins, semijoins' right sides and aggregates, and maps over maps made one.

    >>> from penstock.plan.functions import call
    >>> from penstock.plan.nodes import Source, Window
    >>> from penstock.plan.schema import Schema
    >>> from penstock.plan.types import INT
    >>> from penstock.plan.windows import Range
    >>> w = Window(Source("s", Schema.parse("a int, b int, c int")), Range(5))
    >>> j = Join((w, w), call("=", Column("0.a", INT), Column("1.a", INT)))
    >>> pruned = prune_columns(Map(j, (("b", Column("1.b", INT)),)))
    >>> pruned.inputs[0].schema.names
    ('0.a', '1.a', '1.b')
    """
    return rewrite(_narrowed(root, frozenset(root.schema.names)), _merged_maps)


def needed_columns(*roots: Node) -> dict[Node, frozenset[str]]:
    """For every stream and relation under `roots`, the columns that some query reads: what a source has to deliver."""
    needs: dict[Node, set[str]] = {}
    for root in roots:
        _collect(root, frozenset(root.schema.names), needs)
    return {node: frozenset(names) for node, names in needs.items()}


def _narrowed(node: Node, needed: frozenset[str]) -> Node:
    """`node` with inputs that carry what `needed` asks for; its own schema may lose columns only where it is a join or
    a map."""
    if isinstance(node, Map):
        outputs = tuple((n, e) for n, e in node.outputs if n in needed) or node.outputs[:1]
        node, needed = replace(node, outputs=outputs), frozenset(n for n, _ in outputs)
    inputs = []
    for i, (member, names) in enumerate(zip(node.inputs, _read(node, needed), strict=True)):
        below = _narrowed(member, names)
        inputs.append(_picked(below, names) if _cuts(node, i) else below)
    return node.with_inputs(tuple(inputs))


def _cuts(node: Node, position: int) -> bool:
    """True where a map may stand under input `position` of `node`: its columns go by name, and its result does not
    depend on the others, nor on their part in the order of the elements."""
    if isinstance(node, WindowAggregate):
        return not orders_by_value(node)
    return isinstance(node, Join | Aggregate) or (isinstance(node, SemiJoin) and position == 1)


def _picked(node: Node, names: frozenset[str]) -> Node:
    kept = tuple((f.name, Column(f.name, f.type)) for f in node.schema if f.name in names) or tuple(
        (f.name, Column(f.name, f.type)) for f in node.schema.fields[:1]
    )
    return node if len(kept) == len(node.schema) else Map(node, kept)


def _read(node: Node, needed: frozenset[str]) -> tuple[frozenset[str], ...]:
    """The columns that `node` reads of each input when `needed` of its own are wanted."""
    if isinstance(node, Map):
        return (frozenset(c for n, e in node.outputs if n in needed for c in columns(e)),)
    if isinstance(node, Filter):
        return (needed | columns(node.predicate),)
    if isinstance(node, Join):
        wanted = needed | columns(node.predicate)
        return tuple(
            frozenset(n.partition(".")[2] for n in wanted if n.partition(".")[0] == str(i))
            for i in range(len(node.members))
        )
    if isinstance(node, SemiJoin):
        right = frozenset(n[2:] for n in columns(node.predicate) if n.startswith("1."))
        return (frozenset(node.left.schema.names), right)
    if isinstance(node, FilterPipeline):
        read = [name.partition(".")[::2] for name in columns(node.predicate)]
        probed = (frozenset(n for i, n in read if i == str(place)) for place in range(1, len(node.inputs)))
        return (frozenset(node.left.schema.names), *probed)
    if isinstance(node, Aggregate) or (isinstance(node, WindowAggregate) and not orders_by_value(node)):
        return (frozenset(node.keys) | _arguments(node.aggregates) | _numbering(node),)
    return tuple(frozenset(i.schema.names) for i in node.inputs)


def _arguments(aggregates: tuple[AggregateCall, ...]) -> frozenset[str]:
    return frozenset(a.argument for a in aggregates if a.argument is not None)


def _numbering(node: Aggregate | WindowAggregate) -> frozenset[str]:
    """The columns that a sliding window itself reads."""
    if isinstance(node, Aggregate):
        return frozenset()
    window = node.window
    return frozenset(window.by) if isinstance(window, SlideRows) else frozenset((window.on,) if window.on else ())


def _collect(node: Node, needed: frozenset[str], needs: dict[Node, set[str]]) -> None:
    if not node.inputs:
        needs.setdefault(node, set()).update(needed)
    for member, names in zip(node.inputs, _read(node, needed), strict=True):
        _collect(member, names, needs)


def _merged_maps(node: Node) -> Node:
    """A map of plain columns over a map is that map, narrowed and renamed; a map that changes nothing goes."""
    if not isinstance(node, Map):
        return node
    if isinstance(node.input, Map) and all(isinstance(e, Column) for _, e in node.outputs):
        below = dict(node.input.outputs)
        node = Map(node.input.input, tuple((n, below[e.name]) for n, e in node.outputs if isinstance(e, Column)))
    identity = tuple((f.name, Column(f.name, f.type)) for f in node.input.schema)
    return node.input if node.outputs == identity else node
