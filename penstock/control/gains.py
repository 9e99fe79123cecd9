"""What became of expectations: the gain that was measured after a change, beside the one that its strategy expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from penstock.plan.node import Node
from penstock.stats.snapshot import Snapshot

ROWS: Final = 2000
"""Rows that must have passed an operator, at least, for its cost to be said."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Of the change that made plan number `plan`: the factor by which cost was expected to fall, and by which it did.

    `before_s` and `after_s` are processor seconds a row of the operator that was changed.
    """

    snapshot: int
    plan: int
    strategy: str
    expected: float
    before_s: float
    after_s: float

    @property
    def measured(self) -> float:
        """The factor by which a row's cost fell."""
        return self.before_s / self.after_s


@dataclass(slots=True)
class _Open:
    """A change whose gain is not known yet, with the operator's counters when it was made."""

    plan: int
    strategy: str
    expected: float
    before_s: float
    rows: int
    busy_s: float


@dataclass(slots=True)
class Ledger:
    """Watches the operators that were changed. A change that follows before enough rows have passed closes the one
    before it unmeasured."""

    _open: dict[Node, _Open] = field(default_factory=dict)
    _marks: dict[Node, tuple[int, float]] = field(default_factory=dict)
    _costs: dict[Node, float] = field(default_factory=dict)

    def changed(self, node: Node, plan: int, strategy: str, expected: float, snapshot: Snapshot) -> None:
        """A change of `node` was accepted on `snapshot`."""
        rows, busy_s = _counters(node, snapshot)
        mark = self._marks.get(node, (0, 0.0))
        before = (busy_s - mark[1]) / (rows - mark[0]) if rows - mark[0] >= ROWS else self._costs.get(node)
        self._open.pop(node, None)
        if before:
            self._open[node] = _Open(plan, strategy, expected, before, rows, busy_s)
        self._marks[node] = rows, busy_s

    def see(self, snapshot: Snapshot) -> list[Gain]:
        """The gains that can be said now."""
        found = []
        for node in list(self._marks):
            rows, busy_s = _counters(node, snapshot)
            mark = self._marks[node]
            if rows - mark[0] < ROWS or busy_s <= mark[1]:
                continue
            self._costs[node] = (busy_s - mark[1]) / (rows - mark[0])
            self._marks[node] = rows, busy_s
            entry = self._open.pop(node, None)
            if entry is not None:
                after = (busy_s - entry.busy_s) / (rows - entry.rows)
                found.append(
                    Gain(snapshot.number, entry.plan, entry.strategy, entry.expected, entry.before_s, after)
                )
        return found


def _counters(node: Node, snapshot: Snapshot) -> tuple[int, float]:
    mine = [o for o in snapshot.operators if o.node == node]
    return sum(o.rows_in for o in mine), sum(o.busy_s for o in mine)
