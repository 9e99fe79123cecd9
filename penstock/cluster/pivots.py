"""The dual simplex method on a small dictionary: from "keep everything" to the best plan, one drop location at a time.

The start keeps every tuple: the best score there is, but some nodes may be over capacity (negative slack). Each pivot
takes the worst violation and brings in the drop with the smallest loss of score per unit of relief, which is the
quality/load ratio of section 5.5.2. The score never rises on the way, so any intermediate score bounds the optimum
from above, and the first plan that violates nothing is the optimum. Rates appear on the right-hand side only, so one
dictionary serves every observation of the rates.

Rounding is followed: `noise` bounds the error of every value from pivot to pivot, and a value below zero by less is
no violation. What comes out is certified against the dictionary itself, by its own slacks and by its dual prices. If
that fails, the dictionary of the last basis is made afresh and the walk goes on; if it fails again, the caller is told.

Reference: Tatbul, sections 5.4 (the Simplex Method) and 5.5.2 (ratios); Lemke 1954 for the dual method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.cluster.flows import Floats

# A coefficient below this share of the largest in its row is rounding noise and never a pivot.
SMALLEST_PIVOT = 1e-10
# A violation below this share of a row's own size is rounding noise.
ROUNDING = 1e-14
# Losses per relief that differ by less than this share of the largest cost are a tie; the larger pivot wins it.
TIE = 1e-13
# A certified plan exceeds no capacity by more than this share, beside ten times the rounding of the largest number,
EXCESS = 1e-10
# ... and scores this share of what was at stake less than the best, at most.
GAP = 1e-12
# How often a dictionary is made afresh.
FRESH = 2
# After so many pivots per row and column the smallest-index rule takes over: it cannot cycle.
PATIENCE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """`basic = fixed + sloped @ rates - matrix @ free`, all variables >= 0; the score lost is `cost @ free`, cost >= 0.

    `units` are the sizes in which the free variables, then the basic ones, are counted.
    """

    matrix: Floats
    cost: Floats
    fixed: Floats
    sloped: Floats
    units: Floats


def dictionary(matrix: Floats, cost: Floats, fixed: Floats, sloped: Floats, unit: Floats) -> Dictionary:
    """A dictionary with free variable j counted in `unit[j]`, and every row scaled to a largest coefficient of 1."""
    matrix = matrix * unit
    size = np.abs(matrix).max(axis=1, initial=0.0)
    size[size == 0] = 1.0
    rows = size[:, None]
    scaled = np.ascontiguousarray(matrix / rows)
    return Dictionary(
        scaled, cost * unit, fixed / size, np.ascontiguousarray(sloped / rows), np.concatenate([unit, size])
    )


def minimise_loss(tableau: Dictionary, rates: Floats) -> tuple[Floats, float, bool]:
    """The best values of the free, then the basic variables, the score they lose, and whether they are certain.

    >>> one = dictionary(np.array([[-4.0], [1.0]]), np.array([1.0]), np.array([1.0, 0.0]),
    ...                  np.array([[-4.0], [1.0]]), np.ones(1))
    >>> values, loss, certain = minimise_loss(one, np.array([1.0]))  # capacity 1, cost 4: drop 3/4, keep 1/4
    >>> values.tolist(), loss, certain
    ([0.75, 0.0, 0.25], 0.75, True)
    """
    given = (tableau.matrix, tableau.cost, tableau.fixed, tableau.sloped, rates)
    values, loss, names, certain = optimise(*given, np.arange(sum(tableau.matrix.shape)))
    for _ in range(FRESH):
        if certain:
            break
        values, loss, names, certain = optimise(*given, names)
    return values * tableau.units, loss, certain


@njit(cache=True)
def optimise(
    matrix: Floats, cost: Floats, fixed: Floats, sloped: Floats, rates: Floats, names: NDArray[np.int64]
) -> tuple[Floats, float, NDArray[np.int64], bool]:
    """The values of the free, then the basic variables at their best, the score they lose, which variables are free
    and basic there, and whether that is certain. The walk starts where `names` are free, then basic.
    """
    rows, columns = matrix.shape
    offered, size = fixed.copy(), np.abs(fixed)
    for i in range(rows):
        for k in range(rates.size):
            offered[i] += sloped[i, k] * rates[k]
            size[i] += abs(sloped[i, k] * rates[k])
    work, price, right, noise, names = _dictionary_of(matrix, cost, offered, size, names)
    _walk(work, price, right, noise, names)
    values = np.zeros(rows + columns)
    for i in range(rows):
        values[names[columns + i]] = max(right[i], 0.0)
    loss = 0.0
    for j in range(columns):
        loss += cost[j] * values[j]
    return values, loss, names, _certain(matrix, cost, fixed, offered, size, values, price, names)


@njit(cache=True)
def _dictionary_of(
    matrix: Floats, cost: Floats, offered: Floats, size: Floats, names: NDArray[np.int64]
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.int64]]:
    """The dictionary in which `names` are free, then basic, made from the first one by pivots on the largest
    coefficients; a basis that rounding made singular keeps the first one's variable in its place.
    """
    rows, columns = matrix.shape
    work, price, right, noise = matrix.copy(), cost.copy(), offered.copy(), ROUNDING * size
    wanted = np.zeros(rows + columns, np.bool_)
    wanted[names[columns:]] = True
    now = np.arange(rows + columns)
    for _ in range(rows):
        best, leaving, entering = SMALLEST_PIVOT, -1, -1
        for j in range(columns):
            if wanted[now[j]]:
                for i in range(rows):
                    if not wanted[now[columns + i]] and abs(work[i, j]) > best:
                        best, leaving, entering = abs(work[i, j]), i, j
        if leaving < 0:
            break
        _pivot(work, price, right, noise, leaving, entering)
        now[columns + leaving], now[entering] = now[entering], now[columns + leaving]
    return work, price, right, noise, now


@njit(cache=True)
def _walk(work: Floats, price: Floats, right: Floats, noise: Floats, names: NDArray[np.int64]) -> None:
    """Pivot until nothing is violated by more than rounding, in place."""
    rows, columns = work.shape
    tie = TIE * np.abs(price).max() if columns else 0.0
    for turn in range(50 * (rows + columns)):
        careful = turn > PATIENCE * (rows + columns)
        leaving = _violated(right, noise, names[columns:], careful)
        if leaving < 0:
            break
        entering = _cheapest(work[leaving], price, names, tie, careful)
        if entering < 0:
            noise[leaving] = np.inf
            continue
        _pivot(work, price, right, noise, leaving, entering)
        names[columns + leaving], names[entering] = names[entering], names[columns + leaving]


@njit(cache=True)
def _certain(
    matrix: Floats,
    cost: Floats,
    fixed: Floats,
    offered: Floats,
    size: Floats,
    values: Floats,
    price: Floats,
    names: NDArray[np.int64],
) -> bool:
    """Whether the free variables fit every row, and no others can lose less: the prices y >= 0 of the rows must make
    cost + y matrix >= 0, and -y offered, a bound from below on every loss, must meet the loss.
    """
    rows, columns = matrix.shape
    prices = np.zeros(rows)
    for j in range(columns):
        if names[j] >= columns:
            prices[names[j] - columns] = max(price[j], 0.0)
    loss, stake, most = 0.0, 0.0, 0.0
    for j in range(columns):
        most = max(most, values[j])
    for i in range(rows):
        used = 0.0
        for j in range(columns):
            used += matrix[i, j] * values[j]
        if used > offered[i] + EXCESS * abs(fixed[i]) + 10.0 * ROUNDING * max(size[i], most):
            return False
        loss += prices[i] * offered[i]
        stake += prices[i] * size[i]
    for j in range(columns):
        worth, most = cost[j], cost[j]
        for i in range(rows):
            worth += prices[i] * matrix[i, j]
            most += prices[i] * abs(matrix[i, j])
        if worth < -GAP * most:
            return False
        loss += cost[j] * values[j]
        stake += cost[j] * values[j]
    return loss <= GAP * stake


@njit(cache=True)
def _violated(right: Floats, noise: Floats, names: NDArray[np.int64], careful: bool) -> int:
    """The row furthest below zero; when careful, the violated row of the smallest name."""
    chosen, worst = -1, 0.0
    for i in range(right.size):
        if right[i] < -noise[i]:
            if careful:
                if chosen < 0 or names[i] < names[chosen]:
                    chosen = i
            elif right[i] < worst:
                chosen, worst = i, right[i]
    return chosen


@njit(cache=True)
def _cheapest(row: Floats, price: Floats, names: NDArray[np.int64], tie: float, careful: bool) -> int:
    """The drop that loses least score per unit of relief; of those about as good the one that relieves most."""
    tiny, bound = SMALLEST_PIVOT * np.abs(row).max(), np.inf
    for j in range(row.size):
        if row[j] < -tiny:
            bound = min(bound, (max(price[j], 0.0) + (0.0 if careful else tie)) / -row[j])
    chosen = -1
    for j in range(row.size):
        if row[j] >= -tiny or max(price[j], 0.0) > bound * -row[j]:
            continue
        if chosen < 0 or (names[j] < names[chosen] if careful else row[j] < row[chosen]):
            chosen = j
    return chosen


@njit(cache=True)
def _pivot(work: Floats, price: Floats, right: Floats, noise: Floats, leaving: int, entering: int) -> None:
    rows, columns = work.shape
    pivot = 1.0 / work[leaving, entering]
    for j in range(columns):
        work[leaving, j] *= pivot
    work[leaving, entering] = pivot
    right[leaving] *= pivot
    noise[leaving] = abs(pivot) * noise[leaving] + ROUNDING * abs(right[leaving])
    for i in range(rows):
        share = work[i, entering]
        if i != leaving and share != 0.0:
            for j in range(columns):
                work[i, j] -= share * work[leaving, j]
            work[i, entering] = -share * pivot
            right[i] -= share * right[leaving]
            noise[i] += abs(share) * noise[leaving]
    share = price[entering]
    for j in range(columns):
        price[j] -= share * work[leaving, j]
    price[entering] = -share * pivot
