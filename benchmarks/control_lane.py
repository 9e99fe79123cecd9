"""Controllers in the engine of the paper: the lane under virtual time, in the set-up of Pham et al., section IV."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures.reporting import Row
from benchmarks.figures.seamless import FIGURES

LIMITS = tuple(f"{figure.title}: {figure.limits}" for figure in FIGURES.values())


def figures(full: bool, seed: int) -> Iterator[Row]:
    """Figures 3, 4 and 5 and table I."""
    for figure in FIGURES.values():
        yield from figure.measure(full, seed)
