"""What a caller feeds: events of any stream in arrival order, checked against the declarations and converted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.operators.base import Row
from penstock.plan.network import Network, RelationDefinition, StreamDefinition
from penstock.plan.nodes import Source, Table
from penstock.plan.schema import Field, Schema
from penstock.plan.types import TIMESTAMP, Type, to_internal
from penstock.plan.windows import BEGIN, END

Given = tuple[str, Any, Mapping[str, Any]]
"""(stream or relation, timestamp, {column: value}), as a caller writes it."""
DAY_US: Final = 86_400_000_000
_MOST_REPORTED: Final = 10


class Arrival(NamedTuple):
    """A row that arrived as number `seq` of all; `ts` is what it is stamped with, `row` has internal values."""

    name: str
    ts: int
    seq: int
    row: Row


class Inputs:
    """The streams and relations of a network by name; names and columns are found whatever their case."""

    def __init__(self, network: Network) -> None:
        self.streams = {s.name: s for s in network.streams}
        self.relations = {r.name: r for r in network.relations}
        for node in network.nodes():
            if isinstance(node, Source):
                self.streams.setdefault(node.name, StreamDefinition(node.name, node.columns))
            if isinstance(node, Table):
                self.relations.setdefault(node.name, RelationDefinition(node.name, node.columns))
        self._names = {n.lower(): n for n in (*self.relations, *self.streams)}
        self._columns = {n: {f.name.lower(): f for f in self.schema(n)} for n in self._names.values()}

    def schema(self, name: str) -> Schema:
        """The columns of a stream or relation."""
        return self.streams[name].schema if name in self.streams else self.relations[name].schema

    def name(self, written: str) -> str:
        """The registered name that `written` means."""
        found = self._names.get(written.lower())
        if found is None:
            raise PenstockError(unknown("stream", written, list(self._names.values())))
        return found

    def arrival(self, seq: int, given: Given) -> Arrival:
        """Event number `seq`, converted."""
        written, stamp, values = given
        name = self.name(written)
        ts = to_internal(stamp, TIMESTAMP)
        if ts is None or not BEGIN <= ts < END:
            raise PenstockError(f"{stamp!r} is no timestamp that an event may have")
        columns = self._columns[name]
        row = {self._column(name, columns, c).name: v for c, v in values.items()}
        stamped_by = self.streams[name].timestamp if name in self.streams else None
        if stamped_by is not None and stamped_by not in row:
            row[stamped_by] = _as_stamp(ts, self.schema(name).type_of(stamped_by))
        return Arrival(name, ts, seq, tuple(_value(row.get(f.name), f) for f in self.schema(name)))

    @staticmethod
    def _column(name: str, columns: Mapping[str, Field], written: str) -> Field:
        found = columns.get(str(written).lower())
        if found is None:
            mistake = unknown("column", str(written), [f.name for f in columns.values()])
            raise PenstockError(replace(mistake, message=f"{mistake.message} of '{name}'"))
        return found


def arrivals(inputs: Inputs, events: Iterable[Given]) -> list[Arrival]:
    """All events, converted; the first mistakes are reported together, each with its event's number."""
    taken: list[Arrival] = []
    mistakes: list[Diagnostic] = []
    for seq, given in enumerate(events):
        try:
            taken.append(inputs.arrival(seq, _triple(given)))
        except PenstockError as error:
            mistakes += [_in_event(seq, d) for d in error.diagnostics]
            if len(mistakes) >= _MOST_REPORTED:
                break
    if mistakes:
        raise PenstockError(*mistakes)
    return taken


def _triple(given: Any) -> Given:
    if isinstance(given, Sequence) and len(given) == 3 and isinstance(given[0], str) and isinstance(given[2], Mapping):
        return given[0], given[1], given[2]
    raise PenstockError(Diagnostic(f"{given!r} is no event", help="an event is (stream, timestamp, {column: value})"))


def _in_event(seq: int, diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, message=f"event {seq}: {diagnostic.message}")


def _value(value: Any, field: Field) -> Any:
    try:
        return to_internal(value, field.type)
    except PenstockError as error:
        raise PenstockError(f"column '{field.name}': {error.diagnostics[0].message}") from None


def _as_stamp(ts: int, t: Type) -> int:
    return ts // DAY_US if t.name == "date" else ts


def stamp_of(value: int, t: Type) -> int:
    """The timestamp that a TIMESTAMP BY column's internal value states: days for a date, else microseconds."""
    return value * DAY_US if t.name == "date" else value


def skew_us(ts: Iterable[int]) -> int:
    """The largest distance by which one of these timestamps lies behind an earlier one.

    >>> skew_us([1, 5, 3, 6, 2])
    4
    """
    largest, skew = BEGIN, 0
    for t in ts:
        largest = max(largest, t)
        skew = max(skew, largest - t)
    return skew
