"""The columns that a node's aggregates take."""

from __future__ import annotations

from penstock.operators.aggregates.make import as_doubles
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.nodes import AggregateCall
from penstock.plan.schema import Schema
from penstock.plan.types import Type


class Argument:
    """Where an aggregate's argument lies in a train, and the form its accumulator takes it in."""

    __slots__ = ("context", "doubles", "place", "type")

    def __init__(self, call: AggregateCall, schema: Schema, doubles: bool, context: Context) -> None:
        self.place = None if call.argument is None else schema.index(call.argument)
        self.type = None if call.argument is None else schema.type_of(call.argument)
        self.doubles = doubles
        self.context = context

    def of(self, train: Train) -> Vector | None:
        """The argument's column."""
        if self.place is None or self.type is None:
            return None
        vector = train.column(self.place)
        return as_doubles(vector, self.type, self.context) if self.doubles else vector


def type_of(call: AggregateCall, schema: Schema) -> Type | None:
    """The type of an aggregate's argument; None for `*`."""
    return None if call.argument is None else schema.type_of(call.argument)
