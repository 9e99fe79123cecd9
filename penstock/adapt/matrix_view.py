"""The matrix view over a profile window (Babu 4.3.2), kept up tuple by tuple, rescanned only to correct a violation.

    V[i, j]   profile tuples that the filter in place j drops, among those that no filter before place i drops (i <= j)
    a         the filters' average processing times

The greedy invariant (definition 4.3.1) holds where V[i, i] / a >= V[i, j] / a for all i <= j. A filter that could raise
on rows which another one drops is no candidate for a place before that one (`protectors`, a word of bits a filter).

A-Greedy keeps all entries; its variants only those of figure 4.9: Sweep the diagonal and one column, Independent the
first row, LocalSwaps two diagonals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
FULL, COLUMN, ROW, DIAGONALS = 0, 1, 2, 3
"""Which entries are kept: all; the diagonal and one column; the first row; the diagonal and the one beside it."""
NEVER: Final = -1


class MatrixView:
    """The view for filters in `order`; `column` is the place that Sweep profiles.

    >>> view = MatrixView((2, 0, 1))
    >>> view.count(np.array([0b100, 0b011]), 1)
    >>> view.entries.tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 0]]
    """

    __slots__ = ("column", "entries", "order", "protectors", "shape")

    def __init__(
        self, order: Sequence[int], shape: int = FULL, column: int = 0, protectors: Sequence[int] | None = None
    ) -> None:
        self.order: Array = np.array(order, np.int64)
        self.shape = shape
        self.column = column
        self.protectors: Array = np.array(protectors or [0] * len(self.order), np.int64)
        self.entries: Array = np.zeros((len(self.order), len(self.order)), np.int64)

    def copy(self) -> MatrixView:
        """One of its own with the same entries."""
        view = MatrixView(self.order.tolist(), self.shape, self.column, self.protectors.tolist())
        view.entries[:] = self.entries
        return view

    def count(self, bits: Array, sign: int) -> None:
        """Profile tuples come (`sign` 1) or go (-1): figure 4.5."""
        _count(self.entries, self.order, bits, sign, self.shape, self.column)

    def scan(self, bits: Array) -> None:
        """All entries anew, from the profile window's tuples."""
        self.entries[:] = 0
        self.count(bits, 1)

    def violation(self, costs: Array, alpha: float = 1.0) -> int:
        """The first place at which the invariant does not hold by more than the factor `alpha` (equation 4.4), NEVER
        where it holds everywhere: figure 4.6."""
        return int(_violation(self.entries, self.order, costs, alpha, self.shape, self.column, self.protectors))

    def correct(self, costs: Array, bits: Array, alpha: float = 1.0) -> None:
        """Corrects all violations, over the window's tuples: figure 4.7, with its loop up to and including the last
        place that changed.

        The figure swaps the filter that is best with the one in its place. Here those between make room, and keep their
        order: that gives the order of example 4.3.3, and of equals the one that stood first stays first.
        """
        while (place := self.violation(costs, alpha)) != NEVER:
            _correct(self.entries, self.order, costs, bits, place, self.protectors)


@njit(cache=True)
def _first_drop(word: int, order: Array) -> int:
    for place in range(len(order)):
        if word >> order[place] & 1:
            return place
    return -1


@njit(cache=True)
def _count(v: Array, order: Array, bits: Array, sign: int, shape: int, column: int) -> None:
    n = len(order)
    for word in bits:
        dc = _first_drop(word, order)
        if dc < 0:
            continue
        if shape == FULL:
            for c in range(dc, n):
                if word >> order[c] & 1:
                    for r in range(dc + 1):
                        v[r, c] += sign
        elif shape == ROW:
            for c in range(dc, n):
                if word >> order[c] & 1:
                    v[0, c] += sign
        elif shape == COLUMN:
            _count_column(v, order, word, dc, sign, column)
        else:
            _count_diagonals(v, order, word, dc, sign)


@njit(cache=True)
def _count_column(v: Array, order: Array, word: int, dc: int, sign: int, column: int) -> None:
    if dc <= column:
        v[dc, dc] += sign
        if word >> order[column] & 1:
            for r in range(min(dc + 1, column)):
                v[r, column] += sign


@njit(cache=True)
def _count_diagonals(v: Array, order: Array, word: int, dc: int, sign: int) -> None:
    v[dc, dc] += sign
    if dc > 0:
        v[dc - 1, dc] += sign
    if dc + 1 < len(order) and word >> order[dc + 1] & 1:
        v[dc, dc + 1] += sign


@njit(cache=True)
def _violation(v: Array, order: Array, a: Array, alpha: float, shape: int, column: int, protectors: Array) -> int:
    n, placed = len(order), 0
    for i in range(n):
        row = 0 if shape == ROW else i
        here = v[row, i] / a[order[i]]
        first, last = i + 1, n
        if shape == COLUMN:
            first, last = max(first, column), column + 1
        elif shape == DIAGONALS:
            last = min(n, i + 2)
        for j in range(first, last):
            free = protectors[order[j]] & ~placed == 0
            if free and here < alpha * (v[row, j] / a[order[j]]):
                return i
        placed |= 1 << order[i]
    return -1


@njit(cache=True)
def _scan_row(v: Array, order: Array, bits: Array, r: int, placed: int) -> None:
    v[r, r:] = 0
    for word in bits:
        if word & placed == 0:
            for c in range(r, len(order)):
                v[r, c] += word >> order[c] & 1


@njit(cache=True)
def _best(v: Array, order: Array, a: Array, r: int, placed: int, protectors: Array) -> int:
    """The candidate for place `r` that drops most for its cost: the one that is there, where none is better."""
    best = -1
    for c in range(r, len(order)):
        free = protectors[order[c]] & ~placed == 0
        if free and (best < 0 or v[r, c] / a[order[c]] > v[r, best] / a[order[best]]):
            best = c
    return best


@njit(cache=True)
def _move(values: Array, source: int, target: int) -> None:
    """Takes the value at `source` to `target`, further to the front."""
    moved = values[source]
    for place in range(source, target, -1):
        values[place] = values[place - 1]
    values[target] = moved


@njit(cache=True)
def _correct(v: Array, order: Array, a: Array, bits: Array, place: int, protectors: Array) -> None:
    placed = 0
    for i in range(place):
        placed |= 1 << order[i]
    r, last = place, place
    while r <= last:
        _scan_row(v, order, bits, r, placed)
        best = _best(v, order, a, r, placed, protectors)
        last = max(last, best)
        if best != r:
            _move(order, best, r)
            for k in range(r + 1):
                _move(v[k], best, r)
        placed |= 1 << order[r]
        r += 1
