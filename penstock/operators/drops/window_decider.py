"""Which batches of windows a window drop drops, group by group, and which tuples go with them: the state behind
`penstock.operators.drops.window_drop`. The rules row by row are in `penstock.operators.drops.window_kernel`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from penstock.operators.columns.vector import Array
from penstock.operators.drops import window_kernel as kernel
from penstock.operators.drops.window_groups import group_of
from penstock.operators.kernels import panes
from penstock.operators.kernels.index import KeyIndex, grown
from penstock.plan.drops import Shut, WindowDrop
from penstock.plan.node import Node

_MANY: Final = 1024
MOST_SHUT: Final = 1024
"""Groups of which it is told before their lane that a batch goes; of others, rows go in the lane."""
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
        self._kinds: Array = np.zeros(0, np.int64)
        self._names: Array = np.zeros(0, np.int64)
        self._counts: Array = np.zeros(0, np.int64)
        self._exceptions: dict[int, tuple[float, int]] = {}
        self._log: Array = np.empty((1024, 3), np.int64)
        self._arms: list[tuple[int, Array, Array, Array]] = []

    def shut(self, now: int) -> list[Shut]:
        """The batches that are dropped from `now` on, if all that is to be learnt from their tuples is known; of many
        groups the last `MOST_SHUT`. What is cut by rows nobody else can tell."""
        if self.drop.rows or not len(self._recent):
            return []
        names = np.unique(self._recent[self._recent[:, 2] > now, 0])
        ids = self._index.lookup(names.reshape(-1, 1))
        states = self._state[ids[ids >= 0]]
        names, every = names[ids >= 0], self.watched.every
        known = (states[:, kernel.OPEN] == every) & (states[:, kernel.LOST] == every)
        known &= (states[:, kernel.UNTIL] > now) & (states[:, kernel.TAU] < states[:, kernel.UNTIL])
        latest = np.flatnonzero(known)[np.argsort(-states[known, kernel.UNTIL], kind="stable")][:MOST_SHUT]
        listed = np.stack([names, states[:, kernel.TAU], states[:, kernel.UNTIL]], axis=1)[latest]
        return [Shut(*each) for each in listed.tolist()]

    def adopt(self, drop: WindowDrop, node: Node, since: int) -> None:
        """Goes on with other rates and batches (or the same); windows that start before `since` are not decided, nor
        those with a group's first row."""
        self.drop = drop
        since = 1 if drop.rows else max(since, kernel.NEVER)
        self.since = -((drop.origin - since) // drop.slide)
        types = [node.schema.type_of(key) for key in drop.keys]
        given = {values for values, _ in (*drop.rates, *drop.batches)}
        self._exceptions = {group_of(v, types): (drop.rate_of(v), drop.batch_of(v)) for v in given}
        self._set(self._index.live())

    def _set(self, ids: Array) -> None:
        """Gives groups their p and B."""
        by_kind = np.array([*(rate for _, rate in self.drop.classes), self.drop.rate])
        self._rates[ids], self._batches[ids] = by_kind[self._kinds[ids]], self.drop.batch
        self._excepted(ids)

    def decide(
        self,
        names: Array,
        ts: Array,
        passed: Callable[[], Array] | None,
        watched: Watched | None = None,
        kinds: Callable[[], Array] | None = None,
    ) -> Array:
        """Which of these elements, in the order of time, are dropped. `names` are their groups (one for all of one);
        `passed` says what reaches the first aggregate on each way, None: everything; `watched` has the ways, where
        drops at other places decide here too; `kinds` tells the class of each element's group, where there are some."""
        self._arm(ts)
        groups = self._groups(names, kinds)
        if len(groups) < len(ts):
            groups = np.zeros(len(ts), np.int64) + groups[0]
        gone = np.zeros(len(ts), np.bool_)
        seen = None if passed is not None else _ALL_PASS
        done, state = 0, kernel.FULL
        while state != kernel.DONE:
            done, used, state = self._run(watched or self.watched, groups, ts, seen, done, gone)
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

    def _run(
        self, w: Watched, groups: Array, ts: Array, seen: Array | None, start: int, gone: Array
    ) -> tuple[int, int, int]:
        d = self.drop
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

    def _groups(self, names: Array, kinds: Callable[[], Array] | None = None) -> Array:
        before = len(self._index)
        groups = self._index.lookup_or_insert(names.reshape(-1, 1))
        if len(self._index) > before:
            self._begin(names, groups, None if kinds is None else kinds())
        return groups

    def _begin(self, names: Array, groups: Array, kinds: Array | None) -> None:
        """Puts new groups at their start."""
        known = len(self._names)
        room = self._index.capacity
        self._state, self._names = grown(self._state, room), grown(self._names, room)
        self._rates, self._batches = grown(self._rates, room), grown(self._batches, room)
        self._kinds = grown(self._kinds, room)
        ids, first = np.unique(groups, return_index=True)
        fresh = (ids >= known) | (self._batches[ids] == 0)
        ids, first = ids[fresh], first[fresh]
        self._names[ids] = names[first]
        self._kinds[ids] = 0 if kinds is None else kinds[first]
        self._set(ids)
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
