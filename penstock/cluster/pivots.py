"""The dual simplex method on a small dictionary: from "keep everything" to the best plan, one drop location at a time.

The start keeps every tuple: the best score there is, but some nodes may be over capacity (negative slack). Each pivot
takes the worst violation and brings in the drop with the smallest loss of score per unit of relief, which is the
quality/load ratio of section 5.5.2. The score never rises on the way, so any intermediate score bounds the optimum
from above, and the first plan that violates nothing is the optimum. Rates appear on the right-hand side only, so one
dictionary serves every observation of the rates.

Reference: Tatbul, sections 5.4 (the Simplex Method) and 5.5.2 (ratios); Lemke 1954 for the dual method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.cluster.flows import Floats

# Coefficients are scaled to about 1; smaller ones are rounding noise and never pivots.
SMALLEST_PIVOT = 1e-11
# A violation below this share of a row's own size is rounding noise.
ROUNDING = 1e-13
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


def minimise_loss(tableau: Dictionary, rates: Floats) -> tuple[Floats, float]:
    """The best values of the free, then the basic variables, and the score they lose.

    >>> one = dictionary(np.array([[-4.0], [1.0]]), np.array([1.0]), np.array([1.0, 0.0]),
    ...                  np.array([[-4.0], [1.0]]), np.ones(1))
    >>> values, loss = minimise_loss(one, np.array([1.0]))      # capacity 1, cost 4, rate 1: drop 3/4, keep 1/4
    >>> values.tolist(), loss
    ([0.75, 0.0, 0.25], 0.75)
    """
    values, loss = optimise(tableau.matrix, tableau.cost, tableau.fixed, tableau.sloped, rates)
    return values * tableau.units, loss


@njit(cache=True)
def optimise(matrix: Floats, cost: Floats, fixed: Floats, sloped: Floats, rates: Floats) -> tuple[Floats, float]:
    """The values of the free, then the basic variables at their best, and the score they lose."""
    rows, columns = matrix.shape
    right = fixed.copy()
    noise = np.abs(fixed)
    for i in range(rows):
        for k in range(rates.size):
            right[i] += sloped[i, k] * rates[k]
            noise[i] += abs(sloped[i, k] * rates[k])
    noise *= ROUNDING
    work, price = matrix.copy(), cost.copy()
    names = np.arange(rows + columns)
    loss = 0.0
    for turn in range(50 * (rows + columns)):
        careful = turn > PATIENCE * (rows + columns)
        leaving = _violated(right, noise, names[columns:], careful)
        if leaving < 0:
            break
        entering = _cheapest(work[leaving], price, names, careful)
        if entering < 0:
            noise[leaving] = np.inf
            continue
        loss += price[entering] * right[leaving] / work[leaving, entering]
        _pivot(work, price, right, leaving, entering)
        noise[leaving] = ROUNDING * abs(right[leaving])
        left, joined = columns + leaving, entering
        names[left], names[joined] = names[joined], names[left]
    values = np.zeros(rows + columns)
    for i in range(rows):
        values[names[columns + i]] = max(right[i], 0.0)
    return values, loss


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
def _cheapest(row: Floats, price: Floats, names: NDArray[np.int64], careful: bool) -> int:
    """The drop that loses least score per unit of relief; on a tie the one that relieves most."""
    chosen, best = -1, np.inf
    for j in range(row.size):
        if row[j] < -SMALLEST_PIVOT:
            ratio = max(price[j], 0.0) / -row[j]
            near = chosen >= 0 and abs(ratio - best) <= 1e-14 * best
            better = names[j] < names[chosen] if careful else row[j] < row[chosen]
            if (ratio < best and not near) or (near and better):
                chosen, best = j, ratio
    return chosen


@njit(cache=True)
def _pivot(work: Floats, price: Floats, right: Floats, leaving: int, entering: int) -> None:
    rows, columns = work.shape
    pivot = 1.0 / work[leaving, entering]
    for j in range(columns):
        work[leaving, j] *= pivot
    work[leaving, entering] = pivot
    right[leaving] *= pivot
    for i in range(rows):
        share = work[i, entering]
        if i != leaving and share != 0.0:
            for j in range(columns):
                work[i, j] -= share * work[leaving, j]
            work[i, entering] = -share * pivot
            right[i] -= share * right[leaving]
    share = price[entering]
    for j in range(columns):
        price[j] -= share * work[leaving, j]
    price[entering] = -share * pivot
