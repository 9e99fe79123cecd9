"""All registered streams, relations and queries: one query network (Babu 2.2.4, Tatbul 2.1.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from penstock.errors import PenstockError, unknown
from penstock.plan.node import Node, walk
from penstock.plan.schema import Schema

_Named = TypeVar("_Named", "StreamDefinition", "Query")
Options = tuple[tuple[str, str | int | float | bool], ...]


@dataclass(frozen=True, slots=True)
class Connector:
    """Where rows come from or go to: a format's name and its options (`FROM kafka OPTIONS (...)`, `INTO parquet
    OPTIONS (...)`)."""

    format: str
    options: Options = ()


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    """CREATE STREAM. `timestamp` is the column that stamps a tuple (None: its arrival); `within_us` the declared skew
    bound (None: measured); `late` what happens to a tuple past it: "keep" (restamped to the current time) or "drop";
    both are counted."""

    name: str
    schema: Schema
    timestamp: str | None = None
    within_us: int | None = None
    late: str = "keep"
    source: Connector | None = None


@dataclass(frozen=True, slots=True)
class RelationDefinition:
    """CREATE RELATION, loaded. One that a stream keeps current is a window over that stream: [Partition By key Rows
    1]."""

    name: str
    schema: Schema
    source: Connector | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A registered query: the node whose elements it delivers, its options (delay, max_gap, loss, ...) and where the
    result goes."""

    name: str
    root: Node
    options: Options = ()
    sink: Connector | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """Everything that is registered. `sharing` off runs every query on operators and stores of its own (Babu 2.3.1)."""

    streams: tuple[StreamDefinition, ...] = ()
    relations: tuple[RelationDefinition, ...] = ()
    queries: tuple[Query, ...] = ()
    sharing: bool = field(default=True)

    def query(self, name: str) -> Query:
        """The query registered as `name`."""
        return _named("query", name, self.queries)

    def stream(self, name: str) -> StreamDefinition:
        """The stream registered as `name`."""
        return _named("stream", name, self.streams)

    def nodes(self) -> tuple[Node, ...]:
        """Every distinct node, inputs first; equal sub-plans once."""
        return tuple(walk(*(q.root for q in self.queries)))

    def with_query(self, query: Query) -> Network:
        """The network with one more query."""
        if any(q.name == query.name for q in self.queries):
            raise PenstockError(f"a query named '{query.name}' is already registered")
        return replace(self, queries=(*self.queries, query))

    def without_query(self, name: str) -> Network:
        """The network without the query `name`."""
        gone = self.query(name)
        return replace(self, queries=tuple(q for q in self.queries if q is not gone))


def _named(kind: str, name: str, known: tuple[_Named, ...]) -> _Named:
    for item in known:
        if item.name == name:
            return item
    raise PenstockError(unknown(kind, name, [k.name for k in known]))
