"""Is the processor overloaded? The practical signals of Tatbul 3.3.2, for where costs and capacities are not known.

Controllers go by the measured load, which says how much must go; the signals say whether that is so, also of a run that
no controller watches. They are in every snapshot, in the event log and among the metrics.

In this order: a processor that is not busy is not overloaded. Queues that grow all the time say that it is, but for one
case: an operator of several inputs waits for the slower one, and the queue before the faster one grows however much
time there is; such an operator counts only where all its queues grow. Growing latencies alone are a weak sign, since
windows and joins hold results back.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from penstock.plan.node import Node
from penstock.stats.snapshot import Overload, Snapshot


@dataclass(frozen=True, slots=True)
class Look:
    """One period: the share of the processor's time that was used, elements that wait before each input of each
    operator, and the average latency of results (None: there were none)."""

    used: float
    queued: Mapping[tuple[Node, int], int] = field(default_factory=dict)
    latency_s: float | None = None


@dataclass(slots=True)
class Signals:
    """Watches `periods` looks in a row.

    >>> signals = Signals(periods=3)
    >>> [signals.overloaded(Look(used, {}, delay)) for used, delay in ((0.5, 1), (1, 2), (1, 3), (1, 4), (1, 3))]
    [None, None, None, 'latencies grow', None]
    """

    periods: int = 4
    busy: float = 0.95
    _looks: deque[Look] = field(default_factory=deque)
    _before: Snapshot | None = None

    def given(self, snapshot: Snapshot) -> Snapshot:
        """`snapshot` with what the period that it ends says; to be asked once for each."""
        batch, before = snapshot.batch, self._before
        if batch is not None and batch.took_s is None:
            return snapshot
        self._before = snapshot
        if before is None or snapshot.now_s <= before.now_s:
            return snapshot
        look = _look(before, snapshot)
        return replace(snapshot, overload=Overload(look.used, self.overloaded(look)))

    def overloaded(self, look: Look) -> str | None:
        """Why the processor is overloaded; None where nothing says so."""
        self._looks.append(look)
        while len(self._looks) > self.periods:
            self._looks.popleft()
        if len(self._looks) < self.periods or any(each.used < self.busy for each in self._looks):
            return None
        if self._queues_grow():
            return "queues grow"
        delays = [each.latency_s for each in self._looks if each.latency_s is not None]
        if not look.queued and len(delays) == self.periods and _rising(delays):
            return "latencies grow"
        return None

    def _queues_grow(self) -> bool:
        """True where all queues that count grow together: those of operators all of whose inputs grow."""
        latest = self._looks[-1].queued
        growing = {at for at in latest if _rising([float(each.queued.get(at, 0)) for each in self._looks])}
        blocked = {at for at in latest if not _inputs(at[0], latest) <= growing and len(_inputs(at[0], latest)) > 1}
        counted = [at for at in latest if at not in blocked]
        totals = [float(sum(each.queued.get(at, 0) for at in counted)) for each in self._looks]
        return _rising(totals)


def _look(before: Snapshot, now: Snapshot) -> Look:
    """What is seen of the period between two snapshots. A pipeline works on one batch at a time, and has no queues
    between batches; how long it took is counted by the clock on the wall."""
    spent = sum(o.busy_s for o in now.operators) - sum(o.busy_s for o in before.operators)
    if now.batch is not None:
        spent = now.batch.whole_s
    queued: Counter[tuple[Node, int]] = Counter()
    for o in now.operators:
        queued.update({(o.node, i): waiting for i, waiting in enumerate(o.waits)})
    delays = now.batch.delays if now.batch is not None else ()
    results = sum(d.results for d in delays)
    latency_s = sum(d.mean_s * d.results for d in delays) / results if results else None
    return Look(spent / (now.now_s - before.now_s), queued, latency_s)


def _inputs(node: Node, queued: Mapping[tuple[Node, int], int]) -> set[tuple[Node, int]]:
    return {at for at in queued if at[0] == node}


def _rising(values: list[float]) -> bool:
    """True where every value is larger than the one before."""
    return all(b > a for a, b in pairwise(values))
