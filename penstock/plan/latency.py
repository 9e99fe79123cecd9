"""Latency QoS: what a result is worth by how late it comes (Tatbul 2.1.4). It orders the work, and sheds nothing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Final

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.durations import parse_duration
from penstock.plan.network import Query
from penstock.plan.pairs import Point, pairs, utility

_EXAMPLE: Final = "such as '1 second: 1.0, 10 seconds: 0'"
_SECOND_US: Final = 1e6


@dataclass(frozen=True, slots=True)
class Latency:
    """`points` are (seconds, utility), the seconds rising. Up to the first one nothing is lost. A fall never becomes
    gentler, behind the last point neither: Tatbul takes the functions to be concave, and a queue whose first results
    are worth nothing any more must not hold up those behind them for ever.

    >>> latency = Latency(((1.0, 1.0), (10.0, 0.1)))
    >>> latency.slope(0.5), latency.slope(1.0), latency.slope(60.0), latency.slack_s(0.25)
    (0.0, 0.1, 0.1, 0.75)
    """

    points: tuple[Point, ...]

    def slope(self, late_s: float) -> float:
        """Utility lost a second by a result that is so late."""
        return max((_slope(a, b) for a, b in pairwise(self.points) if a[0] <= late_s), default=0.0)

    def slack_s(self, late_s: float) -> float:
        """Seconds until utility falls differently."""
        return next((s - late_s for s, _ in self.points if late_s < s), inf)


def _slope(a: Point, b: Point) -> float:
    return (a[1] - b[1]) / (b[0] - a[0]) if b[0] > a[0] else inf if a[1] > b[1] else 0.0


def latency_of(query: Query) -> Latency | None:
    """What `query` declares: its `latency`, else a `delay`, of which a result that takes twice as long is taken to be
    worth nothing; None without either. Raises PenstockError.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> latency_of(Query("q", Source("s", Schema.parse("x int")), (("delay", "2 seconds"),))).points
    ((2.0, 1.0), (4.0, 0.0))
    """
    given = dict(query.options)
    if "latency" in given:
        return Latency(latency_points(str(given["latency"])))
    if "delay" in given:
        delay_s = parse_duration(str(given["delay"])) / _SECOND_US
        return Latency(((delay_s, 1.0), (2 * delay_s, 0.0)))
    return None


def latency_points(text: str) -> tuple[Point, ...]:
    """(seconds, utility) by rising delay.

    >>> latency_points("10 seconds: 0, 1 second: 1.0")
    ((1.0, 1.0), (10.0, 0.0))
    """
    points = []
    for left, right in pairs(text, "latency", _EXAMPLE):
        points.append((parse_duration(left) / _SECOND_US, utility(right, "latency", _EXAMPLE)))
    points.sort()
    if any(b[1] > a[1] for a, b in pairwise(points)):
        raise PenstockError(Diagnostic("latency: a later result cannot be worth more", help=_EXAMPLE))
    return tuple(points)
