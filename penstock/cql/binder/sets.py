"""UNION, EXCEPT and INTERSECT: columns meet by position, their types are widened where they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.cql.binder.core import Binder, require_relation
from penstock.cql.binder.outputs import project
from penstock.cql.grammar.syntax import Name, Query, Select, SetOperation
from penstock.errors import Span
from penstock.plan import functions
from penstock.plan.expressions import Column
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import Distinct, Except, Intersect, Union
from penstock.plan.types import Type, common_type

_DISTINCT_OR_ALL: Final[dict[str, Callable[[Node, Node, bool], Node]]] = {"except": Except, "intersect": Intersect}


def bind_set_operation(query: SetOperation, binder: Binder, as_relation: bool) -> Node | None:
    """The plan of `query`. UNION ALL of streams is a stream; everything else is over relations."""
    stream = query.word == "union" and query.all and not as_relation
    members = [binder.query(m, not stream) for m in query.members]
    if stream and len({m.kind for m in members if m is not None}) > 1:
        members = [binder.query(m, True) for m in query.members]
    union_of_streams = query.word == "union" and query.all and all(m is None or m.kind is Kind.STREAM for m in members)
    if not union_of_streams:
        what = f"{query.word.upper()}{' ALL' if query.all else ''}"
        members = [
            require_relation(n, what, *_blamed(m), binder.catalog.problems)
            for n, m in zip(members, query.members, strict=True)
        ]
    aligned = _aligned([m for m in members if m is not None], query, binder)
    if aligned is None or len(aligned) < len(members):
        return None
    if query.word != "union":
        return _DISTINCT_OR_ALL[query.word](aligned[0], aligned[1], query.all)
    united = Union(tuple(aligned))
    return united if query.all else Distinct(united)


def _blamed(query: Query) -> tuple[str | None, Span]:
    """What lacks a window where `query` is a stream: the stream it reads, where it reads one."""
    if isinstance(query, Select) and isinstance(query.items[0].source, Name):
        return query.items[0].source.text, query.items[0].span
    return None, query.span


def _aligned(members: list[Node], query: SetOperation, binder: Binder) -> list[Node] | None:
    """`members` with the same column types."""
    if not members:
        return None
    problems, word = binder.catalog.problems, query.word.upper()
    if len({len(m.schema) for m in members}) > 1:
        counts = " and ".join(str(len(m.schema)) for m in members)
        problems.report(
            f"{word} of rows with {counts} columns",
            query.operator_span,
            help="both queries give the same number of columns",
        )
        return None
    types: list[Type] = []
    for i, field in enumerate(members[0].schema):
        common = common_type([m.schema.types[i] for m in members])
        if common is None:
            given = " and ".join(str(m.schema.types[i]) for m in members)
            problems.report(f"{word}: column '{field.name}' is {given}", query.operator_span, help="cast one of them")
            return None
        types.append(common)
    return [_cast(m, types) for m in members]


def _cast(node: Node, types: list[Type]) -> Node:
    columns = [(f.name, functions.cast(Column(f.name, f.type), t)) for f, t in zip(node.schema, types, strict=True)]
    return project(node, columns)
