"""Feasible input tables of points on a grid, as the thesis makes them: its worked examples, its table sizes, its
deltas.

A row is a feasible rate for every input of a node and the score there. Rates are multiples of a spread, R_i epsilon /
100 for the rate limit R_i. A node reads its children's tables backwards through its operators, keeps the maximum
where a split's branches ask for different rates (the rest is a complementary local plan of its own), combines the
tables of several children, and drops the rows that it cannot carry itself. Selection maps an overloaded observation
to the best row that lies at or below it in every input.

Grids grow with the power of the inputs, and on several inputs the spread of the thesis does not keep epsilon; `fit`
replaces them. They remain as the measure that ours is held against.

| paper          | here         | meaning                                                    | unit |
|----------------|--------------|------------------------------------------------------------|------|
| R_i            | `limits[i]`  | rate limit of input i alone                                | 1/s  |
| s_i            | `spreads[i]` | distance between the rates of input i                      | 1/s  |
| (m+1)th column | `scores[k]`  | total throughput below                                     | 1/s  |

Reference: Tatbul, sections 5.5.1 to 5.5.3, tables 5.4 and 5.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.cluster.flows import Floats

# 1 - 3 * 0.3 must count as feasible: sums of spreads reach a limit only up to rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """A table of points: `rates[k, i]` and the score of each row, and what `spreads` it was made with."""

    rates: Floats
    scores: Floats
    spreads: Floats

    def __len__(self) -> int:
        return len(self.scores)

    def taken(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Points:
        """Some of the rows."""
        return Points(self.rates[index], self.scores[index], self.spreads)

    @property
    def bytes_per_entry(self) -> int:
        """The thesis' entry: 8 bytes, and 22 per input (table 5.5)."""
        return 8 + 22 * int(self.rates.shape[1])


def rate_limits(costs: Floats, capacity: float = 1.0) -> Floats:
    """R_i = capacity / c_i, as if no other input had a rate; infinite for an input without cost.

    >>> rate_limits(np.array([3.0, 1.0])).round(4).tolist()
    [0.3333, 1.0]
    """
    return np.divide(capacity, costs, out=np.full_like(costs, np.inf), where=costs > 0)


def spreads(limits: Floats, epsilon: float) -> Floats:
    """R_i epsilon / 100 (section 5.5.2).

    >>> spreads(np.array([0.5, 1.0]), 10).tolist()
    [0.05, 0.1]
    """
    return limits * epsilon / 100.0


def leaf_points(costs: Floats, gains: Floats, spread: Floats, capacity: float = 1.0) -> Points:
    """The table of a leaf: every combination of multiples of the spreads that fits; `gains` is the score per tuple of
    each input.

    Built input by input, so that combinations that are already too much are never extended.
    """
    rates = np.zeros((1, 0))
    for i, (limit, s) in enumerate(zip(rate_limits(costs, capacity), spread, strict=True)):
        axis = s * np.arange(int(np.floor(limit / s + ROUNDING)) + 1)
        rates = np.hstack([np.repeat(rates, len(axis), axis=0), np.tile(axis, len(rates))[:, None]])
        rates = rates[rates @ costs[: i + 1] <= capacity * (1 + ROUNDING)]
    return Points(rates, rates @ gains, spread)


def eliminated(table: Points, costs: Floats, capacity: float = 1.0) -> Points:
    """The rows that a node can carry (elimination at the parent, section 5.5.3)."""
    return table.taken(table.rates @ costs <= capacity * (1 + ROUNDING))


def outside_triangle(table: Points, lowest: Floats) -> Points:
    """The rows outside the feasibility triangle, in which every node up to the root can carry everything (section
    5.5.2).

    `lowest` are the lowest rate limits on the way to the root. Not for tables that merge with a sibling's: there
    points of the triangle still combine with others.
    """
    return table.taken((table.rates / lowest).sum(axis=1) >= 1 - ROUNDING)


def mapped_back(table: Points, selectivities: Floats) -> Points:
    """The child's rows at the parent's inputs: each rate divided by the selectivity of its path (section 5.5.3)."""
    return Points(table.rates / selectivities, table.scores, table.spreads / selectivities)


def mapped_back_split(table: Points, paths: Sequence[Sequence[tuple[int, float]]]) -> Points:
    """The same where input i of the parent leads to several columns: `paths[i]` lists (column, selectivity).

    The largest of the rates asked for is passed on; the parent drops the rest on the other branches, by a
    complementary local plan.
    """
    asked = [np.max([table.rates[:, c] / s for c, s in path], axis=0) for path in paths]
    widest = [max(table.spreads[c] / s for c, s in path) for path in paths]
    return Points(np.stack(asked, axis=1), table.scores, np.array(widest))


def merged(tables: Sequence[Points]) -> Points:
    """The tables of children on different streams: every row with every row, scores added (section 5.5.3)."""
    whole = tables[0]
    for table in tables[1:]:
        a, b = (side.ravel() for side in np.indices((len(whole), len(table))))
        rates = np.hstack([whole.rates[a], table.rates[b]])
        whole = Points(rates, whole.scores[a] + table.scores[b], np.concatenate([whole.spreads, table.spreads]))
    return whole


def undominated(table: Points) -> Points:
    """The rows that selection can ever prefer: no other row asks for at most the same rates and scores at least as
    much.

    Only at a root: further down, dominated rows may still combine (section 5.5.2).
    """
    order = np.lexsort((*table.rates.T, -table.scores))
    kept: list[int] = []
    for k in order:
        below = table.rates[kept] <= table.rates[k] + ROUNDING if kept else np.zeros((0, 1), dtype=bool)
        if not below.all(axis=1).any():
            kept.append(int(k))
    return table.taken(np.array(sorted(kept), dtype=np.intp))


def changed_share(old: Points, new: Points, actual: Floats, difference: float) -> float:
    """The share of the new rows that must be sent so that the parent is within `difference` (a share) of every new
    score.

    `actual` are the scores that the old rows really have now, minus infinity where they became infeasible. A new row
    need not be sent if the parent holds a row at or below its rates whose actual score is near enough to the new
    row's, and to what the parent believes. Rows are tried by rising score, since a row that is sent serves those
    above it (figure 5.17b and c).
    """
    real = np.where(np.isfinite(actual), actual, 0.0)
    believed = np.isfinite(actual) & (np.abs(old.scores - real) <= difference * np.abs(real) + ROUNDING)
    rates, scores = list(old.rates[believed]), list(actual[believed])
    sent = 0
    for k in np.argsort(new.scores, kind="stable"):
        enough = np.array(scores) >= (1 - difference) * new.scores[k] - ROUNDING
        below = (np.array(rates).reshape(-1, new.rates.shape[1]) <= new.rates[k] + ROUNDING).all(axis=1)
        if not (enough & below).any():
            rates.append(new.rates[k])
            scores.append(new.scores[k])
            sent += 1
    return sent / len(new) if len(new) else 0.0
