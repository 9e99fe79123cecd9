"""Complementary local plans by quality/load ratio: what one node can shed at its splits without telling anyone.

Dropping from a branch saves its load and loses its score; branches are cut from the smallest ratio of the two on, the
last one only as far as needed. For one node and one level of splits this is the best plan; `fit` covers several nodes
and levels.

Reference: Tatbul, section 5.5.2 (Complementary Local Plan) and figure 5.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.cluster.flows import Floats

# An excess below this share of the capacity is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Branch:
    """One drop location of a split: `load` and `score` per tuple of the input that passes it."""

    name: str
    load: float
    score: float


def extended_limit(branches: Sequence[Branch], shared: float, capacity: float = 1.0) -> float:
    """The rate limit when branches are cut before the input is: the limit of the extended load constraint.

    A branch goes while its score per load is below that of everything still kept, which is what a drop at the input
    would lose.

    >>> round(extended_limit([Branch("2", 2.0, 1.0), Branch("5", 5.0, 1.0)], shared=1.0), 4)
    0.3333
    """
    load, score = shared + sum(b.load for b in branches), sum(b.score for b in branches)
    for branch in sorted(branches, key=_ratio):
        if branch.score * load < score * branch.load:
            load, score = load - branch.load, score - branch.score
    return capacity / load if load > 0 else float("inf")


def _ratio(branch: Branch) -> float:
    return branch.score / branch.load if branch.load > 0 else float("inf")


def local_plan(branches: Sequence[Branch], shared: float, rate: float, capacity: float = 1.0) -> Floats:
    """The share dropped from each branch so that the node carries `rate`: drops of 1 in the order of ratios, the last
    one partial.

    The thesis states the last drop by its selectivity, 1 - (excess - saved so far) / (what this drop can save).

    >>> local_plan([Branch("2", 2.0, 1.0), Branch("5", 5.0, 1.0)], shared=1.0, rate=0.2).round(3).tolist()
    [0.0, 0.6]
    """
    excess = rate * (shared + sum(b.load for b in branches)) - capacity
    dropped = np.zeros(len(branches))
    for place in np.argsort([_ratio(b) for b in branches], kind="stable"):
        saved = rate * branches[place].load
        if excess > ROUNDING * capacity and saved > 0:
            dropped[place] = min(1.0, excess / saved)
            excess -= dropped[place] * saved
    return dropped
