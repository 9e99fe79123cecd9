"""Operators that group rows."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.node import Node
from penstock.plan.nodes.checks import bounded, check_relations, check_window
from penstock.plan.schema import Schema
from penstock.plan.types import Type
from penstock.plan.windows import Sliding, format_window


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate: `name` its output column, `argument` an input column (None: count(*)), `parameters` constants (a
    quantile's rank)."""

    name: str
    function: str
    argument: str | None
    type: Type
    distinct: bool = False
    parameters: tuple[object, ...] = ()

    def __str__(self) -> str:
        inner = ", ".join([("distinct " if self.distinct else "") + (self.argument or "*"), *map(str, self.parameters)])
        return f"{self.function}({inner}) as {self.name}"


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """Groups a relation by the columns `keys` (NULL is one value) and aggregates; a group without rows has no row,
    grouped or not."""

    input: Node
    keys: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]

    def _derive(self) -> Schema:
        check_relations((self.input,), "aggregate")
        return _aggregated(self.input, self.keys, self.aggregates)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return _aggregate_label(self.keys, self.aggregates)


@dataclass(frozen=True, slots=True)
class WindowAggregate(Node):
    """Stream to stream: one element for each non-empty window and group, stamped as the window is, `window_start` and
    `window_end` last."""

    input: Node
    window: Sliding
    keys: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]

    def _derive(self) -> Schema:
        check_window(self.input, self.window)
        return bounded(_aggregated(self.input, self.keys, self.aggregates), self.input, self.window)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return f"{_aggregate_label(self.keys, self.aggregates)} over {format_window(self.window)}"


@dataclass(frozen=True, slots=True)
class Distinct(Node):
    """Each distinct row of a relation once (duplicate-eliminate). NULLs are equal here."""

    input: Node

    def _derive(self) -> Schema:
        check_relations((self.input,), "distinct")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


def _aggregated(source: Node, keys: tuple[str, ...], aggregates: tuple[AggregateCall, ...]) -> Schema:
    for call in aggregates:
        if call.argument is not None:
            source.schema.index(call.argument)
    return Schema.of([*((k, source.schema.type_of(k)) for k in keys), *((a.name, a.type) for a in aggregates)])


def _aggregate_label(keys: tuple[str, ...], aggregates: tuple[AggregateCall, ...]) -> str:
    by = f" by {', '.join(keys)}" if keys else ""
    return f"aggregate {', '.join(map(str, aggregates))}{by}"
