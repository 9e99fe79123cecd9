"""What it means that a delivered result is a subset of the exact one, and a look at both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from penstock.lane.reference import Element
from penstock.operators.histories import row_key
from penstock.plan.network import Network, Query
from penstock.plan.node import Kind, Node, rewrite
from penstock.plan.nodes import Filter, IStream, Map

Key = tuple[int, Any]


def counted(elements: Sequence[Element]) -> Counter[Key]:
    return Counter((e.ts, row_key(e.row)) for e in elements)


def contents(elements: Sequence[Element]) -> dict[int, Counter[Any]]:
    """What a relation holds after each instant at which it changes."""
    held: Counter[Any] = Counter()
    after: dict[int, Counter[Any]] = {}
    for e in sorted(elements, key=lambda e: e.ts):
        held[row_key(e.row)] += e.sign
        after[e.ts] = Counter({k: c for k, c in held.items() if c})
    return after


def at(held: dict[int, Counter[Any]], instant: int) -> Counter[Any]:
    """What is held at `instant`."""
    before = [t for t in held if t <= instant]
    return held[max(before)] if before else Counter()


def beyond(query: Query, found: Sequence[Element], exact: Sequence[Element], entered: Sequence[Element]) -> str:
    """What of `found` the exact answer does not have; `entered` are the changes of the relation whose Istream it is."""
    if query.root.kind is Kind.RELATION:
        mine, whole = contents(found), contents(exact)
        for t in sorted({*mine, *whole}):
            more = {k: c for k, c in at(mine, t).items() if not 0 <= c <= at(whole, t)[k]}
            if more:
                return f"at {t}: {more}"
        return ""
    allowed, relation = counted(exact), Counter((e.ts, row_key(e.row)) for e in entered if e.sign > 0)
    more = {k: c for k, c in counted(found).items() if c > max(allowed[k], relation[k])}
    return str(more) if more else ""


def with_entries(network: Network) -> Network:
    """The network and, for each query that shows what enters a relation, one for that relation."""
    return Network(network.streams, network.relations, (*network.queries, *_entries(network)))


def entries(name: str) -> str:
    return f"what enters {name}"


def _entries(network: Network) -> Iterator[Query]:
    for query in network.queries:
        top: Node = query.root
        while isinstance(top, Filter | Map):
            top = top.input
        if isinstance(top, IStream):
            yield Query(entries(query.name), rewrite(query.root, partial(_without, top)))


def _without(gone: Node, node: Node) -> Node:
    return node.inputs[0] if node == gone else node
