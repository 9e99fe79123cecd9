"""The parameters of a window drop from those of the aggregates below it: table 4.2 of Tatbul's thesis, and its general
case.

`pipeline`, `fan_out` and `counted_pipeline` are the thesis's rules as it has them. `common` is what the policy uses: it
starts from what each query needs of the drop's place (`penstock.plan.window_reach`), which is the pipeline rule worked
out along every way, and puts several queries together, also where their windows never start at one instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm, prod
from typing import NamedTuple

from penstock.plan.window_reach import Needs


class Spec(NamedTuple):
    """Size, slide and batch size of an aggregate's windows or of a window drop; the batch is what its query bears."""

    size: int
    slide: int
    batch: int = 1


def extent(spec: Spec) -> int:
    """The instants that a window needs past the start of the next one."""
    return spec.size - spec.slide


def pipeline(*aggregates: Spec) -> Spec:
    """A window drop before aggregates that follow one another (Tatbul 4.5.1).

    >>> pipeline(Spec(3, 2), Spec(3, 3, 10))
    Spec(size=5, slide=3, batch=10)
    """
    last = aggregates[-1]
    return Spec(sum(a.size for a in aggregates) - (len(aggregates) - 1), last.slide, last.batch)


def fan_out(*aggregates: Spec) -> Spec:
    """A window drop before aggregates that stand side by side (Tatbul 4.5.2); a batch of 0 forbids it.

    >>> fan_out(Spec(3, 2, 9), Spec(3, 3, 10))
    Spec(size=7, slide=6, batch=3)
    """
    slide = lcm(*(a.slide for a in aggregates))
    size = slide + max(extent(a) for a in aggregates)
    return Spec(size, slide, min(a.batch // (slide // a.slide) for a in aggregates))


def counted_pipeline(*aggregates: Spec) -> Spec:
    """A window drop, in tuples, before aggregates over rows that follow one another (Tatbul 4.10.2).

    >>> counted_pipeline(Spec(3, 2), Spec(3, 3))
    Spec(size=7, slide=6, batch=1)
    """
    before = [prod(a.slide for a in aggregates[:i]) for i in range(len(aggregates))]
    size = aggregates[-1].size * before[-1]
    size += sum(extent(a) * scale for a, scale in zip(aggregates[:-1], before, strict=False))
    return Spec(size, prod(a.slide for a in aggregates), aggregates[-1].batch)


@dataclass(frozen=True, slots=True)
class Grid:
    """The windows of a drop: those that start at `origin` + k `slide`. `scales` has for each query how many of its
    windows one of them stands for."""

    origin: int
    slide: int
    size: int
    scales: tuple[int, ...]

    def batch(self, gaps: Sequence[int]) -> int:
        """The most windows that may go at once where the queries bear these gaps; 0 forbids the drop."""
        return min(gap // scale for gap, scale in zip(gaps, self.scales, strict=True))


def common(needs: Sequence[Needs]) -> Grid:
    """The smallest windows that hold those of all queries whole.

    They start where windows of all queries do. Where there is no such instant, a query's last window starts up to
    its slide later than the drop's own, and is kept whole all the same.
    """
    origin, slide = needs[0].origin, needs[0].slide
    for each in needs[1:]:
        origin, slide = _meeting(origin, slide, each.origin, each.slide), lcm(slide, each.slide)
    last = [slide - n.slide + (n.origin - origin) % n.slide + n.size for n in needs]
    return Grid(origin, slide, max(slide, *last), tuple(slide // n.slide for n in needs))


def _meeting(a: int, slide_a: int, b: int, slide_b: int) -> int:
    """An instant of both a + k slide_a and b + k slide_b; a where there is none.

    >>> _meeting(0, 2, 1, 3), _meeting(0, 2, 1, 4)
    (4, 0)
    """
    common_part = gcd(slide_a, slide_b)
    if (b - a) % common_part:
        return a
    step = slide_b // common_part
    times = (b - a) // common_part * pow(slide_a // common_part, -1, step) % step if step > 1 else 0
    return a + slide_a * times
