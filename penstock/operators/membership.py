"""What a filter that probes a relation needs to know of it: how many rows have each key, at every instant of a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numba import njit

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.index import KeyIndex, grown, stacked
from penstock.operators.vector_eval import compiled
from penstock.plan.expressions import Expression
from penstock.plan.schema import Schema
from penstock.plan.types import Type

_NOTHING = np.empty(0, np.int64)


class Membership:
    """A relation by its keys. `copies` has for each key the rows that bear it before the call's changes; a key with a
    NULL is equal to nothing."""

    def __init__(self, pairs: Sequence[tuple[Expression, Expression]], left: Schema, right: Schema,
                 context: Context) -> None:  # fmt: skip
        self.left = [compiled(e, left, context) for e, _ in pairs]
        self.right = [compiled(e, right, context) for _, e in pairs]
        self.types = [e.type for e, _ in pairs]
        self.index = KeyIndex(len(pairs))
        self.copies: Array = np.zeros(self.index.capacity, np.int64)
        self._ts = self._ids = self._sign = _NOTHING

    def change(self, train: Train) -> None:
        """The relation's changes in this call: looked at until `settle`."""
        if not len(train):
            return
        words, nulls = stacked([key(train) for key in self.right], len(train))
        known = slice(None) if nulls is None else np.flatnonzero(~nulls.any(axis=1))
        self._ids = self.index.lookup_or_insert(words[known])
        self._ts, self._sign = train.ts[known], train.sign[known].astype(np.int64)
        if len(self.copies) < self.index.capacity:
            self.copies = grown(self.copies, self.index.capacity)

    def __call__(self, train: Train) -> Array:
        """For which of these elements of the stream the relation has a row, at the instant of each."""
        words, nulls = stacked([key(train) for key in self.left], len(train))
        if not len(self._ts) and nulls is None:
            return self.index.holds(words)
        ids = self.index.lookup(words)
        if nulls is not None:
            ids[nulls.any(axis=1)] = -1
        if len(self._ts):
            return _held(train.ts, ids, self._ts, self._ids, self._sign, self.copies)
        return ids >= 0

    def settle(self) -> None:
        """The call is over: its changes are the past, and keys that nothing bears are forgotten."""
        if len(self._ts):
            self.index.free(_applied(self._ids, self._sign, self.copies))
            self._ts = self._ids = self._sign = _NOTHING

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """All keys."""
        return self.index.vectors(self.types)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.index.nbytes + self.copies.nbytes


@njit(cache=True)
def _held(ts: Array, ids: Array, change_ts: Array, changed: Array, sign: Array, copies: Array) -> Array:
    """Marches through time with the relation's changes, and takes them back afterwards: they are asked about again."""
    found = np.empty(len(ids), np.bool_)
    j = 0
    for k in range(len(ids)):
        while j < len(changed) and change_ts[j] <= ts[k]:
            copies[changed[j]] += sign[j]
            j += 1
        found[k] = ids[k] >= 0 and copies[ids[k]] > 0
    for i in range(j):
        copies[changed[i]] -= sign[i]
    return found


@njit(cache=True)
def _applied(changed: Array, sign: Array, copies: Array) -> Array:
    """Makes the changes; the keys that nothing bears any more, each once."""
    for j in range(len(changed)):
        copies[changed[j]] += sign[j]
    empty, used = np.empty_like(changed), 0
    for key in changed:
        if copies[key] == 0:
            copies[key] = -1
            empty[used] = key
            used += 1
    for key in empty[:used]:
        copies[key] = 0
    return empty[:used]
