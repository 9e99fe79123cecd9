"""What a semijoin keeps: the left's rows under their probes, probes and rights under the values of the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.operators.kernels.semijoin import (
    FIELDS,
    NULL_GROUP,
    OWNER,
    ROWS,
    distinct,
    empty_groups,
    link,
    pairs_by_group,
    unlink,
)  # fmt: skip
from penstock.plan.types import Type

Keys = Sequence[Callable[[Train], Vector]]


class Members:
    """Distinct values of some columns, with their state by id (see `kernels.semijoin`)."""

    def __init__(self, types: Sequence[Type]) -> None:
        self.types = types
        self.index = KeyIndex(len(types))
        self.state: Array = np.zeros((self.index.capacity, FIELDS), np.int64)
        self.calls = 0

    def ids(self, columns: Sequence[Vector], count: int) -> Array:
        """The ids of `count` rows of columns, new ones where there are none."""
        ids = self.index.lookup_or_insert(*stacked(columns, count))
        if len(self.state) < self.index.capacity:
            self.state = grown(self.state, self.index.capacity)
        return ids

    def distinct(self, ids: Array) -> Array:
        """Each of these ids once."""
        self.calls += 1
        found: Array = distinct(ids, self.state, self.calls)
        return found

    def columns(self, ids: Array) -> list[Vector]:
        """The values of these members."""
        return self.index.columns(ids, self.types)

    def forget(self, ids: Array, heads: Array) -> Array:
        """Ends these members; who owned them."""
        owners: Array = self.state[ids, OWNER]
        unlink(self.state, ids, heads)
        self.index.free(ids)
        return owners

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The values of all members."""
        return self.index.vectors(self.types)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.index.nbytes + self.state.nbytes


class Groups:
    """Values of the equality keys; `heads` has the first probe and the first right of each.

    Owner 1 (NULL_GROUP) is for keys with a NULL in them, owner 2 + id for the others.
    """

    def __init__(self, types: Sequence[Type]) -> None:
        self.types = types
        self.index = KeyIndex(len(types))
        self.heads: Array = np.zeros((2, self.index.capacity + 1), np.int64)

    def owners(self, train: Train, keys: Keys) -> Array:
        """The group of each element."""
        words, nulls = stacked([key(train) for key in keys], len(train))
        owners = np.full(len(train), NULL_GROUP, np.int64)
        known = slice(None) if nulls is None else np.flatnonzero(~nulls.any(axis=1))
        owners[known] = self.index.lookup_or_insert(words[known]) + NULL_GROUP + 1
        if self.heads.shape[1] <= self.index.capacity:
            self.heads = np.vstack([grown(side, self.index.capacity + 1) for side in self.heads])
        return owners

    def forget_empty(self, owners: Array) -> None:
        """Ends those of these groups that own nothing any more."""
        self.index.free(empty_groups(owners, self.heads) - NULL_GROUP - 1)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.index.nbytes + self.heads.nbytes


def arrive(members: Members, ids: Array, owners: Array, heads: Array) -> Array:
    """Links those of these members that are new to their owners, and says which they are."""
    fresh = members.distinct(ids[members.state[ids, OWNER] == 0])
    link(members.state, ids, owners, heads)
    return fresh


def row_heads(probes: Members) -> Array:
    """The first row of each probe."""
    heads: Array = probes.state[:, ROWS]
    return heads


def candidates(owners: Array, others: Members, heads: Array, null_aware: bool) -> tuple[Array, Array]:
    """Which of the others each member of these groups may have to do with: (place in `owners`, the other's id).

    A NULL key meets nothing. Under NOT IN it may make the predicate NULL, so there it is looked at beside every other.
    """
    known = np.flatnonzero(owners != NULL_GROUP)
    places, ids = pairs_by_group(owners[known], others.state, heads)
    if not null_aware:
        return known[places], ids
    beside, nulls = pairs_by_group(np.full(len(known), NULL_GROUP), others.state, heads)
    unknown = np.flatnonzero(owners == NULL_GROUP)
    everyone = others.index.live() if len(unknown) else unknown
    places = np.concatenate((known[places], known[beside], np.repeat(unknown, len(everyone))))
    return places, np.concatenate((ids, nulls, np.tile(everyone, len(unknown))))
