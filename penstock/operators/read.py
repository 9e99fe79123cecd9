"""Aurora's Read (Tatbul 2.1.3): a stream's tuples look up the rows that a relation holds at their instant.

It is a join pipeline of one step, for the stream's elements alone: the relation's changes of an instant come first, so
that a tuple meets the content after them, and the relation's own elements start no pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.operators.base import Context, Event, Operator, Stream, Timeline, content, order_key
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, words
from penstock.operators.join import holds, numbered
from penstock.operators.join_conditions import Conditions, conditions
from penstock.operators.join_output import columns, headers
from penstock.operators.join_pipeline import Candidates, JoinedSide, Pipeline
from penstock.operators.join_screen import Screen
from penstock.operators.join_side import Delta, Side
from penstock.operators.join_terms import Term
from penstock.operators.kernels.join_gather import taken
from penstock.operators.vector_eval import compiled
from penstock.plan.nodes import Read
from penstock.plan.schema import Schema
from penstock.plan.types import Type

STREAM, RELATION = 0, 1


class PassingRows:
    """The stream's tuples of the current interval, as rows of a join: a place is a position in the train."""

    borrowed = True
    shift = 0

    def __init__(self, train: Train) -> None:
        self._train = train.dense()

    def column(self, index: int) -> Vector:
        """A column of the train."""
        return self._train.column(index)

    @property
    def arrival(self) -> Array:
        """Arrival times."""
        return self._train.arrival

    @property
    def weight(self) -> Array | None:
        """Weights."""
        return self._train.weight


class PassingSide:
    """The stream of a Read, as a side of a join."""

    def __init__(self, schema: Schema, conditions: Conditions, context: Context) -> None:
        self.schema = schema
        self.rows = PassingRows(Train.empty(schema))
        self._screen = Screen(STREAM, schema, conditions, context)
        keys = [t for terms in conditions.terms(STREAM) for t in terms]
        self._terms = {t: compiled(t.expression, schema, context) for t in keys}
        self._train = Train.empty(schema)

    def passing(self, train: Train) -> Train:
        """The tuples that can find rows; they become the side's rows."""
        self._train = self._screen.passing(train, lambda _: True).dense()
        self.rows = PassingRows(self._train)
        return self._train

    def words(self, term: Term, places: Array) -> Array:
        """The words of `term` in the tuples at these places."""
        return taken(words(self._terms[term](self._train)), places)


class ReadOperator:
    """The relation as a join side, and the stream's pipeline over it."""

    def __init__(self, node: Read, context: Context) -> None:
        self._schema = node.schema
        taken_apart = conditions(node.predicate, 2)
        self._stream = PassingSide(node.left.schema, taken_apart, context)
        self._relation = Side(RELATION, node.right, taken_apart, context)
        self._sides: list[JoinedSide] = [self._stream, self._relation]
        self._pipeline = Pipeline(self._sides, taken_apart, node.schema, context, STREAM, (RELATION,))

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """What the tuples before `until` find."""
        self._relation.rows.open()
        self._relation.require(self._pipeline.hashed(RELATION), self._pipeline.ordered(RELATION))
        rows, tuples = self._relation.passing(inputs[RELATION]), self._stream.passing(inputs[STREAM])
        changes, events = numbered([rows, tuples])
        delta = self._relation.begin(rows, changes)
        places = np.arange(len(tuples), dtype=np.int32)
        found = self._pipeline.run(Delta(tuples, tuples.sign, places, events))
        out = self._output(joined(found), tuples) if found else Train.empty(self._schema)
        self._relation.end(delta, until)
        self._stream.passing(Train.empty(self._stream.schema))
        return out

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """Bytes of the relation's side."""
        return self._relation.nbytes()

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The values that the relation's side holds itself."""
        return self._relation.vectors()

    def _output(self, found: Candidates, tuples: Train) -> Train:
        places = found.places[STREAM]
        assert places is not None
        seq = None if tuples.seq is None else taken(tuples.seq, places)
        shown = columns(self._sides, found)
        return Train(shown, taken(tuples.ts, places), None, seq, *headers(self._sides, found))


def joined(parts: Sequence[Candidates]) -> Candidates:
    """The chunks of one pipeline, one after another."""
    if len(parts) == 1:
        return parts[0]
    events = np.concatenate([p.events for p in parts])
    sides = zip(*(p.places for p in parts), strict=True)
    return Candidates(events, tuple(np.concatenate([a for a in side if a is not None]) for side in sides))


def build(node: Read, context: Context) -> Operator:
    """The running operator."""
    return ReadOperator(node, context)


def reference(node: Read, stream: Stream, relation: Timeline) -> Stream:
    """Each tuple with each row of the content at its instant, filtered; a result has its tuple's place."""
    pairs = (Event(e.ts, e.seq, e.row + row) for e in stream for row in content(relation, e.ts))
    return sorted((e for e in pairs if holds(node.predicate, node.schema.names, e.row)), key=order_key)
