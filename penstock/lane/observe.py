"""The counters of a running network as one snapshot."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.lane.clock import Clock
from penstock.lane.graph import Graph
from penstock.lane.slot import Slot
from penstock.stats.meter import QueueMeter
from penstock.stats.snapshot import OperatorStatistics, Snapshot, StreamStatistics


class Observer:
    """Looks at a graph: the queues after every run, everything when asked."""

    def __init__(self, graph: Graph, clock: Clock) -> None:
        self._graph = graph
        self._clock = clock
        self._meter = QueueMeter()
        self._taken = 0
        self._queued = 0

    def queued(self) -> int:
        """Elements in the queues between operators; results that nobody has collected are not waiting for one."""
        return sum(slot.queued for slot in self._graph.order)

    def look(self) -> None:
        """Notes how much is queued now."""
        self._queued = self.queued()
        self._meter.record(self._clock.now(), self._queued)

    def moved(self, rows: int) -> None:
        """Notes that so many elements more are queued than at the last look."""
        self._queued += rows
        self._meter.record(self._clock.now(), self._queued)

    def reset(self) -> None:
        """Begins to measure the queues anew."""
        self._meter = QueueMeter()

    def snapshot(self, streams: Iterable[StreamStatistics] = ()) -> Snapshot:
        """Everything that was counted, under the next number."""
        self._taken += 1
        self.look()
        contexts = self._graph.contexts
        return Snapshot(
            number=self._taken,
            now_s=self._clock.now(),
            operators=tuple(map(_statistics, self._graph.order)),
            streams=tuple(streams),
            queues=self._meter.statistics(),
            store_bytes=sum(store.nbytes for store in contexts.stores()),
            set_aside=tuple(sorted(contexts.set_aside.items())),
        )


def _statistics(slot: Slot) -> OperatorStatistics:
    state = slot.operator.nbytes() if slot.operator is not None else 0
    return OperatorStatistics(
        slot.key.node, slot.rows_in, slot.rows_out, slot.runs, slot.busy_s, slot.queued, state,
        tuple(arc.rows for arc in slot.inputs),
    )  # fmt: skip
