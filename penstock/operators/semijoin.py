"""Semijoin and antisemijoin (Babu's table 2.1): IN, EXISTS, NOT EXISTS and NOT IN over any predicate, both sides
changing.

What a left row has to do with a right row depends only on the columns that the predicate reads. So distinct values of
these are kept: `probes` of the left, `rights` of the right. Each probe knows how many distinct rights make the
predicate true, and how many NULL; when that makes it hold or cease to, its rows come or go. Equality conjuncts group
probes and rights, so that a pair is looked at only where its keys agree; the rest of the predicate is evaluated for
those pairs, all of a train's at once, because whether a pair matches does not depend on time. Then a kernel marches
through the instants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from penstock.operators.base import Context, Operator, Row, Timeline
from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.histories import pointwise
from penstock.operators.kernels.emission import CAUSE, ROW, SIGN, TAG
from penstock.operators.kernels.semijoin import ANTI, COPIES, NULL_AWARE, OWNER, SEMI, SLOT, count_matches, march
from penstock.operators.semijoin_members import Groups, Members, arrive, candidates, row_heads
from penstock.operators.semijoin_pairs import Truth, split, used
from penstock.operators.vector_eval import compiled
from penstock.plan.functions import SetAside, evaluate
from penstock.plan.nodes import SemiJoin
from penstock.plan.schema import Schema
from penstock.plan.types import DOUBLE, Type

SLICE: Final = 4096
"""Elements that go through at once: more cost more each, fewer do not cost less."""


class SemiJoinOperator:
    """`rows` are the left's distinct rows with their weights; probes, rights and groups are as said above."""

    def __init__(self, node: SemiJoin, context: Context) -> None:
        self.mode = SEMI if not node.negated else NULL_AWARE if node.null_aware else ANTI
        equalities, rest = split(node)
        left, right = node.left.schema, node.right.schema
        self.left_keys = [compiled(e.left, left, context) for e in equalities]
        self.right_keys = [compiled(e.right, right, context) for e in equalities]
        self.left_used, self.right_used = used(node.predicate, left, "0."), used(node.predicate, right, "1.")
        self.rows = Members([*left.types, DOUBLE])
        self.probes = Members([left.types[i] for i in self.left_used])
        self.rights = Members([right.types[i] for i in self.right_used])
        self.groups = Groups([e.left.type for e in equalities])
        names = [*(f"0.{left.names[i]}" for i in self.left_used), *(f"1.{right.names[i]}" for i in self.right_used)]
        pair = Schema.of(zip(names, [*self.probes.types, *self.rights.types], strict=True))
        self.truth = Truth(rest, pair, context)
        self.serial = 0
        self.weighted = False

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The result's net changes. Rows that go stay linked to their probe to the end of a slice, so that long trains
        go through in slices."""
        parts = [self._changes(left, right) for left, right in slices(*inputs)]
        return parts[0] if len(parts) == 1 else concat_trains([p for p in parts if len(p)] or parts[:1])

    def _changes(self, left: Train, right: Train) -> Train:
        rows, fresh = self._take_left(left)
        rights = self._take_right(right)
        self._acquaint(fresh)
        ts, arrival = np.concatenate((left.ts, right.ts)), np.concatenate((left.arrival, right.arrival))
        order = np.argsort(ts, kind="stable")
        sign, ids = np.concatenate((left.sign, right.sign)), np.concatenate((rows, rights))
        side = (order >= len(left)).astype(np.int8)
        pairs = self._pairs(self.rights.distinct(rights))
        changes, self.serial = march(
            self.mode, ts[order], sign[order], side, ids[order], arrival[order], *pairs,
            self.rows.state, self.probes.state, self.rights.state, self.serial)  # fmt: skip
        out = self._emitted(ts[order], changes)
        self._forget(rows, rights)
        return out

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def nbytes(self) -> int:
        """All members and groups."""
        return sum(m.nbytes for m in (self.rows, self.probes, self.rights, self.groups))

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """All values that members and groups stand for."""
        for members in (self.rows, self.probes, self.rights):
            yield from members.vectors()
        yield from self.groups.index.vectors(self.groups.types)

    def _take_left(self, train: Train) -> tuple[Array, Array]:
        """The row of each left element, and the probes that are new."""
        weight = train.weight
        self.weighted = self.weighted or weight is not None
        weights = Vector(np.ones(len(train)) if weight is None else weight)
        rows = self.rows.ids([*train.columns, weights], len(train))
        probes = self.probes.ids([train.column(i) for i in self.left_used], len(train))
        owners = self.groups.owners(train, self.left_keys)
        fresh = arrive(self.probes, probes, owners, self.groups.heads[0])
        arrive(self.rows, rows, probes + 1, row_heads(self.probes))
        return rows, fresh

    def _take_right(self, train: Train) -> Array:
        """The right of each element."""
        rights = self.rights.ids([train.column(i) for i in self.right_used], len(train))
        arrive(self.rights, rights, self.groups.owners(train, self.right_keys), self.groups.heads[1])
        return rights

    def _acquaint(self, fresh: Array) -> None:
        """Tells new probes about the rights that stand already."""
        owners = self.probes.state[fresh, OWNER]
        places, rights = candidates(owners, self.rights, self.groups.heads[1], self.mode == NULL_AWARE)
        standing = self.rights.state[rights, COPIES] > 0
        probes, rights = fresh[places[standing]], rights[standing]
        count_matches(probes, self.truth.of(self.probes, probes, self.rights, rights), self.probes.state)

    def _pairs(self, rights: Array) -> tuple[Array, Array, Array]:
        """Who minds these rights coming and going: (where each right's pairs begin, probes, what it means to them)."""
        self.rights.state[rights, SLOT] = np.arange(len(rights))
        owners = self.rights.state[rights, OWNER]
        places, probes = candidates(owners, self.probes, self.groups.heads[0], self.mode == NULL_AWARE)
        truth = self.truth.of(self.probes, probes, self.rights, rights[places])
        minding = np.flatnonzero(truth)
        minding = minding[np.argsort(places[minding], kind="stable")]
        starts = np.searchsorted(places[minding], np.arange(len(rights) + 1))
        return starts, probes[minding], truth[minding]

    def _emitted(self, ts: Array, changes: Array) -> Train:
        *columns, weight = self.rows.columns(changes[:, ROW])
        return Train(columns, ts[changes[:, CAUSE]], changes[:, SIGN].astype(np.int8), None, changes[:, TAG].copy(),
                     weight.values if self.weighted else None)  # fmt: skip

    def _forget(self, rows: Array, rights: Array) -> None:
        """Ends what has no copies, then what is left without members."""
        rows = self.rows.distinct(rows[self.rows.state[rows, COPIES] == 0])
        probes = self.rows.forget(rows, row_heads(self.probes)) - 1
        probes = self.probes.distinct(probes[row_heads(self.probes)[probes] == 0])
        rights = self.rights.distinct(rights[self.rights.state[rights, COPIES] == 0])
        owners = [self.probes.forget(probes, self.groups.heads[0]), self.rights.forget(rights, self.groups.heads[1])]
        self.groups.forget_empty(np.concatenate(owners))


def slices(left: Train, right: Train) -> Iterator[tuple[Train, Train]]:
    """Both trains cut at the same instants, into slices of about SLICE elements."""
    if len(left) + len(right) <= SLICE:
        yield left, right
        return
    ts = np.sort(np.concatenate((left.ts, right.ts)))
    instants = np.unique(ts[SLICE::SLICE])
    bounds = [np.concatenate(([0], np.searchsorted(t.ts, instants), [len(t)])) for t in (left, right)]
    for (a, b), (c, d) in zip(*(pairwise(b.tolist()) for b in bounds), strict=True):
        yield left.slice(a, b), right.slice(c, d)


def build(node: SemiJoin, context: Context) -> Operator:
    """The running operator."""
    return SemiJoinOperator(node, context)


def reference(node: SemiJoin, left: Timeline, right: Timeline) -> Timeline:
    """Every pair, at every instant."""

    def kept(rows: list[Row], others: list[Row]) -> list[Row]:
        return [row for row in rows if _stays(node, [_meets(node, row, other) for other in others])]

    return pointwise(kept, left, right)


def _stays(node: SemiJoin, answers: list[bool | None]) -> bool:
    if not node.negated:
        return True in answers
    return True not in answers and not (node.null_aware and None in answers)


def _meets(node: SemiJoin, row: Row, other: Row) -> bool | None:
    """What the predicate says of a pair; where a user's function fails the pair does not count."""
    left = {f"0.{name}": value for name, value in zip(node.left.schema.names, row, strict=True)}
    right = {f"1.{name}": value for name, value in zip(node.right.schema.names, other, strict=True)}
    try:
        answer: bool | None = evaluate(node.predicate, left | right)
        return answer
    except SetAside:
        return False
