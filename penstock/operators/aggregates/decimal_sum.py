"""sum and avg over decimals, and avg over intervals: exact, rounded half up once where the result has fewer digits.

A decimal of at most 18 digits is summed as its unscaled integer; a wider one as three integers of 13 digits each,
which keeps all of it inside the integer accumulator. Partial from outside: that of
`penstock.operators.aggregates.integer_sum`, of the unscaled integer; decimals of more than 18 digits have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Context as DecimalContext
from decimal import Decimal
from typing import Final, Self

import numpy as np

from penstock.operators.aggregates.base import Rows, Steps
from penstock.operators.aggregates.integer_sum import IntegerSum, exact
from penstock.operators.base import Context
from penstock.operators.columns.vector import Array, Vector, interned
from penstock.plan.types import Type

PART: Final = 10**13
WIDE_PARTS: Final = 3
_EXACT: Final = DecimalContext(prec=80)


class DecimalSum:
    """`argument` and `result` are the types; `mean`: the average, else the sum. NULL where the result's digits do not
    hold it.
    """

    def __init__(self, argument: Type, result: Type, mean: bool, context: Context) -> None:
        self.argument = argument
        self.result = result
        self.mean = mean
        self.context = context
        self.parts = [IntegerSum() for _ in range(WIDE_PARTS if interned(argument) else 1)]

    def resize(self, slots: int) -> None:
        """See `State`."""
        for part in self.parts:
            part.resize(slots)

    def clear(self, slots: Array) -> None:
        """See `State`."""
        for part in self.parts:
            part.clear(slots)

    def nbytes(self) -> int:
        """See `State`."""
        return sum(p.nbytes() for p in self.parts)

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """Numbers only."""
        return iter(())

    def add(self, rows: Rows) -> None:
        """See `Partial`."""
        for part, run in zip(self.parts, self._split(rows), strict=True):
            part.applied(run)

    def absorb(self, slots: Array, columns: Sequence[Vector]) -> None:
        """See `Partial`."""
        (part,) = self.parts
        part.absorb(slots, columns)

    def apply(self, rows: Rows) -> Vector:
        """See `Whole`."""
        return self._value([p.applied(run) for p, run in zip(self.parts, self._split(rows), strict=True)])

    def combine(self, source: Self, steps: Steps) -> Vector:
        """See `Whole`."""
        return self._value([p.combined(s, steps) for p, s in zip(self.parts, source.parts, strict=True)])

    def read(self, slots: Array) -> Vector:
        """See `Partial`."""
        return self._value([p.copied(slots) for p in self.parts])

    def _split(self, rows: Rows) -> list[Rows]:
        if len(self.parts) == 1:
            return [rows]
        assert rows.argument is not None
        pieces = self._pieces(rows.argument)
        return [rows._replace(argument=Vector(p, rows.argument.nulls)) for p in pieces]

    def _pieces(self, argument: Vector) -> list[Array]:
        """The parts of each value, the least first."""
        codes, places = np.unique(argument.values, return_inverse=True)
        values = self.context.dictionaries.of(self.argument).values
        live = set(argument.values[~argument.nulls].tolist()) if argument.nulls is not None else None
        numbers = [
            0 if live is not None and c not in live else _unscaled(values[c], self.argument.scale)
            for c in codes.tolist()
        ]
        pieces = []
        for i in range(WIDE_PARTS):
            digits = [(abs(n) // PART**i % PART) * (1 if n >= 0 else -1) for n in numbers]
            pieces.append(np.array(digits, np.int64)[places])
        return pieces

    def _value(self, copies: list[Array]) -> Vector:
        counted = [exact(c) for c in copies]
        totals = [
            (row[0][0], sum(part[1] * PART**i for i, part in enumerate(row))) for row in zip(*counted, strict=True)
        ]
        return self._encoded([self._result(count, total) for count, total in totals])

    def _result(self, count: int, total: int) -> int | None:
        """The unscaled result."""
        if count == 0:
            return None
        if self.mean:
            total = half_up(total * 10 ** (self.result.scale - self.argument.scale), count)
        limit = 10**self.result.precision if self.result.name == "decimal" else 1 << 63
        return total if -limit < total < limit else None

    def _encoded(self, values: list[int | None]) -> Vector:
        if interned(self.result):
            scaled = [None if v is None else Decimal(v).scaleb(-self.result.scale, _EXACT) for v in values]
            return self.context.dictionaries.of(self.result).encode(scaled)
        nulls = np.array([v is None for v in values], np.bool_)
        return Vector(np.array([v or 0 for v in values], np.int64), nulls if nulls.any() else None)


def half_up(dividend: int, divisor: int) -> int:
    """The quotient rounded to the nearest integer, halves away from zero.

    >>> half_up(5, 2), half_up(-5, 2), half_up(7, 3)
    (3, -3, 2)
    """
    quotient = (2 * abs(dividend) + divisor) // (2 * divisor)
    return quotient if dividend >= 0 else -quotient


def _unscaled(value: Decimal, scale: int) -> int:
    return int(value.scaleb(scale, _EXACT))
