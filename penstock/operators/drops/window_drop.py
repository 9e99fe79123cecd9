"""WindowDrop: whole windows go, in batches, and the tuples that belong to no other window (Tatbul 4.4 to 4.7).

Where the thesis marks tuples with window specifications, a dropped batch is one pair (tau, U) here: tuples in [tau, U)
are gone, everything before tau was kept for the windows before the batch, and from U on windows are whole again. The
aggregates below are told the pair, moved as `penstock.plan.window_reach` says, and deliver no window that starts before
U and ends after tau: `penstock.operators.drops.window_decoder`. What a kept window needs is never dropped, so what is
delivered is exact; the thesis's table 4.3 opens the same windows (`reference`).

`Decider` decides for the groups of one drop; `RunningWindowDrop` is its place on an arc. Until it is connected to what
is below it, it drops nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.drops import window_kernel as kernel
from penstock.operators.drops.window_groups import group_of, groups_of
from penstock.operators.kernels import panes
from penstock.operators.kernels.index import KeyIndex, grown
from penstock.operators.total_order import in_total_order
from penstock.plan.drops import WindowDrop
from penstock.plan.node import Node

_MANY: Final = 1024
_ALL_PASS: Final = np.zeros((0, 0), np.bool_)
Told = Callable[[Array, Array, Array], None]
"""What hears of dropped batches: for each its group, tau and U."""


@dataclass(slots=True, eq=False)
class Watched:
    """What a decider knows of the results below it (see `window_kernel.run`); a batch matters to them for `span` after
    its end."""

    ways: Array = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    levels: Array = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    later: int = 0
    every: int = 0
    span: int = 0


class Decider:
    """The state of every group; it outlives changes of p and B.

    `blocked_until`: new groups wait for a result that starts there or later before a batch of theirs is dropped, since
    nobody knows what they have lost before; None: nothing was ever dropped.
    """

    def __init__(self, drop: WindowDrop, blocked_until: int | None = None) -> None:
        self.drop = drop
        self.watched = Watched()
        self.told: list[Told] = []
        self.names_below: dict[Node, tuple[str, ...]] = {}
        self.blocked_until = blocked_until
        self.since = kernel.NEVER
        self.counters: Array = np.zeros(4, np.int64)
        self._recent: Array = np.zeros((0, 3), np.int64)
        self._index = KeyIndex(1)
        self._state: Array = np.zeros((0, kernel.WIDTH), np.int64)
        self._rates: Array = np.zeros(0)
        self._batches: Array = np.zeros(0, np.int64)
        self._names: Array = np.zeros(0, np.int64)
        self._counts: Array = np.zeros(0, np.int64)
        self._exceptions: dict[int, tuple[float, int]] = {}
        self._log: Array = np.empty((1024, 3), np.int64)
        self._arms: list[tuple[int, Array, Array, Array]] = []

    @property
    def shut(self) -> tuple[int, int] | None:
        """[tau, U) of the batch that is dropped now, if all that is to be learnt from its tuples is known."""
        if self.drop.keys or not len(self._index):
            return None
        s = self._state[self._index.live()[0]]
        lost = s[kernel.OPEN] == s[kernel.LOST] == self.watched.every
        return (int(s[kernel.TAU]), int(s[kernel.UNTIL])) if lost and s[kernel.TAU] < s[kernel.UNTIL] else None

    def adopt(self, drop: WindowDrop, node: Node, since: int) -> None:
        """Goes on with other rates and batches (or the same); windows that start before `since` are not decided, nor
        those with a group's first row."""
        self.drop = drop
        since = 1 if drop.rows else max(since, kernel.NEVER)
        self.since = -((drop.origin - since) // drop.slide)
        types = [node.schema.type_of(key) for key in drop.keys]
        given = {values for values, _ in (*drop.rates, *drop.batches)}
        self._exceptions = {group_of(v, types): (drop.rate_of(v), drop.batch_of(v)) for v in given}
        ids = self._index.live()
        self._rates[ids], self._batches[ids] = drop.rate, drop.batch
        self._excepted(ids)

    def decide(self, names: Array, ts: Array, passed: Callable[[], Array] | None) -> Array:
        """Which of these elements, in the order of time, are dropped. `names` are their groups (one for all of one);
        `passed` says what reaches the first aggregate on each way, None: everything."""
        self._arm(ts)
        groups = self._groups(names)
        if len(groups) < len(ts):
            groups = np.zeros(len(ts), np.int64) + groups[0]
        gone = np.zeros(len(ts), np.bool_)
        seen = None if passed is not None else _ALL_PASS
        done, state = 0, kernel.FULL
        while state != kernel.DONE:
            done, used, state = self._run(groups, ts, seen, done, gone)
            self._tell(self._log[:used])
            if state == kernel.FULL and not used:
                self._log = np.empty((2 * len(self._log), 3), np.int64)
            if state == kernel.BLIND and passed is not None:
                seen = passed()
        if len(self._recent) > _MANY and len(ts):
            self._recent = self._recent[self._recent[:, 2] > int(ts[0]) - self.watched.span]
        return gone

    def numbered(self, names: Array) -> Array:
        """The number of each tuple in its group, from 0 on."""
        groups = self._groups(names)
        self._counts = grown(self._counts, self._index.capacity)
        return panes.numbered(groups, self._counts)

    def count_from(self, names: Array, counts: Array) -> None:
        """Groups that have been counted before go on from there."""
        groups = self._groups(names)
        self._counts = grown(self._counts, self._index.capacity)
        self._counts[groups] = counts

    def counted(self, names: Array) -> Array:
        """How many tuples of each group came."""
        groups = self._groups(names)
        return grown(self._counts, self._index.capacity)[groups]

    def _run(self, groups: Array, ts: Array, seen: Array | None, start: int, gone: Array) -> tuple[int, int, int]:
        d, w = self.drop, self.watched
        grid = np.array([d.origin, d.slide, d.size, d.seed], np.int64)
        passed = _ALL_PASS if seen is None else seen
        done, used, state = kernel.run(self._state, self._rates, self._batches, self._names, groups, ts, passed, grid,
                                       w.ways, w.levels, w.later, w.every, start, self.since, gone, self._log,
                                       self.counters, seen is not None)  # fmt: skip
        return int(done), int(used), int(state)

    def _tell(self, batches: Array) -> None:
        if not len(batches):
            return
        names = self._names[batches[:, kernel.GROUP]]
        taus, untils = batches[:, kernel.BREAK_TAU].copy(), batches[:, kernel.BREAK_UNTIL].copy()
        self._recent = np.concatenate([self._recent, np.stack([names, taus, untils], axis=1)])
        for told in self.told:
            told(names, taus, untils)

    def recent(self) -> tuple[Array, Array, Array]:
        """The batches that may still matter: group, tau and U of each."""
        return self._recent[:, 0], self._recent[:, 1], self._recent[:, 2]

    def _groups(self, names: Array) -> Array:
        before = len(self._index)
        groups = self._index.lookup_or_insert(names.reshape(-1, 1))
        if len(self._index) > before:
            self._begin(names, groups)
        return groups

    def _begin(self, names: Array, groups: Array) -> None:
        """Puts new groups at their start."""
        known = len(self._names)
        room = self._index.capacity
        self._state, self._names = grown(self._state, room), grown(self._names, room)
        self._rates, self._batches = grown(self._rates, room), grown(self._batches, room)
        ids, first = np.unique(groups, return_index=True)
        fresh = (ids >= known) | (self._batches[ids] == 0)
        ids, first = ids[fresh], first[fresh]
        self._names[ids] = names[first]
        self._rates[ids], self._batches[ids] = self.drop.rate, self.drop.batch
        self._excepted(ids)
        state = np.full((len(ids), kernel.WIDTH), kernel.NEVER, np.int64)
        state[:, [kernel.OPEN, kernel.LOST, kernel.PENDING]] = 0
        if self.blocked_until is not None:
            state[:, [kernel.TAU, kernel.UNTIL]] = self.blocked_until
            state[:, [kernel.OPEN, kernel.LOST]] = self.watched.every
        self._state[ids] = state

    def _excepted(self, ids: Array) -> None:
        if self._exceptions:
            for i in ids.tolist():
                found = self._exceptions.get(int(self._names[i]))
                if found is not None:
                    self._rates[i], self._batches[i] = found

    def hear(self, query: int, names: Array, labels: Array, stamps: Array) -> None:
        """Results of a query were delivered: `labels` are their starts as the place has them. They count for windows
        that start after their stamps."""
        self._arms.append((query, names, labels, stamps))

    def _arm(self, ts: Array) -> None:
        """Takes in what was delivered before the window in which these elements begin."""
        if not self._arms or not len(ts):
            return
        begin = int(ts[0]) - (int(ts[0]) - self.drop.origin) % self.drop.slide
        later = []
        for query, names, labels, stamps in self._arms:
            now = stamps < begin
            ids = self._index.lookup(names[now].reshape(-1, 1))
            known = ids >= 0
            ids, heard = ids[known], labels[now][known]
            ids = ids[heard >= self._state[ids, kernel.UNTIL]]
            self._state[ids, kernel.OPEN] &= ~(1 << query)
            self._state[ids, kernel.LOST] &= ~(1 << query)
            if not now.all():
                later.append((query, names[~now], labels[~now], stamps[~now]))
        self._arms = later


class RunningWindowDrop:
    """Lets a decider look at each train, and keeps what it leaves."""

    def __init__(self, drop: WindowDrop, node: Node, context: Context) -> None:
        self.drop = drop
        self.node = node
        self.context = context
        self.decider: Decider | None = None
        self.survivors: Callable[[Train], Array] | None = None
        self._keys = [node.schema.index(key) for key in drop.keys]
        self._types = [node.schema.types[i] for i in self._keys]

    def connect(self, decider: Decider, survivors: Callable[[Train], Array] | None) -> None:
        """From now on drops what `decider` says; `survivors` tells which elements reach the first aggregate on each
        way, None: all do."""
        self.decider, self.survivors = decider, survivors

    def __call__(self, train: Train) -> Train:
        """The tuples that stay."""
        if self.decider is None or not len(train) or (self.drop.idle and not self.drop.rows):
            return train
        if self.drop.rows:
            return self._counted(train, self.decider)
        first = train if self._keys else train.slice(0, 1)
        names = groups_of(first, self._keys, self._types, self.context)
        passed = None if self.survivors is None else partial(self.survivors, train)
        gone = self.decider.decide(names, train.ts, passed)
        return train.where(~gone) if gone.any() else train


    def _counted(self, train: Train, decider: Decider) -> Train:
        """The same for windows over rows: tuples are numbered in the total order, and bear their numbers."""
        train = in_total_order(train, self.node.schema, self.context.dictionaries)
        names = groups_of(train, self._keys, self._types, self.context)
        numbers = decider.numbered(names)
        gone = decider.decide(names, numbers, None)
        return train.identified(numbers).where(~gone)


def build(drop: WindowDrop, node: Node, context: Context) -> RunningWindowDrop:
    """The drop, ready to be connected."""
    return RunningWindowDrop(drop, node, context)


def whole(windows: Sequence[tuple[int, int]], batches: Sequence[tuple[int, int]]) -> list[bool]:
    """Which windows [start, end) are delivered after batches (tau, U) were dropped.

    >>> whole([(0, 3), (3, 6), (6, 9)], [(3, 6)])
    [True, False, True]
    """
    return [not any(s < until and e > tau for tau, until in batches) for s, e in windows]
