"""The shape of every running operator, and of its naive twin.

**Fast.** `process(inputs, until)` is called with all elements of the instants in [previous `until`, `until`), one
train an input, each in timestamp order: those instants are final. It returns the elements of the same instants of its
own result, in timestamp order, expiries included. It must not matter how time is cut: processing [a, b) and then [b,
c) gives what [a, c) gives. What it emits for an instant need not be netted, what it takes in need not be either: only
the net count of each row at each instant means something.

**Reference.** `reference(node, *inputs)` maps whole histories to a whole history: a stream is the list of its elements
in the total order, a relation the list of its contents at each instant at which it may change.

Each operator module offers `build(node, context) -> Operator` and `reference(node, ...)`;
`penstock.operators.registry` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.store import Store
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.node import Node
from penstock.plan.types import Type

Row = tuple[Any, ...]
"""A row of internal values (see `penstock.plan.types`), in the order of the node's schema."""


class Operator(Protocol):
    """A node with its state. Everything that it holds can be pickled."""

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The result's elements before `until` that were not emitted yet."""

    def next_instant(self) -> int | None:
        """The earliest future instant at which the result changes without further input; None: never."""

    def nbytes(self) -> int:
        """Bytes of state, without the shared stores."""

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """Every vector of values in the state, with its type: what the dictionaries must keep."""


class Stateless:
    """Base of operators that keep nothing from one train to the next."""

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """Nothing."""
        return 0

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """Nothing."""
        return iter(())


@dataclass(slots=True)
class Context:
    """What operators of one running network share.

    `stores` has the store under each stream that windows read, by the stream's node; with sharing off each query has a
    context of its own.
    """

    dictionaries: Dictionaries = field(default_factory=Dictionaries)
    stores: dict[Node, Store] = field(default_factory=dict)
    set_aside: dict[str, int] = field(default_factory=dict)
    """Rows on which a user's function raised, by function: counted, and left out of the result."""

    def store(self, stream: Node) -> Store:
        """The store under `stream`."""
        if stream not in self.stores:
            self.stores[stream] = Store(stream.schema)
        return self.stores[stream]


class Event(NamedTuple):
    """An element of a stream in the reference: `seq` orders equal timestamps, then the row's values do (see
    `order_key`)."""

    ts: int
    seq: int
    row: Row


class Snapshot(NamedTuple):
    """The content of a relation from instant `ts` until the next snapshot, in the order of the stream it came from
    where there is one."""

    ts: int
    rows: list[Row]


Stream = list[Event]
Timeline = list[Snapshot]


def content(relation: Timeline, instant: int) -> list[Row]:
    """The rows that `relation` holds at `instant`."""
    rows: list[Row] = []
    for snapshot in relation:
        if snapshot.ts > instant:
            break
        rows = snapshot.rows
    return rows


def instants(*relations: Timeline) -> list[int]:
    """Every instant at which one of `relations` may change, in order."""
    return sorted({s.ts for r in relations for s in r})


def order_key(event: Event) -> tuple[Any, ...]:
    """The total order: timestamp, place, then the row's values column by column, NULL first, NaN after all numbers."""
    return (event.ts, event.seq, *(value_key(v) for v in event.row))


def value_key(value: Any) -> tuple[Any, ...]:
    """A key that orders the values of one column: NULL first, NaN last, arrays by their elements."""
    if value is None:
        return (0,)
    if isinstance(value, float) and value != value:
        return (2,)
    return (1, tuple(value_key(v) for v in value)) if isinstance(value, tuple) else (1, value)
