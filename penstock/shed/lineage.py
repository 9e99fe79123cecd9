"""Where a query's output column comes from: the columns that hold the same value further up (Tatbul 3.7).

A semantic drop can stand wherever the valued column exists as a plain column. Operators that keep values pass it on; a
Map does where it only names the column; an equi-join has it on both sides (3.7.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.equalities import equal_to
from penstock.plan.expressions import Column
from penstock.plan.node import Node
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
    RStream,
    SemiJoin,
    Union,
    Window,
    WindowAggregate,
)

_SAME = (Filter, Delay, Window, Distinct, IStream, DStream, RStream)


def lineage(root: Node, column: str) -> dict[Node, str]:
    """Each node of the plan under `root` that has `column` of the result as a plain column, and its name there.

    >>> from penstock.cql import compile_script
    >>> network = compile_script("CREATE STREAM s (a INT, b INT); CREATE QUERY q AS SELECT a AS x, a + b AS y FROM s")
    >>> [len(lineage(network.query("q").root, c)) == len(network.nodes()) for c in ("x", "y")]
    [True, False]
    """
    found: dict[Node, str] = {}
    waiting = [(root, column)]
    while waiting:
        node, name = waiting.pop()
        if node not in found:
            found[node] = name
            waiting += _above(node, name)
    return found


def _above(node: Node, name: str) -> Iterator[tuple[Node, str]]:
    """The columns of the inputs that hold what column `name` of `node` does."""
    if isinstance(node, _SAME):
        yield node.inputs[0], name
    elif isinstance(node, Map):
        made = dict(node.outputs)[name]
        if isinstance(made, Column):
            yield node.input, made.name
    elif isinstance(node, Union | Except | Intersect):
        place = node.schema.index(name)
        members = node.members if isinstance(node, Union) else (node.left,)
        yield from ((member, member.schema.names[place]) for member in members)
    elif isinstance(node, SemiJoin):
        yield node.left, name
    elif isinstance(node, Join):
        yield from (_member(node, each) for each in sorted(equal_to(node, name)))
    elif isinstance(node, Aggregate | WindowAggregate) and name in node.keys:
        yield node.input, name


def _member(join: Join, name: str) -> tuple[Node, str]:
    number, _, column = name.partition(".")
    return join.members[int(number)], column
