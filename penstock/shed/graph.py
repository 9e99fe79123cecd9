"""Utility as a piece-wise linear function of the share of results that is delivered (Tatbul 2.1.4)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Graph:
    """`points` are (share from 0 to 1, utility), the shares rising from 0 to 1.

    >>> graph = Graph(((0.0, 0.0), (0.5, 0.7), (1.0, 1.0)))
    >>> graph(0.75), graph.slope(0.75), graph.slope(0.5), graph.next_below(0.75)
    (0.85, 0.6000000000000001, 1.4, 0.5)
    """

    points: tuple[Point, ...]

    def __call__(self, share: float) -> float:
        """The utility at `share`."""
        i = min(max(bisect_right(self.points, (share, float("inf"))) - 1, 0), len(self.points) - 2)
        (x, u), (x1, u1) = self.points[i], self.points[i + 1]
        return u + (u1 - u) * (min(max(share, x), x1) - x) / (x1 - x)

    def slope(self, share: float) -> float:
        """Utility lost for a unit of share, going down from `share`: the slope to its left."""
        i = min(max(bisect_left(self.points, (share - 1e-12, -1.0)) - 1, 0), len(self.points) - 2)
        (x, u), (x1, u1) = self.points[i], self.points[i + 1]
        return (u1 - u) / (x1 - x)

    def next_below(self, share: float) -> float:
        """The share nearest below `share` at which the slope changes, 0 at last."""
        i = bisect_left(self.points, (share - 1e-12, -1.0)) - 1
        return self.points[i][0] if i > 0 else 0.0

    @property
    def concave(self) -> bool:
        """True where the slope never falls on the way down."""
        return self == envelope(self)


LINEAR = Graph(((0.0, 0.0), (1.0, 1.0)))
"""Each result is worth the same: what holds where nothing is declared."""


def envelope(graph: Graph) -> Graph:
    """The least concave function above `graph`; points on a straight line go.

    >>> envelope(Graph(((0.0, 0.0), (0.5, 0.1), (0.8, 0.9), (1.0, 1.0)))).points
    ((0.0, 0.0), (0.8, 0.9), (1.0, 1.0))
    """
    hull: list[Point] = []
    for x, u in graph.points:
        while len(hull) > 1 and _under(hull[-2], hull[-1], (x, u)):
            hull.pop()
        hull.append((x, u))
    return Graph(tuple(hull))


def _under(a: Point, b: Point, c: Point) -> bool:
    """True where b lies on or under the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0]) + 1e-15


def stacked(pieces: Iterable[tuple[float, float]]) -> Graph:
    """The graph along which pieces of (share, utility) are lost one after another, the first of them first: utility
    normalised to 1 (Tatbul 3.7.1).

    >>> [(round(x, 2), round(u, 2)) for x, u in stacked([(0.4, 0.08), (0.6, 0.6)]).points]
    [(0.0, 0.0), (0.6, 0.88), (1.0, 1.0)]
    """
    listed = [(f, w) for f, w in pieces if f > 0]
    all_f, all_w = sum(f for f, _ in listed), sum(w for _, w in listed)
    if not listed or all_w <= 0:
        return LINEAR
    return Graph((*reversed(list(_going_down(listed, all_f, all_w))),))


def _going_down(pieces: list[tuple[float, float]], all_f: float, all_w: float) -> Iterator[Point]:
    share, utility = 1.0, 1.0
    yield share, utility
    for f, w in pieces[:-1]:
        share, utility = share - f / all_f, utility - w / all_w
        yield share, utility
    yield 0.0, 0.0
