"""Expressions over one interned column (a string, an array, a wide decimal) run once for each distinct value: results
are kept by code.

`like`, `lower`, `length(trim(s)) > 3`, a `case` over strings: whatever reads nothing but one such column. The table
grows with the dictionary. When a dictionary has given codes back, what was remembered may be about another value (or,
where results are interned, be another result): all is forgotten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector, interned, physical
from penstock.operators.vector_eval.scope import Closure, Scope, masked, union, unscaled
from penstock.plan.expressions import Call, Column, Expression, walk
from penstock.plan.functions import can_raise, evaluate

UNKNOWN, KNOWN, NULL = 0, 1, 2


def only_column(expression: Expression) -> Column | None:
    """The one interned column that `expression` reads, None where it reads others too (or weights), or is a plain
    column."""
    if any(isinstance(e, Call) and e.function == "weight" for e in walk(expression)):
        return None
    found = {e for e in walk(expression) if isinstance(e, Column)}
    if len(found) != 1 or isinstance(expression, Column) or can_raise(expression):
        return None
    column = found.pop()
    return column if interned(column.type) else None


def compile_by_code(expression: Expression, column: Column, scope: Scope) -> Closure:
    """A closure that looks results up by code, and evaluates only for codes that it has not met."""
    table = Table(expression, column, scope)
    index = scope.schema.index(column.name)

    def run(train: Train) -> Vector:
        codes, nulls = train.column(index)
        return table.look_up(codes, nulls)

    return run


class Table:
    """Results of one expression by code: `state` says what is known of each code."""

    __slots__ = (
        "expression",
        "generations",
        "has_null",
        "name",
        "of_null",
        "source",
        "state",
        "target",
        "type",
        "values",
    )

    def __init__(self, expression: Expression, column: Column, scope: Scope) -> None:
        self.expression, self.name, self.type = expression, column.name, expression.type
        self.source = scope.dictionary(column.type)
        self.target = scope.dictionary(self.type) if interned(self.type) else None
        self.of_null = evaluate(expression, {column.name: None})
        self._forget(0)

    def look_up(self, codes: Array, nulls: Array | None) -> Vector:
        """The results for a column."""
        self._catch_up()
        state = self.state[codes]
        if not np.logical_and.reduce(state):
            unknown = state == UNKNOWN
            self._learn(codes[unknown if nulls is None else unknown & ~nulls])
            state = self.state[codes]
        values = self.values[codes]
        null_results = state == NULL if self.has_null else None
        if nulls is None:
            return Vector(values, null_results)
        return self._with_nulls(values, null_results, nulls)

    def _with_nulls(self, values: Array, null_results: Array | None, nulls: Array) -> Vector:
        if self.of_null is None:
            return masked(values, union(null_results, nulls))
        values[nulls] = self._physical(self.of_null)
        return Vector(values, None if null_results is None else null_results & ~nulls)

    def _catch_up(self) -> None:
        if self.generations != self._generations():
            self._forget(len(self.state))
        count = len(self.source.values)
        if count > len(self.state):
            self._resize(max(16, 2 * count))

    def _forget(self, size: int) -> None:
        self.state: Array = np.zeros(max(size, 1), np.uint8)
        self.values: Array = np.zeros(max(size, 1), physical(self.type))
        self.has_null = False
        self.generations = self._generations()

    def _resize(self, size: int) -> None:
        self.state = np.concatenate([self.state, np.zeros(size - len(self.state), np.uint8)])
        self.values = np.concatenate([self.values, np.zeros(size - len(self.values), self.values.dtype)])

    def _generations(self) -> tuple[int, int]:
        return self.source.generation, self.target.generation if self.target is not None else 0

    def _learn(self, codes: Array) -> None:
        for code in set(codes.tolist()):
            result = evaluate(self.expression, {self.name: self.source.values[code]})
            self.state[code] = NULL if result is None else KNOWN
            self.has_null |= result is None
            if result is not None:
                self.values[code] = self._physical(result)

    def _physical(self, result: Any) -> Any:
        return unscaled(result, self.type) if self.target is None else self.target.code(result)
