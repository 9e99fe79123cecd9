"""`penstock bench shedding`: what load shedding loses, in the figures of the papers, each checked before it is told."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import shedding_qos, window_drop
from benchmarks.figures.reporting import Row

PARTS = (shedding_qos, window_drop)
LIMITS = tuple(text for part in PARTS for text in part.LIMITS)


def run(full: bool, seed: int) -> Iterator[Row]:
    """All figures, each after its check."""
    for part in PARTS:
        yield from part.figures(full, seed)
