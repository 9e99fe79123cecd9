"""The rate space divided among the rows of a point table, and the point quadtree that finds an observation's row.

Every row p owns the points at or above it in all inputs, less what rows of a higher score own. So the owner of an
observation is the best row at or below it. A point quadtree finds it: each row divides its part of the space into 2^m
quadrants around itself; a quadrant that lies above the observation in some input holds no candidate, and a quadrant
whose best score is not better is skipped.

Reference: Tatbul, section 5.5.4 and figure 5.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.cluster.flows import Floats
from penstock.cluster.points import ROUNDING, Points

Whole: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Quadtree:
    """A point quadtree as flat arrays: entry k stands for row k of the table; `first[k]` is its first child,
    `following[k]` its next sibling, `quadrant[k]` the quadrant of its parent it lies in (bit i set: at or above the
    parent in input i), -1 for none."""

    table: Points
    first: Whole
    following: Whole
    quadrant: Whole
    best: Floats
    root: int

    def find(self, rates: Floats) -> int:
        """A row that owns these rates, or -1 where no row lies at or below them.

        >>> table = Points(np.array([[0.0, 0.0], [0.2, 0.4], [0.4, 0.2]]), np.array([0.0, 0.6, 0.5]), np.full(2, 0.2))
        >>> tree = quadtree(table)
        >>> [tree.find(np.array(r)) for r in ([0.3, 0.5], [0.5, 0.3], [0.5, 0.5], [0.1, 0.1])]
        [1, 2, 1, 0]
        """
        return int(
            _find(
                self.table.rates,
                self.table.scores,
                self.first,
                self.following,
                self.quadrant,
                self.best,
                self.root,
                rates * (1 + ROUNDING),
            )
        )


def quadtree(table: Points) -> Quadtree:
    """The index of a table; rows are inserted from the middle outwards in a fixed shuffle, which keeps the tree
    shallow.
    """
    order = np.random.default_rng(0).permutation(len(table))
    first, following, quadrant, best = _grow(table.rates, table.scores, order)
    return Quadtree(table, first, following, quadrant, best, int(order[0]))


def owners(table: Points, rates: Floats) -> NDArray[np.intp]:
    """The owner of each observation by going through all rows: what the index must agree with."""
    fits = (table.rates[None, :, :] <= rates[:, None, :] * (1 + ROUNDING)).all(axis=2)
    scores = np.where(fits, table.scores, -np.inf)
    return np.where(np.isfinite(scores).any(axis=1), scores.argmax(axis=1), -1)


@njit(cache=True)
def _grow(rates: Floats, scores: Floats, order: Whole) -> tuple[Whole, Whole, Whole, Floats]:
    count, inputs = rates.shape
    first, following = np.full(count, -1), np.full(count, -1)
    quadrant, best = np.full(count, -1), scores.copy()
    for position in range(1, count):
        row, at = order[position], order[0]
        while True:
            best[at] = max(best[at], scores[row])
            side = 0
            for i in range(inputs):
                if rates[row, i] >= rates[at, i]:
                    side |= 1 << i
            child = first[at]
            while child >= 0 and quadrant[child] != side:
                child = following[child]
            if child < 0:
                quadrant[row], following[row], first[at] = side, first[at], row
                break
            at = child
    return first, following, quadrant, best


@njit(cache=True)
def _find(
    rates: Floats,
    scores: Floats,
    first: Whole,
    following: Whole,
    quadrant: Whole,
    best: Floats,
    root: int,
    point: Floats,
) -> int:
    inputs = point.size
    waiting = np.empty(scores.size, np.int64)
    waiting[0], left, owner = root, 1, -1
    while left > 0:
        left -= 1
        at = waiting[left]
        if owner >= 0 and best[at] <= scores[owner]:
            continue
        above = 0
        for i in range(inputs):
            if rates[at, i] > point[i]:
                above |= 1 << i
        if above == 0 and (owner < 0 or scores[at] > scores[owner]):
            owner = at
        child = first[at]
        while child >= 0:
            if quadrant[child] & above == 0:
                waiting[left] = child
                left += 1
            child = following[child]
    return owner
