"""Memory in queues over time: what the schedulers of Babu 2.3.2 are judged by."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.stats.snapshot import QueueStatistics


@dataclass(slots=True)
class QueueMeter:
    """The number of queued elements as a step function of time: its largest value and its average.

    >>> meter = QueueMeter()
    >>> for now_s, rows in ((0.0, 10), (1.0, 2), (3.0, 0)):
    ...     meter.record(now_s, rows)
    >>> meter.statistics()
    QueueStatistics(queued=0, largest=10, average=4.666666666666667)
    """

    _rows: int = 0
    _largest: int = 0
    _area: float = 0.0
    _since: float | None = None
    _last: float = 0.0

    def record(self, now_s: float, rows: int) -> None:
        """Says that from `now_s` on `rows` elements are queued."""
        if self._since is None:
            self._since = self._last = now_s
        self._area += self._rows * (now_s - self._last)
        self._rows, self._last = rows, now_s
        self._largest = max(self._largest, rows)

    def statistics(self) -> QueueStatistics:
        """What was seen up to the last record."""
        span = 0.0 if self._since is None else self._last - self._since
        average = self._area / span if span else float(self._rows)
        return QueueStatistics(self._rows, self._largest, average)
