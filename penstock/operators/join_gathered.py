"""Columns of joined tuples that are gathered when somebody reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.join_gather import taken


class Gathered(Sequence[Vector]):
    """Column i is `parts[i][0]` at the rows `parts[i][1]`, gathered once; the arrays below must not change.

    >>> import numpy as np
    >>> Gathered([(Vector(np.array([5, 6, 7])), np.array([2, 2, 0]))])[0].values.tolist()
    [7, 7, 5]
    """

    __slots__ = ("_done", "_parts")

    def __init__(self, parts: Sequence[tuple[Vector, Array]]) -> None:
        self._parts = parts
        self._done: list[Vector | None] = [None] * len(parts)

    def __len__(self) -> int:
        return len(self._parts)

    @overload
    def __getitem__(self, index: int) -> Vector: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Vector]: ...
    def __getitem__(self, index: int | slice) -> Vector | Sequence[Vector]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        done = self._done[index]
        if done is None:
            vector, rows = self._parts[index]
            nulls = None if vector.nulls is None else taken(vector.nulls, rows)
            done = self._done[index] = Vector(taken(vector.values, rows), nulls)
        return done

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the gathered columns: not with the windows they come from."""
        return list, (list(self),)
