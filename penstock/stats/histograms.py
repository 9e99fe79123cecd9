"""What is known of the values of a watched column: a histogram and the first two moments, from a sample of the rows.

Counts are of rows that the sample stands for. A histogram is of what is there, drops upstream included; what would be
there without drops is worked out where it is needed (`Seen.whole`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.plan.watched import Watched

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Rows in each bin of `watched`, the sum and the sum of squares of the numbers among them, and their extremes.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> watched = Watched(Source("s", Schema.parse("x double")), "x", (50.0,))
    >>> seen = Histogram(watched, (2.0, 2.0, 0.0), 10 + 20 + 60 + 90, 100 + 400 + 3600 + 8100, 10.0, 90.0)
    >>> seen.rows, seen.mean, round(seen.deviation, 2), seen.parts.tolist()
    (4.0, 45.0, 32.02, [0.5, 0.5, 0.0])
    """

    watched: Watched
    counts: tuple[float, ...]
    total: float = 0.0
    squares: float = 0.0
    low: float = inf
    high: float = -inf

    @property
    def rows(self) -> float:
        """Rows counted."""
        return sum(self.counts)

    @property
    def mean(self) -> float:
        """The average of the numbers (mu); a NULL counts as 0."""
        return self.total / self.rows if self.rows else 0.0

    @property
    def deviation(self) -> float:
        """Their standard deviation (sigma)."""
        return sqrt(max(self.squares / self.rows - self.mean**2, 0.0)) if self.rows else 0.0

    @property
    def parts(self) -> Floats:
        """The share of the rows in each bin (f_i)."""
        counts = np.array(self.counts)
        return counts / counts.sum() if counts.sum() else np.full(len(counts), 1 / len(counts))

    def __add__(self, other: Histogram) -> Histogram:
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        return Histogram(self.watched, counts, self.total + other.total, self.squares + other.squares,
                         min(self.low, other.low), max(self.high, other.high))  # fmt: skip

    def since(self, before: Histogram | None) -> Histogram:
        """What was counted after `before`, which was counted by the same."""
        if before is None or any(b > a for a, b in zip(self.counts, before.counts, strict=True)):
            return self
        counts = tuple(a - b for a, b in zip(self.counts, before.counts, strict=True))
        return Histogram(self.watched, counts, self.total - before.total, self.squares - before.squares,
                         self.low, self.high)  # fmt: skip

    def times(self, factor: float) -> Histogram:
        """The same with every count multiplied: what forgetting leaves."""
        counts = tuple(c * factor for c in self.counts)
        return Histogram(self.watched, counts, self.total * factor, self.squares * factor, self.low, self.high)

    def with_dropped(self, dropped: float, remembered: Floats) -> Histogram:
        """What it would be with `dropped` rows more that a drop took before they were counted: they are put where,
        by the shares that are `remembered`, rows are missing.

        >>> from penstock.plan.nodes import Source
        >>> from penstock.plan.schema import Schema
        >>> watched = Watched(Source("s", Schema.parse("x double")), "x", (50.0,))
        >>> Histogram(watched, (0.0, 60.0, 0.0)).with_dropped(40.0, np.array([0.4, 0.6, 0.0])).counts
        (40.0, 60.0, 0.0)
        """
        if dropped <= 0 or not self.rows + dropped:
            return self
        missing = np.maximum(remembered * (self.rows + dropped) - np.array(self.counts), 0.0)
        put = missing / missing.sum() if missing.sum() else remembered
        counts = tuple(c + dropped * float(p) for c, p in zip(self.counts, put, strict=True))
        filled = (sum(counts) / self.rows) if self.rows else 0.0
        return Histogram(self.watched, counts, self.total * filled, self.squares * filled, self.low, self.high)
