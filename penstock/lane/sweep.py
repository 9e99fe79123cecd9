"""Giving back the dictionary codes of values that nothing holds any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from penstock.lane.graph import Graph
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector, interned
from penstock.plan.schema import Schema
from penstock.plan.types import Type

SMALLEST: Final = 10_000
"""Codes below which a dictionary is not worth a sweep."""
GROWTH: Final = 2
"""A dictionary is swept when it has grown this many times since the last sweep: the work for a code stays constant."""
Typed = tuple[Type, Vector]


class Sweeper:
    """Sweeps a lane's dictionaries: marks what operators, stores and queues hold, frees the rest."""

    def __init__(self, dictionaries: Dictionaries, smallest: int = SMALLEST) -> None:
        self._dictionaries = dictionaries
        self._smallest = smallest
        self._after: dict[str, int] = {}

    def due(self) -> bool:
        """True where some dictionary has grown enough."""
        return any(len(d) >= GROWTH * self._after.get(t, self._smallest) for t, d in self._dictionaries.items())

    def sweep(self, live: Iterable[Typed]) -> int:
        """Frees the codes that no vector of `live` holds; says how many."""
        dictionaries = dict(self._dictionaries.items())
        marks = {t: np.zeros(len(d.values), np.bool_) for t, d in dictionaries.items()}
        for t, vector in live:
            if interned(t) and str(t) in marks:
                codes = vector.values if vector.nulls is None else vector.values[~vector.nulls]
                marks[str(t)][codes] = True
        freed = sum(d.sweep(marks[t]) for t, d in dictionaries.items())
        self._after = {t: max(len(d), self._smallest) for t, d in dictionaries.items()}
        return freed


def held(graph: Graph) -> Iterator[Typed]:
    """Every vector that the operators, the stores and the queues of `graph` hold, with its type."""
    for store in graph.contexts.stores():
        yield from zip(store.schema.types, store.vectors(), strict=True)
    for train, schema in _queued(graph):
        yield from of_train(train, schema)
    for slot in graph.order:
        if slot.operator is not None:
            yield from slot.operator.vectors()


def _queued(graph: Graph) -> Iterator[tuple[Train, Schema]]:
    arcs = [arc for slot in graph.order for arc in slot.inputs] + [tap.arc for tap in graph.taps.values()]
    for arc in arcs:
        yield from ((train, arc.schema) for train in arc.trains)
    for node, feed in graph.feeds.items():
        yield from ((train, node.schema) for train in feed.log)


def of_train(train: Train, schema: Schema) -> Iterator[Typed]:
    """The columns of a train that hold codes."""
    for i, t in enumerate(schema.types):
        if interned(t):
            yield t, train.column(i)
