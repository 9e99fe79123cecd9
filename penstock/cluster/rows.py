"""Rows of a feasible input table for one stream: what one tuple per second costs and brings, per set of branches kept.

Feasible inputs form a convex set that starts at zero, so a table need not list a grid of points: each row is a
direction, one tuple per second of one stream together with a complementary local plan (which branches of the splits
below keep it), and every feasible input is a mix of rows. A row's own corner is its rate limit, the smallest of
capacity / load over the nodes (section 5.5.2).

| paper                     | here            | meaning                                                    | unit |
|---------------------------|-----------------|------------------------------------------------------------|------|
| score of an entry         | `scores[k]`     | score per tuple                                            | 1    |
| load c_i                  | `loads[k, n]`   | load on node n per tuple                                   | s    |
| complementary local plan  | `plans[k, l]`   | tuples past branch l per tuple of the stream               | 1    |
|                           | `promises[k]`   | best score among all rows, pruned ones too, that k answers for | 1 |

Reference: Tatbul, sections 5.5.1 to 5.5.3; rows as directions are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.cluster.flows import Floats

Keys: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of one stream, as parallel arrays, first the one that keeps everything. `keys` name a row across versions
    of a table.
    """

    keys: Keys
    scores: Floats
    promises: Floats
    loads: Floats
    plans: Floats

    def __len__(self) -> int:
        return len(self.scores)

    def taken(self, index: NDArray[np.intp]) -> Rows:
        """The rows at `index`."""
        return Rows(self.keys[index], self.scores[index], self.promises[index], self.loads[index], self.plans[index])

    @property
    def idle(self) -> NDArray[np.bool_]:
        """Rows that use nothing and bring nothing: everything is dropped at once."""
        return np.asarray((self.scores == 0) & ~self.loads.any(axis=1), dtype=np.bool_)


def single(name: str, score: float, nodes: int, branches: int) -> Rows:
    """One row without load."""
    value = np.array([score])
    return Rows(np.array([key(name)]), value, value, np.zeros((1, nodes)), np.zeros((1, branches)))


def through_operator(rows: Rows, node: int, cost: float, selectivity: float) -> Rows:
    """`rows` seen from before an operator: reverse mapping by its selectivity, plus its own cost (section 5.5.3)."""
    loads = rows.loads * selectivity
    loads[:, node] += cost
    return Rows(rows.keys, rows.scores * selectivity, rows.promises * selectivity, loads, rows.plans * selectivity)


def through_branch(rows: Rows, name: str, branch: int) -> Rows:
    """`rows` seen from before a branch that may be dropped: the same rows kept, and one that drops everything."""
    plans = rows.plans.copy()
    plans[:, branch] += 1.0
    kept = Rows(rows.keys + key(name), rows.scores, rows.promises, rows.loads, plans)
    return stacked([kept, single(f"not {name}", 0.0, rows.loads.shape[1], rows.plans.shape[1])])


def stacked(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, one after the other."""
    return Rows(
        np.concatenate([p.keys for p in parts]),
        np.concatenate([p.scores for p in parts]),
        np.concatenate([p.promises for p in parts]),
        np.concatenate([p.loads for p in parts]),
        np.concatenate([p.plans for p in parts]),
    )


def combined(first: Rows, second: Rows) -> Rows:
    """Every row of one branch with every row of its sibling: loads, scores and plans add up (section 5.5.3)."""
    a, b = (grid.ravel() for grid in np.indices((len(first), len(second))))
    one, other = first.taken(a), second.taken(b)
    return Rows(
        one.keys + other.keys,
        one.scores + other.scores,
        one.promises + other.promises,
        one.loads + other.loads,
        one.plans + other.plans,
    )


def key(name: str) -> np.uint64:
    """A number that stands for a name on every machine."""
    return np.uint64(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big"))


def distinct(keys: Keys) -> Keys:
    """`keys`, with repeated ones told apart by how often they came before."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=keys[order][:1] - np.uint64(1)))
    before = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    apart = np.empty(len(keys), dtype=np.uint64)
    apart[order] = keys[order] + before.astype(np.uint64) * key("again")
    return apart
