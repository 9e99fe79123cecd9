"""Rows that a table can do without, and the proof that no reachable plan gets worse than epsilon.

Row j may go when a mix of the other rows (weights theta >= 0 that sum to at most 1) needs no more of any node and
scores at least (1 - epsilon) times what j answers for. Whoever used j uses the mix instead; since everything above a
row (selectivities, costs, sums over siblings, further mixing) is linear and never negative, the replaced plan stays
feasible and its score is at least 1 - epsilon times the old one. Prunings at several levels would multiply that
factor, so each row carries its promise t_k, the best score among all rows it answers for, and the invariant is kept
at every level of a tree of nodes:

1. scores[k] >= (1 - epsilon) promises[k];
2. every row of the unpruned table has a mix of kept rows with no more load and sum(theta promises) >= its score.

The first row, which keeps everything, stays whatever epsilon is: where everything fits, nothing is dropped.

By 2 the mixes of kept rows, counted in promises, reach every score; by 1 they really score 1 - epsilon of it.

Reference: dominance, Tatbul section 5.5.2 ("p should always be preferred over q"); mixes and promises are ours.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.cluster.flows import Floats
from penstock.cluster.pivots import optimise
from penstock.cluster.rows import Rows

# Room for rounding in the comparisons of scores.
ROUNDING = 1e-12
# What a whole tuple is worth beside its score where a mix may leave none out.
FULLY = 1e3

Flags: TypeAlias = NDArray[np.bool_]


def pruned(rows: Rows, epsilon: float, free: bool = True) -> Rows:
    """`rows` without those that a mix of others replaces.

    `free` says that everything may also be dropped at once, so that a mix may leave tuples out; where no drop stands,
    as on branches that meet again downstream, the weights of a mix must sum to 1.

    >>> from penstock.cluster.rows import Rows
    >>> loads, scores = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 1.4, 2.0])
    >>> table = Rows(np.arange(3, dtype=np.uint64), scores, scores, loads, np.zeros((3, 0)))
    >>> pruned(table, 0.0).scores.tolist()       # half of the first and half of the last beat the second
    [2.0, 1.0]
    >>> loads, scores = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 1.6, 2.0])
    >>> table = Rows(np.arange(3, dtype=np.uint64), scores, scores, loads, np.zeros((3, 0)))
    >>> pruned(table, 0.0).scores.tolist(), pruned(table, 0.1).scores.tolist()
    ([2.0, 1.6, 1.0], [2.0, 1.0])
    """
    later = np.arange(len(rows)) > 0
    order = np.lexsort((rows.keys, rows.loads.sum(axis=1), later, -rows.scores))
    ordered = rows.taken(order)
    kept, promises = _undominated(ordered.scores, ordered.promises, ordered.loads)
    kept = _unmixed(ordered.scores, promises, ordered.loads, kept, epsilon, 0.0 if free else FULLY)
    chosen = np.flatnonzero(kept)
    remaining = ordered.taken(chosen)
    return Rows(remaining.keys, remaining.scores, promises[chosen], remaining.loads, remaining.plans)


@njit(cache=True)
def _undominated(scores: Floats, promises: Floats, loads: Floats) -> tuple[Flags, Floats]:
    """Rows, by falling score, that no single better row replaces; the replacing row takes over the promise."""
    count = scores.size
    kept, promised = np.ones(count, np.bool_), promises.copy()
    for j in range(count):
        for i in range(j):
            if kept[i] and np.all(loads[i] <= loads[j]):
                kept[j] = False
                promised[i] = max(promised[i], promised[j])
                break
    return kept, promised


def truncated(rows: Rows, most: int) -> Rows:
    """At most so many rows: the first, and those that score best per load. Every promise rises to the highest, for
    want of a proof.
    """
    if len(rows) <= most:
        return rows
    size = np.maximum(rows.loads.max(axis=0), 1e-300)
    worth = rows.scores / np.maximum((rows.loads / size).sum(axis=1), 1e-300)
    worth[0] = np.inf
    worth[rows.idle] = np.inf
    left = rows.taken(np.sort(np.argsort(-worth, kind="stable")[:most]))
    return Rows(left.keys, left.scores, np.full(most, rows.promises.max()), left.loads, left.plans)


def _unmixed(scores: Floats, promises: Floats, loads: Floats, kept: Flags, epsilon: float, urge: float) -> Flags:
    """Of the kept rows those that no mix replaces; promises move to the mix in place.

    First each row, by falling score, against those already found needed, which stay few; then those from the lowest
    score against all others. `urge` is added to all scores, in units of the best, to make a mix use whole tuples.
    """
    bonus = urge * float(scores.max(initial=0.0) or 1.0)
    needed = np.zeros_like(kept)
    for j in np.flatnonzero(kept):
        needed[j] = not _replaced(int(j), np.flatnonzero(needed), scores, promises, loads, epsilon, bonus)
    for j in np.flatnonzero(needed)[:0:-1]:
        needed[j] = False
        needed[j] = not _replaced(int(j), np.flatnonzero(needed), scores, promises, loads, epsilon, bonus)
    return needed


def _replaced(
    j: int, others: NDArray[np.intp], scores: Floats, promises: Floats, loads: Floats, epsilon: float, bonus: float
) -> bool:
    """Whether a mix of `others` takes over what row j answers for; the row that drops everything always stays."""
    if len(others) == 0 or (scores[j] == 0 and not loads[j].any()):
        return False
    weights = _best_mix(scores[others] + bonus, loads[others], loads[j])
    whole = bonus == 0.0 or weights.sum() >= 1.0 - ROUNDING
    whole = whole and weights.sum() <= 1.0 + ROUNDING
    fits = (weights @ loads[others] <= loads[j] + ROUNDING * loads.max(axis=0)).all()
    return whole and fits and _hand_over(scores, promises, others, weights, promises[j], epsilon)


@njit(cache=True)
def _best_mix(scores: Floats, loads: Floats, limits: Floats) -> Floats:
    """The weights, at most 1 together, of rows by falling score that score most within `limits` of load (as in
    `mixing`).
    """
    count, nodes = loads.shape
    matrix, cost = np.ones((nodes + 1, count)), scores[0] - scores
    cost[0] = scores[0]
    fixed, sloped = np.zeros(nodes + 1), np.ones((nodes + 1, 1))
    for n in range(nodes):
        size = max(limits[n], loads[:, n].max()) or 1.0
        fixed[n], sloped[n, 0] = limits[n] / size, -loads[0, n] / size
        matrix[n, 0] = -loads[0, n] / size
        for k in range(1, count):
            matrix[n, k] = (loads[k, n] - loads[0, n]) / size
    values, _, _, _ = optimise(matrix, cost, fixed, sloped, np.ones(1), np.arange(count + nodes + 1))
    weights = values[:count].copy()
    weights[0] = values[count + nodes]
    return weights


def _hand_over(
    scores: Floats, promises: Floats, others: NDArray[np.intp], weights: Floats, promise: float, epsilon: float
) -> bool:
    """Whether the mix can answer for `promise`; if so its rows' promises rise by the least common share that
    suffices.
    """
    now = float(weights @ promises[others])
    if now >= promise * (1.0 - ROUNDING):
        return True
    room = np.maximum(scores[others] / (1.0 - epsilon) - promises[others], 0.0)
    most = now + float(weights @ room)
    if epsilon == 0.0 or most < promise:
        return False
    promises[others] += np.where(weights > 0, room * (promise - now) / (most - now), 0.0)
    return True
