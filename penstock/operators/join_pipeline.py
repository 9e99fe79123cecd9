"""The pipelines of an MJoin: how the elements of one side meet the rows of all others, train at a time (Babu 5.1).

Candidates are joined tuples under construction: the event they belong to, and for each side joined so far the place of
its row. A step multiplies them by the matching rows of one more side, and checks what can be checked then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.join_conditions import Conditions, Step, steps
from penstock.operators.join_gathered import Gathered
from penstock.operators.join_index import Pairs
from penstock.operators.join_ranges import SomeRows, row_range
from penstock.operators.join_rows import PlacedRows
from penstock.operators.join_side import Delta, Side, mixture
from penstock.operators.join_terms import Term
from penstock.operators.kernels.join_gather import taken
from penstock.operators.vector_eval import predicate
from penstock.plan.expressions import TRUE
from penstock.plan.schema import Schema


class JoinedSide(Protocol):
    """What a pipeline reads of a side that is joined already."""

    @property
    def schema(self) -> Schema:
        """Its columns."""

    @property
    def rows(self) -> PlacedRows:
        """Its rows."""

    def words(self, term: Term, places: Array) -> Array:
        """The words of `term` in the rows at these places."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Joined tuples so far; `places[i]` is None for a side that is not joined yet."""

    events: Array
    places: tuple[Array | None, ...]

    def __len__(self) -> int:
        return len(self.events)

    def joined(self, pairs: Pairs, side: int) -> Candidates:
        """The pairs of a candidate and a row of `side`."""
        index, rows = pairs
        places = [None if p is None else taken(p, index) for p in self.places]
        places[side] = rows
        return Candidates(taken(self.events, index), tuple(places))

    def take(self, chosen: Array) -> Candidates:
        """The candidates that these positions name or this mask marks."""
        return Candidates(self.events[chosen], tuple(None if p is None else p[chosen] for p in self.places))


class Pipeline:
    """The join operators that the elements of side `start` pass, in `order`."""

    def __init__(self, sides: Sequence[JoinedSide], conditions: Conditions, schema: Schema, context: Context,
                 start: int, order: Sequence[int]) -> None:  # fmt: skip
        self.order = tuple(order)
        self._sides = sides
        self._start = start
        self._steps = [JoinStep(sides, step, schema, context) for step in steps(conditions, start, order)]

    def hashed(self, side: int) -> set[tuple[Term, ...]]:
        """The terms by which steps look rows of `side` up."""
        return {s.terms for s in self._steps if s.step.side == side and s.terms}

    def ordered(self, side: int) -> set[Term]:
        """The terms by whose order steps search rows of `side`."""
        return {s.range.term for s in self._steps if s.step.side == side and isinstance(s.range, SomeRows)}

    def run(self, delta: Delta) -> list[Candidates]:
        """All tuples that the elements of `delta` make, in the order of their events."""
        places: list[Array | None] = [None] * len(self._sides)
        places[self._start] = delta.positions + np.int32(self._sides[self._start].rows.shift)
        first = Candidates(delta.events, tuple(places))
        return list(self._from(0, first if delta.probing is None else first.take(delta.probing)))

    def _from(self, k: int, candidates: Candidates) -> Iterator[Candidates]:
        if not len(candidates):
            return
        if k == len(self._steps):
            yield candidates
            return
        for extended in self._steps[k].extend(candidates):
            yield from self._from(k + 1, extended)


class JoinStep:
    """One join operator of a pipeline."""

    def __init__(self, sides: Sequence[JoinedSide], step: Step, schema: Schema, context: Context) -> None:
        self.step = step
        self.terms = tuple(mine for mine, _ in step.keys)
        self._sides = sides
        self._schema = schema
        self._check = None if step.checks == TRUE else predicate(step.checks, schema, context)
        self.range = row_range(step.bounds, schema, context)

    def extend(self, candidates: Candidates) -> Iterator[Candidates]:
        """The candidates joined with the rows of this step's side, in chunks."""
        side = self.step.side
        for pairs in self._pairs(candidates):
            extended = candidates.joined(pairs, side)
            if len(self.step.keys) > 1:
                extended = self._verified(extended)
            yield extended if self._check is None else self._checked(extended)

    def _pairs(self, candidates: Candidates) -> Iterator[Pairs]:
        side = self._sides[self.step.side]
        assert isinstance(side, Side)
        if self.terms:
            return side.probe(self.terms, self._wanted(candidates), candidates.events)
        return self.range.pairs(side, candidates.events, self.columns(candidates))

    def _wanted(self, candidates: Candidates) -> Array:
        words = [self._words(theirs, candidates) for _, theirs in self.step.keys]
        return words[0] if len(words) == 1 else mixture(words)

    def _words(self, term: Term, candidates: Candidates) -> Array:
        places = candidates.places[term.side]
        assert places is not None
        return self._sides[term.side].words(term, places)

    def _verified(self, candidates: Candidates) -> Candidates:
        """Mixed keys that are equal, made of keys that are."""
        equal = np.ones(len(candidates), np.bool_)
        for mine, theirs in self.step.keys:
            equal &= self._words(mine, candidates) == self._words(theirs, candidates)
        return candidates if equal.all() else candidates.take(equal)

    def _checked(self, candidates: Candidates) -> Candidates:
        assert self._check is not None
        kept = self._check(self.columns(candidates)).ids
        assert kept is not None
        return candidates if len(kept) == len(candidates) else candidates.take(kept)

    def columns(self, candidates: Candidates) -> Train:
        """The candidates as a train whose `ids` number them; columns are gathered when an expression reads them."""
        numbers = np.arange(len(candidates))
        return Train(gathered(self._sides, candidates), numbers, ids=numbers)


def gathered(sides: Sequence[JoinedSide], candidates: Candidates) -> Gathered:
    """The columns of the sides joined so far; those of the others are empty."""
    parts: list[tuple[Vector, Array]] = []
    nowhere = np.empty(0, np.int32)
    for side, places in zip(sides, candidates.places, strict=True):
        for i in range(len(side.schema.fields)):
            parts.append((side.rows.column(i), nowhere if places is None else places))
    return Gathered(parts)
