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
from penstock.cluster.mixing import mixer
from penstock.cluster.rows import Rows

# Room for rounding in the comparisons of scores.
ROUNDING = 1e-12

Flags: TypeAlias = NDArray[np.bool_]


def pruned(rows: Rows, epsilon: float) -> Rows:
    """`rows` without those that a mix of others replaces; only for rows that may also be dropped at once.

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
    kept = _unmixed(ordered.scores, promises, ordered.loads, kept, epsilon)
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


def _unmixed(scores: Floats, promises: Floats, loads: Floats, kept: Flags, epsilon: float) -> Flags:
    """Of the kept rows those that no mix replaces, tried from the lowest score; promises move to the mix in place."""
    for j in np.flatnonzero(kept)[:0:-1]:
        others = np.flatnonzero(kept & (np.arange(len(kept)) != j))
        if len(others) and (scores[j] > 0 or loads[j].any()):
            one = np.zeros(len(others), dtype=np.intp)
            weights = mixer(scores[others], loads[others], one, loads[j], 1).mix(np.ones(1))
            kept[j] = not _hand_over(scores, promises, others, weights, promises[j], epsilon)
    return kept


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
