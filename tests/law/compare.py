"""Equality of results: the net counts of (timestamp, row), doubles within 1e-9 of the sum of the absolute inputs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.lane.events import Arrival
from penstock.lane.reference import Element
from penstock.operators.histories import row_key

Net = dict[tuple[int, Any], int]
_RELATIVE = 1e-9


def net(elements: Iterable[Element]) -> Net:
    """How often each (timestamp, row) comes in on balance."""
    counts: Counter[tuple[int, Any]] = Counter()
    for e in elements:
        counts[e.ts, row_key(e.row)] += e.sign
    return {k: c for k, c in counts.items() if c}


def difference(found: Sequence[Element], expected: Sequence[Element], given: Iterable[Arrival]) -> str:
    """What is in one result alone; empty where they are equal."""
    scale = sum(abs(v) for a in given for v in a.row if isinstance(v, float) and math.isfinite(v))
    return unmatched(net(found), net(expected), _RELATIVE * scale)


def unmatched(left: Net, right: Net, tolerance: float) -> str:
    """What is in one alone, without the pairs, one of each sign, that differ in doubles by no more than `tolerance`."""
    apart = {k: left.get(k, 0) - right.get(k, 0) for k in {*left, *right} if left.get(k, 0) != right.get(k, 0)}
    rest = dict(apart)
    for key in apart:
        for other in list(rest):
            if rest.get(key, 0) * rest[other] < 0 and key[0] == other[0] and _near(key[1], other[1], tolerance):
                moved = min(abs(rest[key]), abs(rest[other]))
                rest[key] -= moved if rest[key] > 0 else -moved
                rest[other] -= moved if rest[other] > 0 else -moved
    return "; ".join(f"{k}: {c:+}" for k, c in sorted(rest.items(), key=lambda p: p[0][0]) if c)


def _near(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= max(tolerance, _RELATIVE * max(abs(a), abs(b)))
    return bool(a == b)
