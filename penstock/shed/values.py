"""Value-based QoS: which values of an output column matter how much (Tatbul 2.1.4, 3.7.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

CHUNKS: Final = 8
"""Into so many pieces of equal length an interval with a rising or falling utility is cut (the paper's chunk_size)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The values in [low, high), whose utility goes in a straight line from `first` to `last`; None is unbounded."""

    low: float | None
    high: float | None
    first: float
    last: float

    @property
    def utility(self) -> float:
        """The average."""
        return (self.first + self.last) / 2

    def __contains__(self, value: Any) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value < self.high)


@dataclass(frozen=True, slots=True)
class Value:
    """Utility by intervals or by categories of `column`; what is in none of them is worth `other`.

    >>> graph = Value("x", intervals=(Interval(0, 50, 0.2, 0.2), Interval(50, 101, 1.0, 1.0)))
    >>> graph.utility(49.5), graph.utility(50), graph.utility(None), graph.utility(-1)
    (0.2, 1.0, 0.0, 0.0)
    """

    column: str
    intervals: tuple[Interval, ...] = ()
    categories: tuple[tuple[Any, float], ...] = ()
    other: float = 0.0

    def utility(self, value: Any) -> float:
        """What a result with `value` is worth."""
        if value is None:
            return self.other
        for known, utility in self.categories:
            if value == known:
                return utility
        interval = next((i for i in self.intervals if value in i), None)
        if interval is None:
            return self.other
        if interval.first == interval.last or interval.low is None or interval.high is None:
            return interval.utility
        along = float(value - interval.low) / (interval.high - interval.low)
        return interval.first + (interval.last - interval.first) * along

    def chunked(self) -> Value:
        """The same with utilities that are constant within each interval (footnote 5 of 3.7.1)."""
        return replace(self, intervals=tuple(c for i in self.intervals for c in _chunks(i)))


def _chunks(interval: Interval) -> Iterator[Interval]:
    low, high = interval.low, interval.high
    if interval.first == interval.last or low is None or high is None:
        yield replace(interval, first=interval.utility, last=interval.utility)
        return
    for k in range(CHUNKS):
        middle = interval.first + (interval.last - interval.first) * (k + 0.5) / CHUNKS
        yield Interval(low + (high - low) * k / CHUNKS, low + (high - low) * (k + 1) / CHUNKS, middle, middle)
