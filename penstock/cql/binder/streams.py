"""Istream, Dstream and Rstream (Babu 2.1.2)."""

from __future__ import annotations

from penstock.cql.binder.problems import Problems
from penstock.cql.grammar.syntax import Operator
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import DStream, IStream, RStream, Window
from penstock.plan.windows import SlideRange


def to_stream(operator: Operator, node: Node, problems: Problems) -> Node | None:
    """`operator` applied to `node`. Istream of what is a stream is that stream: nothing ever leaves its unbounded
    window."""
    if node.kind is Kind.STREAM:
        if operator.word == "istream":
            return node
        problems.report(
            f"{operator.word.capitalize()} needs a relation, and this is a stream",
            operator.span,
            help="bound the stream with a window: S [Range 10 Minutes]",
        )
        return None
    if operator.word == "rstream":
        return RStream(node, boundaries(node))
    return IStream(node) if operator.word == "istream" else DStream(node)


def boundaries(node: Node) -> tuple[tuple[int, int], ...]:
    """The boundaries of the sliding time windows that the relation `node` is made of: (slide, first one from 0 on)."""
    found: set[tuple[int, int]] = set()
    stack, seen = [node], set[Node]()
    while stack:
        part = stack.pop()
        if part in seen or part.kind is Kind.STREAM:
            continue
        seen.add(part)
        if isinstance(part, Window) and isinstance(part.spec, SlideRange) and part.spec.on is None:
            slide = int(part.spec.slide)
            found.add((slide, int(part.spec.origin + part.spec.size) % slide))
        stack += part.inputs
    return tuple(sorted(found))
