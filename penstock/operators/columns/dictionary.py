"""Strings, arrays and wide decimals as int64 codes: equal values have equal codes, so kernels compare numbers.

Codes are given back: `sweep` frees every code that no live vector holds (the caller marks those), so that a stream of
ever new strings does not fill the memory.
"""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterable
from typing import Any

import numpy as np

from penstock.operators.columns.vector import Array, Vector
from penstock.plan.types import Type


class Dictionary:
    """Values of one type and their codes; `values[code]` is the value.

    `generation` changes when codes were given back: what was remembered by code may then be about another value.
    """

    __slots__ = ("_codes", "_free", "generation", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.generation = 0
        self._codes: dict[Any, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._codes)

    def code(self, value: Any) -> int:
        """The code of `value`, a new one where it has none."""
        code = self._codes.get(value)
        return self._added(value) if code is None else code

    def _added(self, value: Any) -> int:
        value = same_nan(value)
        if value in self._codes:
            return self._codes[value]
        if self._free:
            code = self._free.pop()
            self.values[code] = value
        else:
            code = len(self.values)
            self.values.append(value)
        self._codes[value] = code
        return code

    def find(self, value: Any) -> int:
        """The code of `value`, -1 where it has none."""
        return self._codes.get(same_nan(value), -1)

    def encode(self, values: Iterable[Any]) -> Vector:
        """Internal values, None among them, as a vector of codes."""
        listed, known = list(values), self._codes.get
        codes = [0 if v is None else self._added(v) if (code := known(v)) is None else code for v in listed]
        nulls = np.fromiter((v is None for v in listed), np.bool_, len(listed)) if None in listed else None
        return Vector(np.array(codes, np.int64), nulls)

    def decode(self, vector: Vector) -> list[Any]:
        """The inverse of `encode`."""
        values = self.values
        decoded = [values[c] for c in vector.values.tolist()] if len(values) else [None] * len(vector)
        if vector.nulls is not None:
            decoded = [None if null else v for v, null in zip(decoded, vector.nulls.tolist(), strict=True)]
        return decoded

    def sweep(self, live: Array) -> int:
        """Frees every code that `live` (a mask over all codes) does not mark; says how many."""
        dead = [c for v, c in self._codes.items() if not live[c]]
        for code in dead:
            del self._codes[self.values[code]]
            self.values[code] = None
        self._free.extend(dead)
        self.generation += bool(dead)
        return len(dead)


def same_nan(value: Any) -> Any:
    """`value`, an array's NaNs replaced by one object: Python takes tuples for equal that hold the same objects, equal
    or not.
    """
    if type(value) is not tuple:
        return value
    return tuple(math.nan if v != v else same_nan(v) for v in value)


class Dictionaries:
    """One dictionary for each interned type of a running network; all strings share one."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[str, Dictionary] = {}

    def of(self, t: Type) -> Dictionary:
        """The dictionary of `t`."""
        return self._by_type.setdefault(str(t), Dictionary())

    def items(self) -> ItemsView[str, Dictionary]:
        """Every dictionary with its type as text."""
        return self._by_type.items()
