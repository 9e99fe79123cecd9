"""What a batch of the pipeline was: where its time went, and how long its results took.

Response time of a result = when it was delivered - max(arrival of the last input that it needed, the earliest moment
that its window or skew bound permitted it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Points = tuple[int, Sequence[int]]
"""How many instants there are, and some of them that stand for all."""


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """Response times in ascending order, and how many results each of them stands for.

    >>> waits = Waits.of(3_000_000, [(2, [1_000_000, 2_000_000]), (1, [0])])
    >>> waits.seconds.tolist(), waits.quantile(0.5), Waits.together([waits, waits]).results
    ([1.0, 2.0, 3.0], 2.0, 6.0)
    """

    seconds: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]

    @classmethod
    def of(cls, delivered_us: int, due: Sequence[Points]) -> Waits:
        """From when results were `due`, part by part (microseconds), and when they were delivered."""
        waits = np.concatenate([delivered_us - np.asarray(points, np.float64) for _, points in due]) / 1e6
        share = np.concatenate([np.full(len(points), count / len(points)) for count, points in due])
        order = np.argsort(waits)
        return cls(waits[order], share[order])

    @classmethod
    def together(cls, parts: Iterable[Waits]) -> Waits:
        """Those of several batches."""
        listed = list(parts)
        waits, share = (np.concatenate([getattr(p, n) for p in listed]) for n in ("seconds", "share"))
        order = np.argsort(waits)
        return cls(waits[order], share[order])

    @property
    def results(self) -> float:
        """How many results there are."""
        return float(self.share.sum())

    @property
    def mean(self) -> float:
        """The average over all results."""
        return float(np.average(self.seconds, weights=self.share))

    def quantile(self, q: float) -> float:
        """What the share `q` of the results did not wait longer than."""
        reached = np.cumsum(self.share)
        return float(self.seconds[min(int(np.searchsorted(reached, q * reached[-1] - 1e-9)), len(reached) - 1)])


@dataclass(frozen=True, slots=True)
class DelayStatistics:
    """Response times of a query's results in one batch."""

    query: str
    results: int
    mean_s: float
    p50_s: float
    p99_s: float
    largest_s: float

    @classmethod
    def of(cls, query: str, delivered_us: int, due: Sequence[Points]) -> DelayStatistics:
        """From when results were `due`, part by part (microseconds), and when they were delivered.

        >>> DelayStatistics.of("q", 3_000_000, [(2, [1_000_000, 2_000_000]), (1, [0])])
        DelayStatistics(query='q', results=3, mean_s=2.0, p50_s=2.0, p99_s=3.0, largest_s=3.0)
        """
        waits = Waits.of(delivered_us, due)
        p50, p99 = waits.quantile(0.5), waits.quantile(0.99)
        return cls(query, sum(count for count, _ in due), waits.mean, p50, p99, float(waits.seconds[-1]))


@dataclass(frozen=True, slots=True)
class BatchStatistics:
    """Batch `number`: the rows that came in (those that the gate dropped too), where its wall time went, the processor
    time of all processes, and the response times of each query that had results. `took_s` is from the decision what to
    drop of it until its results were delivered; None where a period is no batch of rows. `control_s` is processor time
    of deciding, and of the statistics for it outside lanes.

    seconds   plan, gate (reading, drops, exchange, crossing), lanes, state, commit, sinks
    """

    number: int
    rows_in: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    processor_s: float = 0.0
    delays: tuple[DelayStatistics, ...] = ()
    mode: str = "on"
    took_s: float | None = None
    control_s: float = 0.0

    @property
    def whole_s(self) -> float:
        """From the batch's start to its end."""
        return sum(self.seconds.values())

    @property
    def p99_s(self) -> float | None:
        """The largest p99 of all queries; None where nothing was delivered."""
        return max((d.p99_s for d in self.delays), default=None)
