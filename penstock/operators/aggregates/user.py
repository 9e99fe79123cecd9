"""Aggregates in Python (`init`, `incr`, `final`): recomputed from a slot's rows in order, at every reading.

NULL arguments are skipped. A row on which `incr` raises is set aside: counted, and left out; where `final` raises the
value is NULL. Rows of a relation that have no order come in the order of their values.
"""

from __future__ import annotations

import inspect
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from penstock.operators.aggregates.base import Rows, Steps
from penstock.operators.base import Context, value_key
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.vector_eval.values import to_values, to_vector
from penstock.plan.functions.user import UserAggregate
from penstock.plan.types import Type, to_internal, to_python

Entry = tuple[int, tuple[Any, ...], Any]
"""A row of a slot: its place, its value's order, its value."""


class UserState:
    """Partial and whole at once: the rows of each slot, in order."""

    def __init__(self, entry: UserAggregate, argument: Type, context: Context) -> None:
        self.entry = entry
        self.argument = argument
        self.context = context
        self.slots: list[list[Entry]] = []
        self.owed: list[tuple[Any, ...]] = []

    def resize(self, slots: int) -> None:
        """See `State`."""
        self.slots.extend([] for _ in range(slots - len(self.slots)))

    def clear(self, slots: Array) -> None:
        """See `State`."""
        for slot in slots.tolist():
            self.slots[slot] = []

    def nbytes(self) -> int:
        """See `State`: an estimate, a Python value takes about a hundred bytes."""
        return sum(100 * len(rows) for rows in self.slots)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """Values are kept as such, not as codes."""
        return iter(())

    def add(self, rows: Rows) -> None:
        """See `Partial`."""
        self.apply(rows)

    def absorb(self, slots: Array, columns: Any) -> None:
        """No source pre-aggregates a user's aggregate."""
        raise TypeError("an aggregate in Python takes no partial results")

    def read(self, slots: Array) -> Vector:
        """See `Partial`."""
        return self._values([self.value(s) for s in slots.tolist()])

    def apply(self, rows: Rows) -> Vector:
        """See `Whole`."""
        assert rows.argument is not None
        values = to_values(rows.argument, self.argument, self.context)
        count = len(values)
        signs = rows.signs.tolist() if len(rows.signs) else [1] * count
        marks = rows.marks.tolist() if len(rows.marks) else [False] * count
        places = rows.places.tolist() if len(rows.places) else [0] * count
        read = []
        for slot, value, sign, mark, place in zip(rows.slots.tolist(), values, signs, marks, places, strict=True):
            if value is not None:
                self._change(slot, (place, value_key(value), value), sign)
            if mark:
                read.append(self.value(slot))
        return self._values(read)

    def combine(self, source: UserState, steps: Steps) -> Vector:
        """See `Whole`."""
        read = []
        for slot, pane, sign in zip(*(s.tolist() for s in steps), strict=True):
            if sign == 0:
                read.append(self.value(slot))
                continue
            for entry in source.slots[pane]:
                self._change(slot, entry, sign)
            if sign < 0:
                source.slots[pane] = []
        return self._values(read)

    def value(self, slot: int) -> Any:
        """The aggregate of a slot's rows."""
        return evaluate(self.entry, self.argument, (e[2] for e in self.slots[slot]), self.context)

    def _change(self, slot: int, entry: Entry, sign: int) -> None:
        """Within an instant a row may leave before it comes: it is owed until then."""
        rows, order = self.slots[slot], (slot, *_order(entry))
        if sign > 0 and order in self.owed:
            self.owed.remove(order)
        elif sign > 0:
            insort(rows, entry, key=_order)
        elif sign < 0:
            at = bisect_left(rows, _order(entry), key=_order)
            if at < len(rows) and _order(rows[at]) == _order(entry):
                del rows[at]
            else:
                self.owed.append(order)

    def _values(self, values: list[Any]) -> Vector:
        return to_vector(values, self.entry.returns, self.context) if values else Vector(np.empty(0, np.int64))


def _order(entry: Entry) -> tuple[int, tuple[Any, ...]]:
    return entry[:2]


def evaluate(entry: UserAggregate, argument: Type, values: Iterable[Any], context: Context | None = None) -> Any:
    """The aggregate of internal values, none of them NULL, as an internal value."""
    incr, final = _started(entry)
    for value in values:
        try:
            incr(to_python(value, argument))
        except Exception:
            _set_aside(entry, context)
    try:
        result = final()
        return to_internal(result.item() if isinstance(result, np.generic) else result, entry.returns)
    except Exception:
        _set_aside(entry, context)
        return None


def _started(entry: UserAggregate) -> tuple[Callable[[Any], object], Callable[[], Any]]:
    """`incr` and `final` of a fresh state: it lives on the instance, or is passed from call to call, by methods or
    plain functions.
    """
    factory: Any = entry.factory
    plain = not inspect.signature(factory.init).parameters
    owner = factory if plain else factory()
    state = [owner.init()]
    if not plain and len(inspect.signature(owner.final).parameters) == 0:
        return owner.incr, owner.final

    def incr(value: Any) -> None:
        state[0] = owner.incr(state[0], value)

    return incr, lambda: owner.final(state[0])


def _set_aside(entry: UserAggregate, context: Context | None) -> None:
    if context is not None:
        context.set_aside[entry.name] = context.set_aside.get(entry.name, 0) + 1
