"""`penstock bench control`: when to shed and how much, against the papers' figures."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import control_guard, control_lane, control_pipeline
from benchmarks.figures.reporting import Row

PARTS = (control_lane, control_guard, control_pipeline)
LIMITS = tuple(text for part in PARTS for text in part.LIMITS)


def run(full: bool, seed: int) -> Iterator[Row]:
    """All figures, each after its check."""
    for part in PARTS:
        yield from part.figures(full, seed)
