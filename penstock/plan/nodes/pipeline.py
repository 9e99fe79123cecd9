"""Pipelined filters over one stream, some of them probes into relations, as one operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import PenstockError
from penstock.plan.expressions import Call, Column, Expression, columns, conjunction, conjuncts, format_expression, walk
from penstock.plan.expressions import substitute as substituted
from penstock.plan.functions import can_raise
from penstock.plan.node import Kind, Node
from penstock.plan.nodes.checks import check_expression, combined
from penstock.plan.nodes.combinations import Combination
from penstock.plan.schema import Schema
from penstock.plan.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class FilterPipeline(Combination):
    """The `[Now]` window over the stream `left`, of it the rows for which all `filters` hold (Babu 4.1, 4.7).

    A filter is a condition on the stream's columns (`0.x`), or a semijoin: equalities of them with the columns `i.y` of
    one of the relations `members`, each of which one filter probes: it holds where some row of the relation meets them.
    """

    left: Node
    members: tuple[Node, ...]
    filters: tuple[Expression, ...]

    def _derive(self) -> Schema:
        if self.left.kind is not Kind.STREAM or any(m.kind is not Kind.RELATION for m in self.members):
            raise PenstockError("pipelined filters take a stream, and probe relations")
        schema = combined((self.left, *self.members))
        for part in self.filters:
            check_expression(part, schema, BOOLEAN)
        probed = [i for part in self.filters if (i := probes(part))]
        if sorted(probed) != list(range(1, len(self.members) + 1)):
            raise PenstockError("each relation of pipelined filters is probed by one filter, with equalities")
        return self.left.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, *self.members)

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @property
    def predicate(self) -> Expression:
        """All filters as one."""
        return conjunction(self.filters)

    def _named_inputs(self, inputs: tuple[Node, ...]) -> dict[str, Any]:
        return {"left": inputs[0], "members": inputs[1:]}

    @property
    def label(self) -> str:
        return f"filters {format_expression(self.predicate)}"


def probes(part: Expression) -> int:
    """The input that a filter probes; 0 for a condition on the stream itself. Raises PenstockError for what is neither.
    """
    read = {int(name.partition(".")[0]) for name in columns(part)} - {0}
    if not read:
        return 0
    i = max(read)
    if len(read) > 1 or any(equality(e, i) is None for e in conjuncts(part)):
        raise PenstockError(f"{format_expression(part)} is no probe: equalities of the stream with one relation")
    return i


def equality(part: Expression, i: int) -> tuple[Expression, Expression] | None:
    """Both sides of an equality between input 0 and input `i`, over their own columns; None for anything else.

    >>> from penstock.plan.types import INT
    >>> part = Call("=", (Column("2.b", INT), Column("0.a", INT)), BOOLEAN)
    >>> [side.name for side in equality(part, 2)], equality(part, 1)
    (['a', 'b'], None)
    """
    if not isinstance(part, Call) or part.function != "=" or can_raise(part):
        return None
    a, b = part.arguments
    if a.type != b.type:
        return None
    for left, right in ((a, b), (b, a)):
        if _reads(left) == {"0"} and _reads(right) == {str(i)}:
            return own(left), own(right)
    return None


def own(expression: Expression) -> Expression:
    """An expression over the columns of one input, by their names there."""
    names = {e.name: Column(e.name.partition(".")[2], e.type) for e in walk(expression) if isinstance(e, Column)}
    return substituted(expression, names)


def _reads(expression: Expression) -> set[str]:
    return {name.partition(".")[0] for name in columns(expression)}
