"""What the lanes and the gate counted, batch after batch, as the snapshots that strategies read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.plan.drops import Location
from penstock.plan.network import StreamDefinition
from penstock.plan.node import Node
from penstock.plan.watched import Watched
from penstock.plan.windows import BEGIN
from penstock.settings import Settings
from penstock.spark.drops import Counted, GateDrop
from penstock.spark.lanes.counters import location_of
from penstock.spark.plans import Plans
from penstock.spark.stages import Staged
from penstock.spark.state.records import Attempt
from penstock.stats.accounts import Delivered
from penstock.stats.batches import BatchStatistics, DelayStatistics, Points, Waits
from penstock.stats.histograms import Histogram
from penstock.stats.snapshot import (
    DropStatistics,
    OperatorStatistics,
    QueueStatistics,
    Snapshot,
    StreamStatistics,
)  # fmt: skip

IN_MEMORY = (
    "operators", "drops", "shut", "store_bytes", "values", "delivered", "set_aside", "due", "entries", "held",
    "crossed", "verdicts", "profiles",
)
"""What attempts count that commit records do not keep."""


@dataclass(slots=True)
class _Operator:
    rows_in: int = 0
    rows_out: int = 0
    runs: int = 0
    busy_s: float = 0.0
    queued: dict[str, int] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)

    def statistics(self, node: Node) -> OperatorStatistics:
        queued, state = sum(self.queued.values()), sum(self.state.values())
        return OperatorStatistics(node, self.rows_in, self.rows_out, self.runs, self.busy_s, queued, state)


class Totals:
    """Sums over all lanes since the run has started. Operators and drops are named by nodes of the whole network."""

    def __init__(self, staged: Staged, plans: Plans, settings: Settings, watched: Sequence[Watched] = ()) -> None:
        self._watched = {(plans.place(w.node), w.column): w for w in watched}
        self._values: dict[Watched, Histogram] = {}
        self._delivered: dict[str, dict[str, Delivered]] = {}
        self._staged = staged
        self._plans = plans
        self._settings = settings
        self._operators = [_Operator() for _ in staged.network.nodes()]
        self._rows: Counter[int] = Counter()
        self._late: dict[str, dict[str, tuple[int, int]]] = {}
        self._drops: dict[tuple[Location, str], list[int]] = {}
        self._aside: Counter[str] = Counter()
        self._bytes: dict[str, int] = {}
        self._rates: dict[str, float] = {}
        self._waiting: dict[str, dict[str, int]] = {}
        self._taken = self._came = 0
        self._read: tuple[Mapping[str, int], float] | None = None

    def add(self, attempts: Iterable[Attempt]) -> None:
        """Adds what the lanes did in a batch."""
        for attempt in attempts:
            counters: Mapping[str, Any] = attempt.counters
            for place, rows_in, rows_out, runs, busy_s, queued, state in counters["operators"]:
                total = self._operators[place]
                total.rows_in, total.rows_out = total.rows_in + rows_in, total.rows_out + rows_out
                total.runs, total.busy_s = total.runs + runs, total.busy_s + busy_s
                total.queued[attempt.lane], total.state[attempt.lane] = queued, state
            for *named, reason, came, went in counters["drops"]:
                self._dropped(location_of(named, self._plans), reason, came, went)
            self._rows.update({int(entry): rows for entry, rows in counters["entries"].items()})
            self._aside.update(counters["set_aside"])
            for each in counters["delivered"]:
                self._gave(attempt.lane, each)
            for place, column, *counted in counters["values"]:
                self._counted(place, column, counted)
            self._bytes[attempt.lane] = counters["store_bytes"]
            if attempt.lane.startswith("0."):
                self._waiting[attempt.lane] = counters["held"]
                self._late[attempt.lane] = {s: (kept, dropped) for s, (kept, dropped) in counters["late"].items()}

    def _gave(self, lane: str, counted: Sequence[Any]) -> None:
        """Adds what a lane delivered; its gaps and errors are those of all time."""
        query, rows, gap_us, estimates, error_total, error_most = counted
        before = self._delivered.setdefault(lane, {}).get(query, Delivered(query))
        self._delivered[lane][query] = Delivered(query, before.rows + rows, gap_us, before.estimates + estimates,
                                                 before.error_total + error_total, error_most)  # fmt: skip

    def _given(self) -> tuple[Delivered, ...]:
        """What the queries were given, all lanes together."""
        names = {q.name for q in self._staged.network.queries}
        found: dict[str, Delivered] = {}
        for each in (d for lane in self._delivered.values() for d in lane.values()):
            if each.query in names:
                found[each.query] = found[each.query] + each if each.query in found else each
        return tuple(found.values())

    def _counted(self, place: int, column: str, counted: Sequence[Any]) -> None:
        watched = self._watched.get((place, column))
        if watched is not None:
            counts, *moments = counted
            did = Histogram(watched, tuple(counts), *moments)
            before = self._values.get(watched)
            self._values[watched] = did if before is None else before + did

    def dropped_at_gate(self, attempts: Iterable[Attempt], drops: Sequence[GateDrop], counted: Counted) -> None:
        """Adds what the gate dropped in the batch of `attempts`. A drop before several fragments meets the same rows in
        each, and is counted in the one that gets most. What it leaves of windows' tuples a lane counts."""
        arrived: Counter[int] = Counter()
        for attempt in attempts:
            arrived.update({int(entry): rows for entry, rows in attempt.counters["entries"].items()})
        most: dict[tuple[Location, str, int], tuple[int, int]] = {}
        same: Counter[tuple[Location, int]] = Counter()
        for drop, went in reversed(list(zip(drops, counted.dropped, strict=True))):
            location, number = drop.placed[0], drop.entry.number
            arrived[number] += went
            self._rows[number] += went
            same[location, number] += 1
            key = (location, drop.placed[1].reason, same[location, number])
            most[key] = max(most.get(key, (0, 0)), (arrived[number], went))
        for (location, reason, _), (came, went) in most.items():
            self._dropped(location, reason, went if reason == "window" else came, went)

    def _dropped(self, location: Location, reason: str, came: int, went: int) -> None:
        total = self._drops.setdefault((location, reason), [0, 0])
        total[0] += came
        total[1] += went

    def snapshot(self, now_s: float, progress: Mapping[str, int], batch: BatchStatistics,
                 shut_down: tuple[str, ...], read: bool) -> Snapshot:  # fmt: skip
        """Everything so far, under the next number; `read` says whether the batch was of rows that were read."""
        self._taken += 1
        nodes = self._staged.network.nodes()
        operators = tuple(t.statistics(n) for n, t in zip(nodes, self._operators, strict=True) if n.inputs)
        drops = tuple(DropStatistics(*key, *counts) for key, counts in self._drops.items())
        streams = self._streams(now_s, progress, read)
        came = sum(s.rows for s in streams)
        batch, self._came = replace(batch, rows_in=came - self._came), came
        queued = sum(o.queued for o in operators)
        return Snapshot(self._taken, now_s, operators, streams, QueueStatistics(queued, queued, queued),
                        sum(self._bytes.values()), tuple(sorted(self._aside.items())), drops, shut_down,
                        batch=batch, values=tuple(self._values.values()), delivered=self._given())  # fmt: skip

    def _streams(self, now_s: float, progress: Mapping[str, int], read: bool) -> tuple[StreamStatistics, ...]:
        """A stream that several fragments read is counted in the one that gets most of it; its rate is that between
        the two last batches that were read."""
        rows = {s.name: self._most(s.name) for s in self._staged.network.streams}
        if read:
            before, at = self._read or (rows, now_s)
            if now_s > at:
                self._rates = {name: (n - before[name]) / (now_s - at) for name, n in rows.items()}
            self._read = rows, now_s
        return tuple(self._stream(s, rows[s.name], progress) for s in self._staged.network.streams)

    def _most(self, stream: str) -> int:
        return max((self._rows[e.number] for e in self._staged.entries_of(0) if e.leaf.name == stream), default=0)

    def _stream(self, stream: StreamDefinition, rows: int, progress: Mapping[str, int]) -> StreamStatistics:
        name = stream.name
        kept, dropped = (sum(late.get(name, (0, 0))[i] for late in self._late.values()) for i in (0, 1))
        waiting = sum(held.get(name, 0) for held in self._waiting.values())
        bound = self._settings.skew_us if stream.within_us is None else stream.within_us
        rate = self._rates.get(name)
        return StreamStatistics(name, rows, kept, dropped, waiting, bound, progress.get(name, BEGIN), rate)


def delays_of(attempts: Iterable[Attempt], delivered_us: int) -> tuple[DelayStatistics, ...]:
    """The response times of each query's results in a batch that was delivered at `delivered_us`."""
    return tuple(DelayStatistics.of(q, delivered_us, parts) for q, parts in sorted(_due(attempts).items()))


def waits_of(attempts: Iterable[Attempt], delivered_us: int) -> dict[str, Waits]:
    """The same, point by point, for whoever puts several batches together."""
    return {query: Waits.of(delivered_us, parts) for query, parts in _due(attempts).items()}


def _due(attempts: Iterable[Attempt]) -> dict[str, list[Points]]:
    due: dict[str, list[Points]] = {}
    for attempt in attempts:
        for query, points in attempt.counters["due"].items():
            due.setdefault(query, []).append((points[0], points[1]))
    return due


def durable(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts as a commit record keeps them."""
    kept = ({n: c for n, c in a.counters.items() if n not in IN_MEMORY} for a in attempts)
    return tuple(replace(a, counters=c) for a, c in zip(attempts, kept, strict=True))
