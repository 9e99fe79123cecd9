"""count, sum and avg of distinct values: another accumulator that sees each value of a slot once, however often it
lies there.

The values of all slots are keys (slot, value) of one `KeyIndex`. `DistinctPartial` lists each slot's values once;
`Distinct` counts how often each is there, and passes on the first coming and the last leaving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit

from penstock.operators.aggregates.base import Rows, Steps, Whole
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.plan.types import BIGINT, Type


class DistinctPartial:
    """Partial: the distinct values of each slot, as linked lists of the index's ids. `whole` makes a fresh inner
    accumulator.
    """

    def __init__(self, type_: Type, whole: Callable[[], Whole]) -> None:
        self.type = type_
        self.whole = whole
        self.index = KeyIndex(2)
        self.first: Array = np.zeros(0, np.int64)
        self.following: Array = np.zeros(0, np.int64)

    def resize(self, slots: int) -> None:
        """See `State`."""
        if slots > len(self.first):
            old = len(self.first)
            self.first = grown(self.first, slots)
            self.first[old:] = -1

    def clear(self, slots: Array) -> None:
        """See `State`."""
        _, ids = _listed(slots, self.first, self.following)
        self.first[slots] = -1
        self.following[ids] = 0
        self.index.free(ids)

    def nbytes(self) -> int:
        """See `State`."""
        return self.index.nbytes + int(self.first.nbytes + self.following.nbytes)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """See `State`."""
        _, held = self.index.vectors([BIGINT, self.type])
        yield held

    def add(self, rows: Rows) -> None:
        """See `Partial`."""
        slots, keys, _ = _keys(rows)
        ids = self.index.lookup_or_insert(keys)
        self.following = (
            grown(self.following, self.index.capacity) if self.index.capacity > len(self.following) else self.following
        )
        _link(slots, ids, self.first, self.following)

    def read(self, slots: Array) -> Vector:
        """See `Partial`: an inner accumulator over each slot's values."""
        whole = self.whole()
        whole.resize(len(slots))
        reading = np.zeros(len(slots), np.int8)
        return whole.apply(self.rows(Steps(np.arange(len(slots)), slots, reading), list_readings=True))

    def absorb(self, slots: Array, columns: Any) -> None:
        """No source pre-aggregates distinct values."""
        raise TypeError("an aggregate of distinct values takes no partial results")

    def rows(self, steps: Steps, list_readings: bool = False) -> Rows:
        """Steps as rows: the values that enter or leave, and one row with a mark for each reading.

        `list_readings`: a reading step's source enters before it.
        """
        into, ids, signs, marks = _spread(*steps, self.first, self.following, list_readings)
        (_, values) = self.index.columns(ids, [BIGINT, self.type])
        return Rows(into, Vector(values.values, marks), signs, marks)


class Distinct:
    """Whole: how often each value lies in each slot, and the inner accumulator `inner` over the values that do."""

    def __init__(self, type_: Type, inner: Whole) -> None:
        self.type = type_
        self.inner = inner
        self.index = KeyIndex(2)
        self.counts: Array = np.zeros(0, np.int64)

    def resize(self, slots: int) -> None:
        """See `State`."""
        self.inner.resize(slots)

    def clear(self, slots: Array) -> None:
        """See `State`: a slot is cleared when its last row has left, and its values with it."""
        self.inner.clear(slots)

    def nbytes(self) -> int:
        """See `State`."""
        return self.index.nbytes + int(self.counts.nbytes) + self.inner.nbytes()

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """See `State`."""
        _, held = self.index.vectors([BIGINT, self.type])
        yield held

    def apply(self, rows: Rows) -> Vector:
        """See `Whole`."""
        _, keys, present = _keys(rows)
        ids = self.index.lookup_or_insert(keys)
        if self.index.capacity > len(self.counts):
            self.counts = grown(self.counts, self.index.capacity)
        signs = np.zeros(len(rows.slots), np.int8)
        signs[present], gone = _transitions(ids, rows.signs[present] if len(rows.signs) else rows.signs, self.counts)
        self.index.free(gone)
        return self.inner.apply(rows._replace(signs=signs))

    def combine(self, source: DistinctPartial, steps: Steps) -> Vector:
        """See `Whole`."""
        rows = source.rows(steps)
        source.clear(steps.sources[steps.signs < 0])
        return self.apply(rows)


def _keys(rows: Rows) -> tuple[Array, Array, Array]:
    """Slots and keys of the rows that count: the argument is not NULL, and the row comes or leaves; and which rows
    these are.
    """
    assert rows.argument is not None
    present = np.ones(len(rows.slots), np.bool_) if not len(rows.nulls) else ~rows.nulls
    if len(rows.signs):
        present &= rows.signs != 0
    slots = rows.slots[present]
    keys, _ = stacked([Vector(slots), Vector(rows.argument.values[present])], len(slots))
    return slots, keys, present


@njit(cache=True)
def _link(slots: Array, ids: Array, first: Array, following: Array) -> None:
    """Puts new ids in front of their slot's list; `following` is the next id + 2, 1 at the list's end, 0 for an id in
    no list.
    """
    for i in range(len(slots)):
        if following[ids[i]] == 0:
            following[ids[i]] = first[slots[i]] + 2
            first[slots[i]] = ids[i]


@njit(cache=True)
def _listed(slots: Array, first: Array, following: Array) -> tuple[Array, Array]:
    """The ids in the lists of `slots`, and the place of each one's slot among them."""
    n = 0
    for slot in slots:
        at = first[slot]
        while at >= 0:
            n += 1
            at = following[at] - 2
    places, ids = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for i in range(len(slots)):
        at = first[slots[i]]
        while at >= 0:
            places[n], ids[n] = i, at
            n += 1
            at = following[at] - 2
    return places, ids


@njit(cache=True)
def _spread(slots: Array, sources: Array, signs: Array, first: Array, following: Array,
            list_readings: bool) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    listed = sources if list_readings else sources[signs != 0]
    n = len(slots) + len(_listed(listed, first, following)[0])
    into, ids = np.empty(n, np.int64), np.zeros(n, np.int64)
    out_signs, marks = np.zeros(n, np.int8), np.zeros(n, np.bool_)
    n = 0
    for i in range(len(slots)):
        if signs[i] or list_readings:
            at = first[sources[i]]
            while at >= 0:
                into[n], ids[n], out_signs[n] = slots[i], at, signs[i] if signs[i] else 1
                n += 1
                at = following[at] - 2
        if signs[i] == 0:
            into[n], marks[n] = slots[i], True
            n += 1
    return into[:n], ids[:n], out_signs[:n], marks[:n]


@njit(cache=True)
def _transitions(ids: Array, signs: Array, counts: Array) -> tuple[Array, Array]:
    """+1 where a value comes to be there, -1 where it ceases to be, else 0; and the ids that are not there at the
    end.
    """
    changes = np.zeros(len(ids), np.int8)
    for i in range(len(ids)):
        sign = signs[i] if len(signs) else 1
        before = counts[ids[i]]
        counts[ids[i]] = before + sign
        if sign > 0 and before == 0:
            changes[i] = 1
        elif sign < 0 and before == 1:
            changes[i] = -1
    gone = np.empty(len(ids), np.int64)
    n = 0
    for key in ids:
        if counts[key] == 0:
            counts[key] = -1
            gone[n] = key
            n += 1
    for i in range(n):
        counts[gone[i]] = 0
    return changes, gone[:n]
