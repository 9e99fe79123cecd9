"""Filter push-down: a conjunct moves below every operator that it commutes with (Babu 2.2.4).

Through time windows, never through windows of rows, which would then hold other rows; through partitioned ones only
where it reads nothing but the partition's columns. Through Istream and Dstream, never through Rstream, which would
then speak at other instants. Conjuncts that arrive at one place keep their order, so that one which can raise stays
behind those that protect it.
"""

from __future__ import annotations

from penstock.plan.expressions import Column, Expression, columns, conjunction, conjuncts, substitute, transform
from penstock.plan.node import Node, walk
from penstock.plan.nodes import (
    Aggregate,
    Delay,
    Distinct,
    DStream,
    Except,
    Filter,
    Intersect,
    IStream,
    Join,
    Map,
    SemiJoin,
    Union,
    Window,
    WindowAggregate,
)
from penstock.plan.windows import Range, Rows, SlideRange, SlideRows


def push_down_filters(root: Node) -> Node:
    """`root` with every conjunct as low as it goes.

    >>> from penstock.plan.expressions import Literal
    >>> from penstock.plan.functions import call
    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> from penstock.plan.types import INT
    >>> s = Source("s", Schema.parse("a int"))
    >>> p = call(">", Column("a", INT), Literal(1, INT))
    >>> push_down_filters(Filter(Window(s, Range(5)), p)) == Window(Filter(s, p), Range(5))
    True
    >>> push_down_filters(Filter(Window(s, Rows(5)), p)) == Filter(Window(s, Rows(5)), p)
    True
    """
    done: dict[Node, Node] = {}
    for node in walk(root):
        node_now = node.with_inputs(tuple(done[i] for i in node.inputs))
        if isinstance(node_now, Filter):
            done[node] = _pushed(node_now.input, conjuncts(node_now.predicate))
        elif isinstance(node_now, Join):
            done[node] = _split_join(node_now, ())
        else:
            done[node] = node_now
    return done[root]


def _pushed(node: Node, parts: tuple[Expression, ...]) -> Node:
    """`node` under a filter of `parts`, each as low as it goes."""
    if not parts:
        return node
    if isinstance(node, Join):
        return _split_join(node, parts)
    if isinstance(node, Map):
        return node.with_inputs((_pushed(node.input, _through_map(node, parts)),))
    if isinstance(node, Union | Intersect):
        names = node.schema.names
        return node.with_inputs(tuple(_pushed(i, _renamed(parts, names, i.schema.names)) for i in node.inputs))
    through = tuple(p for p in parts if _commutes(node, columns(p)))
    if through:
        first, *others = node.inputs
        node = node.with_inputs((_pushed(first, through), *others))
    rest = tuple(p for p in parts if p not in through)
    return Filter(node, conjunction(rest)) if rest else node


def _commutes(node: Node, read: frozenset[str]) -> bool:
    """True where a filter on the columns `read` may stand below `node`, on its first input."""
    if isinstance(node, IStream | DStream | Distinct | SemiJoin | Except | Delay):
        return True
    if isinstance(node, Aggregate):
        return read <= set(node.keys)
    if isinstance(node, WindowAggregate):
        return read <= set(node.keys) and _window_commutes(node.window, read)
    return isinstance(node, Window) and read <= set(node.input.schema.names) and _window_commutes(node.spec, read)


def _window_commutes(spec: Range | Rows | SlideRange | SlideRows, read: frozenset[str]) -> bool:
    if isinstance(spec, Range | SlideRange):
        return spec.on is None or (isinstance(spec, Range) and spec.size is None)
    return (isinstance(spec, Rows) and spec.count is None) or read <= set(spec.by) != set()


def _through_map(node: Map, parts: tuple[Expression, ...]) -> tuple[Expression, ...]:
    by_name = dict(node.outputs)
    return tuple(substitute(p, by_name) for p in parts)


def _renamed(parts: tuple[Expression, ...], names: tuple[str, ...], others: tuple[str, ...]) -> tuple[Expression, ...]:
    by_name = dict(zip(names, others, strict=True))
    return tuple(transform(p, lambda e: Column(by_name[e.name], e.type) if isinstance(e, Column) else e) for p in parts)


def _split_join(node: Join, parts: tuple[Expression, ...]) -> Node:
    """The join with each conjunct that reads one input alone moved into that input, the others in its predicate."""
    conditions = conjuncts(node.predicate) + parts
    owners = [{int(name.partition(".")[0]) for name in columns(c)} for c in conditions]
    members = []
    for i, member in enumerate(node.members):
        names = tuple(f"{i}.{n}" for n in member.schema.names)
        own = tuple(c for c, o in zip(conditions, owners, strict=True) if o == {i})
        members.append(_pushed(member, _renamed(own, names, member.schema.names) if own else ()))
    across = tuple(c for c, o in zip(conditions, owners, strict=True) if len(o) != 1)
    return Join(tuple(members), conjunction(across))
