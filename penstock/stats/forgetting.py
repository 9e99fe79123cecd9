"""What was measured lately: a window over snapshots that forgets at a set pace.

Counters of operators and streams only grow. Between two snapshots they tell what happened since; that is added to what
is remembered, of which half is forgotten every `half_life_s` seconds. So an operator that idles for a while is still
known, and one whose selectivity has moved is known anew soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.windows import BEGIN, END
from penstock.stats.load import IDLE, LoadModel, Work
from penstock.stats.snapshot import OperatorStatistics, Snapshot, StreamStatistics
from penstock.stats.values import Seen, Values

_SECOND_US: Final = 1_000_000
Counts = NDArray[np.float64]


@dataclass(slots=True)
class Forgetting:
    """Sees snapshots of one run, the oldest first, and makes a `LoadModel` of them.

    `half_life_s` is in seconds of the snapshots' clock. The rates of streams are in their own time, or, where `see` is
    told how long the period was, in that.
    """

    network: Network
    half_life_s: float = 10.0
    _operators: _Operators = field(default_factory=lambda: _Operators())
    _flows: _Flows = field(default_factory=lambda: _Flows())
    _values: Values = field(default_factory=Values)
    _now_s: float | None = None

    def see(self, snapshot: Snapshot, period_s: float | None = None) -> None:
        """Adds what happened since the last snapshot."""
        passed_s = 0.0 if self._now_s is None else max(0.0, snapshot.now_s - self._now_s)
        keep = 0.5 ** (passed_s / self.half_life_s)
        self._now_s = snapshot.now_s
        self._operators.see(snapshot.operators, keep)
        self._flows.see(snapshot.streams, keep, period_s)
        self._values.see(snapshot, keep)

    def fade(self, share: float) -> None:
        """Forgets all of what operators did but for `share`, however little time has passed."""
        self._operators.fade(share)

    def know(self, values: Mapping[tuple[Node, str], Seen]) -> None:
        """Watched columns as they were seen before the run."""
        self._values.know(values)

    def model(self, rates: Mapping[str, float] | None = None, free: Iterable[Node] = ()) -> LoadModel:
        """The network's load as far as it is known now, at `rates` (None: those of lately). Without sharing, an
        operator costs once for each query that has it. What is `free` costs nothing but what was measured of it, once
        anything was."""
        rates = self._flows.rates() if rates is None else rates
        work = self.work()
        known = {**dict.fromkeys(free, IDLE), **work} if work else work
        return LoadModel(self.network, known, rates, values=self._values.seen())

    def work(self) -> dict[Node, Work]:
        """What each operator does with an element, as far as anything is known of it."""
        work = self._operators.work()
        for node, selectivity in self._values.selectivities().items():
            if node in work:
                work[node] = work[node]._replace(selectivity=selectivity)
        if not self.network.sharing:
            copies = _copies(self.network)
            work = {n: w._replace(cost_s=w.cost_s * copies.get(n, 1)) for n, w in work.items()}
        return work


def _copies(network: Network) -> dict[Node, int]:
    counts: dict[Node, int] = {}
    for query in network.queries:
        for node in Network(queries=(query,)).nodes():
            counts[node] = counts.get(node, 0) + 1
    return counts


class _Operators:
    """Elements in, elements out and busy seconds of each node, as far as they are remembered."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._nodes: list[Node] = []
        self._place = np.zeros(0, np.intp)
        self._before: Counts = np.zeros((0, 3))
        self._kept: Counts = np.zeros((0, 3))
        self._queued: NDArray[np.int64] = np.zeros(0, np.int64)

    def see(self, operators: Sequence[OperatorStatistics], keep: float) -> None:
        ids = [id(o.node) for o in operators]
        if ids != self._ids:
            self._start_anew(operators, ids)
        raw = np.array([(o.rows_in, o.rows_out, o.busy_s, o.queued) for o in operators], np.float64).reshape(-1, 4)
        now = np.zeros((len(self._nodes), 4))
        np.add.at(now, self._place, raw)
        self._kept = self._kept * keep + np.maximum(now[:, :3] - self._before, 0.0)
        self._before = now[:, :3]
        self._queued = now[:, 3].astype(np.int64)

    def fade(self, share: float) -> None:
        """Leaves `share` of what is remembered."""
        self._kept = self._kept * share

    def _start_anew(self, operators: Sequence[OperatorStatistics], ids: list[int]) -> None:
        """Queries came or went, or lanes: several copies of a node count as one, and what is remembered stays."""
        old = {node: i for i, node in enumerate(self._nodes)}
        places: dict[Node, int] = {}
        self._place = np.array([places.setdefault(o.node, len(places)) for o in operators], np.intp)
        self._ids, self._nodes = ids, list(places)
        chosen = [old.get(node, -1) for node in self._nodes]
        self._before, self._kept = (np.concatenate([c, np.zeros((1, 3))])[chosen] for c in (self._before, self._kept))

    def work(self) -> dict[Node, Work]:
        measured = zip(self._nodes, self._kept.tolist(), self._queued.tolist(), strict=True)
        return {n: Work(busy_s / came, went / came, queued) for n, (came, went, busy_s), queued in measured if came > 0}


class _Flows:
    """Rows of every stream over the seconds in which they came, as far as they are remembered. The seconds are the same
    for all streams: one that is silent is slow."""

    def __init__(self) -> None:
        self._time: int | None = None
        self._seconds = 0.0
        self._before: dict[str, int] = {}
        self._rows: dict[str, float] = {}

    def see(self, streams: Sequence[StreamStatistics], keep: float, period_s: float | None) -> None:
        seconds = self._passed(streams) if period_s is None else period_s
        if seconds > 0:
            self._seconds = self._seconds * keep + seconds
            for s in streams:
                self._rows[s.name] = self._rows.get(s.name, 0.0) * keep + s.rows - self._before.get(s.name, 0)
                self._before[s.name] = s.rows

    def _passed(self, streams: Sequence[StreamStatistics]) -> float:
        """Seconds of the streams' time since the last snapshot; before the first, since the first tuple."""
        now = max((s.progress for s in streams if BEGIN < s.progress < END), default=None)
        if self._time is None:
            self._time = now
            spans = [s.rows / s.rate if s.rate else 1.0 for s in streams if s.rows]
            return max(spans, default=0.0)
        passed = 0 if now is None else max(0, now - self._time)
        self._time += passed
        return passed / _SECOND_US

    def rates(self) -> dict[str, float]:
        return {name: rows / self._seconds for name, rows in self._rows.items()}
