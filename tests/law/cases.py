"""Random cases of the law: a network, what arrives, and ways to run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from penstock.lane.events import Arrival
from penstock.lane.schedulers import SCHEDULERS
from penstock.plan.network import Network, RelationDefinition, StreamDefinition
from penstock.plan.nodes import RStream, Source, Table
from tests.law.plans import queries
from tests.law.values import KEY_TYPES, arrivals, declared, schemas

_FAR = (-(1 << 61), 1 << 61)
_NOT_SO_FAR = (-90, 150)


@dataclass(frozen=True, slots=True)
class Case:
    """What is run."""

    network: Network
    given: tuple[Arrival, ...]

    @property
    def streams(self) -> Sequence[StreamDefinition]:
        return self.network.streams

    @property
    def relations(self) -> Sequence[RelationDefinition]:
        return self.network.relations


@dataclass(frozen=True, slots=True)
class Way:
    """How it is run: nothing of this may change a result."""

    sizes: int | tuple[int, ...] | None = None
    scheduler: str = "fifo"
    train_rows: int | None = None
    lanes: int = 1
    sharing: bool = True
    optimized: bool = True
    heartbeats: bool = True
    sweeps: bool = False


@st.composite
def cases(draw: st.DrawFn, filters: bool = False) -> Case:
    """A network over one to three streams and up to one relation, and up to 30 arrivals; `filters` asks for filters
    that have a choice of orders."""
    key = draw(st.sampled_from(KEY_TYPES))
    streams = [draw(declared(f"s{i}", key)) for i in range(draw(st.integers(1, 3)))]
    relations = [RelationDefinition("r", draw(schemas(key)))] if draw(st.booleans()) else []
    sources = [Source(s.name, s.schema) for s in streams]
    found = draw(queries(sources, [Table(r.name, r.schema) for r in relations], filters))
    network = Network(tuple(streams), tuple(relations), found)
    ticks = any(isinstance(n, RStream) and n.boundaries for n in network.nodes())
    return Case(network, tuple(draw(arrivals(streams, relations, _NOT_SO_FAR if ticks else _FAR))))


sizes = st.one_of(st.integers(1, 7), st.lists(st.integers(0, 5), max_size=8).map(tuple))


@st.composite
def ways(draw: st.DrawFn) -> Way:
    """Any way of running."""
    rows = draw(st.sampled_from((None, 1, 2, 7)))
    return Way(
        draw(sizes),
        draw(st.sampled_from(list(SCHEDULERS))),
        rows,
        draw(st.sampled_from((1, 1, 2, 3))),
        *(draw(st.booleans()) for _ in range(4)),
    )
