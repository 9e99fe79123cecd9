"""Operators that look at one element at a time."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import PenstockError
from penstock.plan.expressions import Expression, format_expression
from penstock.plan.node import Node
from penstock.plan.nodes.checks import check_expression
from penstock.plan.schema import Schema
from penstock.plan.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Keeps the elements for which `predicate` is true (not false, not NULL). Its conjuncts are evaluated in their
    order."""

    input: Node
    predicate: Expression

    def _derive(self) -> Schema:
        check_expression(self.predicate, self.input.schema, BOOLEAN)
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return f"filter {format_expression(self.predicate)}"


@dataclass(frozen=True, slots=True)
class Map(Node):
    """Duplicate-preserving projection: each output column an expression over the input's (project; Aurora's Map)."""

    input: Node
    outputs: tuple[tuple[str, Expression], ...]

    def _derive(self) -> Schema:
        for _, e in self.outputs:
            check_expression(e, self.input.schema)
        return Schema.of((name, e.type) for name, e in self.outputs)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        shown = (n if format_expression(e) == n else f"{format_expression(e)} as {n}" for n, e in self.outputs)
        return f"map {', '.join(shown)}"


@dataclass(frozen=True, slots=True)
class Delay(Node):
    """Passes its input on and costs `cost_s` seconds of processor time a tuple: busy on the wall clock, charged in
    virtual time."""

    input: Node
    cost_s: float

    def _derive(self) -> Schema:
        if self.cost_s < 0:
            raise PenstockError(f"a delay box costs {self.cost_s} s a tuple: the cost cannot be negative")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return f"delay {self.cost_s * 1e6:g} us a tuple"
