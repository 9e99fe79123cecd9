"""The naive evaluation: whole histories in, whole histories out, in plain Python.

Nothing here is shared with the lane but the declarations: neither the input manager, nor the rewrites, nor the
operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from penstock.lane.events import Arrival
from penstock.operators import registry
from penstock.operators.base import Event, Row, Stream, Timeline
from penstock.operators.histories import changes
from penstock.plan.network import Network, Query, StreamDefinition
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import RStream, Source, Table
from penstock.plan.windows import BEGIN, END


class Element(NamedTuple):
    """A timestamp, a sign and a row of internal values."""

    ts: int
    sign: int
    row: Row


def evaluate(
    network: Network,
    streams: Iterable[StreamDefinition],
    given: Sequence[Arrival],
    until: int = END,
    since: int = BEGIN,
) -> dict[str, list[Element]]:
    """The elements of every query's result before `until`, for queries that see what streams bring from `since` on."""
    declared = {s.name: s for s in streams}
    last = max((a.ts for a in given), default=BEGIN)
    histories: dict[Node, Any] = {}
    for node in network.nodes():
        if isinstance(node, Source | Table):
            mine = [a for a in given if a.name == node.name]
            fed = in_order(declared[node.name], mine) if isinstance(node, Source) else _as_given(mine)
            histories[node] = registry.reference(node, [e for e in fed if e.ts >= since or isinstance(node, Table)])
        else:
            more = (last,) if isinstance(node, RStream) else ()
            history: Any = registry.reference(node, *(histories[i] for i in node.inputs), *more)
            histories[node] = [item for item in history if item.ts < END]
    found = {q.name: _elements(q, histories[q.root]) for q in network.queries}
    return {name: [e for e in elements if e.ts < until] for name, elements in found.items()}


def in_order(stream: StreamDefinition, given: Iterable[Arrival]) -> Stream:
    """The stream that these arrivals make: what is later than the declared bound is dropped, or kept and stamped with
    the largest timestamp that came before it."""
    now: int | None = None
    taken: Stream = []
    for arrival in given:
        late = now is not None and stream.within_us is not None and arrival.ts < now - stream.within_us
        if not late:
            taken.append(Event(arrival.ts, arrival.seq, arrival.row))
        elif stream.late == "keep" and now is not None:
            taken.append(Event(now, arrival.seq, arrival.row))
        now = arrival.ts if now is None else max(now, arrival.ts)
    return taken


def _as_given(given: Iterable[Arrival]) -> Stream:
    return [Event(a.ts, a.seq, a.row) for a in given]


def _elements(query: Query, history: Stream | Timeline) -> list[Element]:
    """The elements in the order in which a lane delivers them: by timestamp, what leaves before what enters."""
    return sorted(_changes(query, history), key=lambda e: (e.ts, e.sign))


def _changes(query: Query, history: Stream | Timeline) -> Iterator[Element]:
    if query.root.kind is Kind.STREAM:
        yield from (Element(e.ts, 1, e.row) for e in history if isinstance(e, Event))
    else:
        relation: Any = history
        leaving, entering = changes(relation, entering=False), changes(relation, entering=True)
        yield from (Element(e.ts, -1, e.row) for e in leaving)
        yield from (Element(e.ts, 1, e.row) for e in entering)
