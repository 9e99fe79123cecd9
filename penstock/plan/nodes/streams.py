"""How a relation becomes a stream (Babu 2.1.2)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.node import Kind, Node
from penstock.plan.nodes.checks import check_relations
from penstock.plan.schema import Schema


@dataclass(frozen=True, slots=True)
class IStream(Node):
    """Relation to stream: the multiset R(t) - R(t-1), at every t."""

    input: Node

    def _derive(self) -> Schema:
        check_relations((self.input,), "Istream")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM


@dataclass(frozen=True, slots=True)
class DStream(Node):
    """Relation to stream: the multiset R(t-1) - R(t), at every t."""

    input: Node

    def _derive(self) -> Schema:
        check_relations((self.input,), "Dstream")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM


@dataclass(frozen=True, slots=True)
class RStream(Node):
    """Relation to stream: the whole relation at each instant at which its net content changes and, with `boundaries`
    ((slide, first), ...), at every instant first + k * slide too, from the first change to the last."""

    input: Node
    boundaries: tuple[tuple[int, int], ...] = ()

    def _derive(self) -> Schema:
        check_relations((self.input,), "Rstream")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM
