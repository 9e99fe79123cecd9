"""The queues of Babu 2.2.2: one arc between a producer and one input of a consumer, holding elements and progress."""

from __future__ import annotations

import numpy as np

from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.drops import Valve
from penstock.plan.schema import Schema
from penstock.plan.windows import BEGIN


class Arc:
    """Elements that were produced and not yet consumed, and the instant before which no more will be produced.

    `rows` counts the elements. Each train bears the number of the input that it was made from: FIFO goes by it.
    `consumer` is whoever has to be told that there is something to do; None for a query's result.

    `valve` holds the drops that stand before the queue, if any.

    >>> arc = Arc(Schema.parse("a int"))
    >>> arc.progress == BEGIN, arc.rows
    (True, 0)
    """

    __slots__ = ("consumer", "empty", "numbers", "progress", "rows", "schema", "trains", "valve")

    def __init__(self, schema: Schema, consumer: object = None) -> None:
        self.schema = schema
        self.consumer = consumer
        self.valve: Valve | None = None
        self.trains: list[Train] = []
        self.numbers: list[int] = []
        self.rows = 0
        self.progress = BEGIN
        self.empty = Train.empty(schema)

    def copy(self, consumer: object) -> Arc:
        """A queue with the same content before another consumer."""
        copy = Arc(self.schema, consumer)
        copy.trains, copy.numbers = list(self.trains), list(self.numbers)
        copy.rows, copy.progress = self.rows, self.progress
        return copy

    @property
    def oldest(self) -> int:
        """The number of the input that the first element was made from; 0 for an empty queue."""
        return self.numbers[0] if self.numbers else 0

    def put(self, train: Train, rows: int, number: int) -> None:
        """Adds a train of `rows` > 0 elements, none before those that are here, made from input `number`."""
        if self.valve is not None:
            train = self.valve(train)
            rows = len(train)
            if not rows:
                return
        self.trains.append(train)
        self.numbers.append(number)
        self.rows += rows

    def take(self, until: int) -> Train:
        """Takes out the elements stamped before `until`."""
        trains = self.trains
        if not trains:
            return self.empty
        if until < self.progress:
            return self._take_part(until)
        self.take_all()
        return trains[0] if len(trains) == 1 else concat_trains(trains)

    def take_all(self) -> list[Train]:
        """Takes out everything, train by train."""
        trains, self.trains, self.numbers, self.rows = self.trains, [], [], 0
        return trains

    def _take_part(self, until: int) -> Train:
        taken: list[Train] = []
        while self.trains and int(self.trains[0].ts[-1]) < until:
            taken.append(self.trains.pop(0))
            self.numbers.pop(0)
        if self.trains:
            first, self.trains[0] = self.trains[0].before(until)
            if len(first):
                taken.append(first)
        self.rows -= sum(map(len, taken))
        return concat_trains(taken) if taken else self.empty

    def drop_before(self, instant: int) -> None:
        """Forgets the elements stamped before `instant`."""
        self._take_part(instant)

    def cut(self, rows: int) -> int | None:
        """The instant that leaves about `rows` elements before it, at least one instant whole; None: no need to cut."""
        if self.rows <= rows:
            return None
        ts = np.concatenate([t.ts for t in self.trains])
        instant = ts[rows]
        if instant == ts[0]:
            after = int(np.searchsorted(ts, instant, side="right"))
            return int(ts[after]) if after < len(ts) else None
        return int(instant)
