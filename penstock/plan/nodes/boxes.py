"""Aurora's boxes that CQL has no word for (Tatbul 2.1.3)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import PenstockError
from penstock.plan.expressions import Expression, format_expression
from penstock.plan.node import Kind, Node
from penstock.plan.nodes.checks import check_expression, check_relations, check_stream, combined
from penstock.plan.nodes.combinations import Combination
from penstock.plan.schema import Schema
from penstock.plan.types import BOOLEAN, DOUBLE


@dataclass(frozen=True, slots=True)
class BSort(Node):
    """Aurora's bounded-pass sort: keeps the `slack` + 1 last tuples at most and, for each arrival past that, emits the
    one with the smallest `on` (NULL first, then the total order), stamped with the arrival's timestamp; what is left
    when time ends is stamped LAST."""

    input: Node
    on: str
    slack: int

    def _derive(self) -> Schema:
        check_stream(self.input, "BSort")
        self.input.schema.index(self.on)
        if not isinstance(self.slack, int) or self.slack < 0:
            raise PenstockError(f"BSort's slack is {self.slack!r}: it is a number of tuples, not a negative one")
        return self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def label(self) -> str:
        return f"bsort on {self.on}, slack {self.slack}"


@dataclass(frozen=True, slots=True)
class Resample(Combination):
    """Aligns `left` with `right`: each left tuple, extended (as `1.x`) by `values` of `right` interpolated linearly at
    its timestamp.

    The neighbours are the last right tuple at or before it and the first after it, each at most `within` microseconds
    away; one neighbour alone gives its value, none gives NULL, a right tuple at the same instant (the last in the
    total order) gives its own. The result is stamped when it is known: with the later neighbour's timestamp, at the
    latest the left tuple's + `within`.
    """

    left: Node
    right: Node
    values: tuple[str, ...]
    within: int

    def _derive(self) -> Schema:
        check_stream(self.left, "Resample")
        check_stream(self.right, "Resample")
        if not self.values or not isinstance(self.within, int) or self.within < 0:
            raise PenstockError("Resample needs values to interpolate, and a distance that is not negative")
        for name in self.values:
            if not self.right.schema.type_of(name).numeric:
                raise PenstockError(f"Resample interpolates numbers, and '{name}' is {self.right.schema.type_of(name)}")
        left = [(f"0.{f.name}", f.type) for f in self.left.schema]
        return Schema.of([*left, *((f"1.{v}", DOUBLE) for v in self.values)])

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def label(self) -> str:
        return f"resample {', '.join(self.values)} within {self.within} us"


@dataclass(frozen=True, slots=True)
class Read(Combination):
    """Stream to stream: each tuple of `left` joined with the rows that relation `right` holds at its instant, under
    `predicate` over `0.x`, `1.y`."""

    left: Node
    right: Node
    predicate: Expression

    def _derive(self) -> Schema:
        check_stream(self.left, "Read")
        check_relations((self.right,), "Read")
        schema = combined((self.left, self.right))
        check_expression(self.predicate, schema, BOOLEAN)
        return schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @property
    def label(self) -> str:
        return f"read {format_expression(self.predicate)}"
