"""One input of a join: its rows, their lifetimes in the current interval, and the indexes over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned, words
from penstock.operators.join_conditions import Conditions
from penstock.operators.join_index import HashIndex, Pairs, SortedIndex
from penstock.operators.join_own_rows import OwnRows
from penstock.operators.join_rows import Move, SideRows, moved
from penstock.operators.join_screen import Screen
from penstock.operators.join_terms import Term
from penstock.operators.join_window_rows import WindowRows, longest_wait, stored_columns
from penstock.operators.kernels.join import NEVER, VACANT, mark, settle
from penstock.operators.kernels.join_chains import mix_into
from penstock.operators.kernels.join_gather import taken
from penstock.operators.vector_eval import compiled
from penstock.plan.expressions import Column
from penstock.plan.node import Node
from penstock.plan.types import Type

NOTHING: Final = np.empty(0, np.int64)


@dataclass(slots=True)
class Delta:
    """The elements of one side in the current interval: event numbers and places of their rows."""

    train: Train
    sign: Array
    positions: Array
    events: Array = field(default_factory=lambda: np.empty(0, np.int32))
    probing: Array | None = None
    """Where not all elements take part: those that do."""


class Side:
    """Input `number` of a join. An interval is `passing`, `begin`, any number of probes, `end`."""

    def __init__(self, number: int, node: Node, conditions: Conditions, context: Context) -> None:
        self._context = context
        self.schema = node.schema
        self.rows = rows_of(node, context)
        self._screen = Screen(number, node.schema, conditions, context)
        keys = [t for terms in conditions.terms(number) for t in terms]
        self._terms = {t: compiled(t.expression, node.schema, context) for t in keys}
        self._columns = {t: self._stored(t) for t in self._terms}
        self._words: dict[Term, Array] = {t: NOTHING for t in self._terms if self._columns[t] is None}
        self._indexes: dict[tuple[Term, ...], HashIndex] = {}
        self._mixes: dict[tuple[Term, ...], Array] = {}
        self._ordered: dict[Term, SortedIndex] = {}
        self._touch: Array = np.empty(0, np.int32)
        self._born: Array = np.full(1, -1, np.int32)
        self._died: Array = np.full(1, NEVER, np.int32)

    def passing(self, train: Train) -> Train:
        """The elements whose rows can occur in the result."""
        return self._screen.passing(train, self._nullable)

    def begin(self, train: Train, events: Array) -> Delta:
        """Takes the rows of the interval in; every row that lives in it can then be probed."""
        if not len(train):
            return Delta(train, np.empty(0, np.int8), np.empty(0, np.int32))
        move = self.rows.room(train)
        if move is not None:
            self._move(move)
        delta = Delta(train, train.sign, self.rows.admit(train), events)
        self._write_words(delta)
        for terms, index in self._indexes.items():
            index.insert(delta.positions, delta.sign, *self._keys(terms))
        for term, ordered in self._ordered.items():
            ordered.insert(delta.positions[delta.sign > 0], self._values(term, train.where(delta.sign > 0)))
        self._mark(delta)
        return delta

    def end(self, delta: Delta, until: int) -> None:
        """Gives up the rows that died in the interval before `until`."""
        for terms, index in self._indexes.items():
            index.remove(delta.positions, delta.sign, *self._keys(terms))
        settle(delta.positions, delta.sign, self._touch)
        for ordered in self._ordered.values():
            ordered.remove(delta.sign, self._touch)
        self.rows.release(delta.positions, delta.sign, self._touch, until)
        if self.rows.sparse:
            self._rebuild()

    def probe(self, terms: tuple[Term, ...], wanted: Array, events: Array) -> Iterator[Pairs]:
        """Pairs of candidates, by the words of their keys, with the rows whose `terms` have them."""
        return self._indexes[terms].probe(wanted, events, *self._keys(terms), self.lives, self.rows.shift)

    @property
    def lives(self) -> tuple[Array, Array, Array]:
        """`touch`, `born` and `died` (see `kernels.join`)."""
        return self._touch, self._born, self._died

    def words(self, term: Term, places: Array) -> Array:
        """The words of `term` in the rows at these places."""
        stored = self._columns[term]
        if stored is not None:
            return taken(self.rows.column(stored).values, places)
        return taken(self._words[term], places - np.int32(self.rows.shift))

    @property
    def alive(self) -> Array:
        """The positions of all rows of the interval."""
        return np.flatnonzero(self._touch != VACANT).astype(np.int32)

    def nbytes(self) -> int:
        """Bytes of state."""
        arrays = (self._touch, self._born, self._died, *self._words.values(), *self._mixes.values())
        return sum(a.nbytes for a in arrays) + sum(i.nbytes for i in self._all_indexes()) + self.rows.nbytes()

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The values held here: own rows, and strings that key expressions made."""
        yield from self.rows.vectors(self._touch)
        for term, held in self._words.items():
            if interned(term.expression.type):
                yield term.expression.type, Vector(held[self.alive])

    def _stored(self, term: Term) -> int | None:
        """The column that holds the words of `term` as they are."""
        if isinstance(term.expression, Column) and term.expression.type.name not in ("double", "boolean"):
            return self.schema.index(term.expression.name)
        return None

    def _nullable(self, column: int) -> bool:
        return not self.rows.borrowed or self.rows.column(column).nulls is not None

    def require(self, hashed: set[tuple[Term, ...]], ordered: set[Term]) -> None:
        """Sees that there are these indexes, and no others."""
        for terms in [t for t in self._indexes if t not in hashed]:
            del self._indexes[terms]
            self._mixes.pop(terms, None)
        for terms in sorted(hashed - set(self._indexes), key=str):
            self._hash(terms)
        for term in [t for t in self._ordered if t not in ordered]:
            del self._ordered[term]
        for term in sorted(ordered - set(self._ordered), key=str):
            self._ordered[term] = SortedIndex()
            self._ordered[term].insert(self.alive, self._values(term, self._living()))

    def _living(self) -> Train:
        """All rows, as a train."""
        places = self.alive + self.rows.shift
        columns = [self.rows.column(i).take(places) for i in range(len(self.schema.fields))]
        weight = None if self.rows.weight is None else self.rows.weight[places]
        return Train(columns, np.zeros(len(places), np.int64), arrival=self.rows.arrival[places], weight=weight)

    def _rebuild(self) -> None:
        """Starts afresh with the rows that live, so that what a relation once held does not stay."""
        living = self._living()
        self.rows, self._touch = OwnRows(self.schema), np.empty(0, np.int32)
        self._words = dict.fromkeys(self._words, NOTHING)
        self._mixes = dict.fromkeys(self._mixes, NOTHING)
        self._indexes = {terms: HashIndex() for terms in self._indexes}
        self._ordered = {term: SortedIndex() for term in self._ordered}
        delta = self.begin(living, np.zeros(len(living), np.int32))
        settle(delta.positions, delta.sign, self._touch)

    def _hash(self, terms: tuple[Term, ...]) -> None:
        index = self._indexes[terms] = HashIndex()
        index.move(Move(0, 0, len(self._touch)))
        if len(terms) > 1:
            self._mixes[terms] = np.empty(len(self._touch), np.int64)
        alive = self.alive
        self._mix(terms, alive)
        index.insert(alive, np.ones(len(alive), np.int8), *self._keys(terms))

    def _keys(self, terms: tuple[Term, ...]) -> tuple[Array, int]:
        """The words under which the index over `terms` knows its rows, and what to add to a position to find them."""
        if len(terms) > 1:
            return self._mixes[terms], 0
        stored = self._columns[terms[0]]
        return (self._words[terms[0]], 0) if stored is None else (self.rows.column(stored).values, self.rows.shift)

    def ordered(self, term: Term) -> SortedIndex:
        """The rows in the order of the values of `term`."""
        return self._ordered[term]

    def _values(self, term: Term, rows: Train) -> Vector:
        return compiled(term.expression, self.schema, self._context)(rows)

    def _move(self, move: Move) -> None:
        self._touch = moved(self._touch, move, VACANT)
        self._words = {t: moved(w, move, 0) for t, w in self._words.items()}
        self._mixes = {t: moved(w, move, 0) for t, w in self._mixes.items()}
        for index in self._all_indexes():
            index.move(move)

    def _all_indexes(self) -> list[HashIndex | SortedIndex]:
        return [*self._indexes.values(), *self._ordered.values()]

    def _write_words(self, delta: Delta) -> None:
        if not self._words and not self._mixes:
            return
        plus = np.flatnonzero(delta.sign > 0)
        rows, positions = delta.train.take(plus), delta.positions[plus]
        for term, held in self._words.items():
            held[positions] = words(self._terms[term](rows))
        for terms in self._mixes:
            self._mix(terms, positions)

    def _mix(self, terms: tuple[Term, ...], positions: Array) -> None:
        if len(terms) > 1:
            places = positions + np.int32(self.rows.shift)
            self._mixes[terms][positions] = mixture([self.words(t, places) for t in terms])

    def _mark(self, delta: Delta) -> None:
        size = len(delta.positions) + 1
        if len(self._born) < size or len(self._born) > 16 * size:
            self._born, self._died = np.empty(2 * size, np.int32), np.empty(2 * size, np.int32)
        count, unborn = mark(delta.positions, delta.sign, delta.events, self._touch, self._born, self._died)
        if unborn:
            self._cancel(delta, count)

    def _cancel(self, delta: Delta, count: int) -> None:
        """Where a row's - stands before its + in an instant, it never lives, and neither element takes part."""
        born, died = self._born[:count], self._died[:count]
        unborn = np.flatnonzero(born > died)
        cancelled = np.concatenate([born[unborn], died[unborn]])
        delta.probing = np.flatnonzero(~np.isin(delta.events, cancelled))


def rows_of(node: Node, context: Context) -> SideRows:
    """The rows of the relation `node`."""
    stored = stored_columns(node)
    if stored is None:
        return OwnRows(node.schema)
    window, columns = stored
    return WindowRows(context.store(window.input), columns, longest_wait(window.spec))


def mixture(columns: list[Array]) -> Array:
    """One word for each row of several columns of words."""
    mix = columns[0].copy()
    for column in columns[1:]:
        mix_into(mix, column)
    return mix
