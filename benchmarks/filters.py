"""`penstock bench filters`: filters that reorder themselves, on the set-up of Babu 4.7 and in the real pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figures import (
    filters_adaptivity,
    filters_convergence,
    filters_overhead,
    filters_sampling,
    filters_shared,
    filters_spark,
)

LIMITS = (
    "processor time is read off the monotonic clock around one thread: a busy machine shows as spread",
    "a probe is a look-up in a hash index of 10,000 keys, 5 to 10 ns here and about 1 us in the paper: the loop's "
    "own time, some 0.3 ms a control period, is told against periods of 20 to 60 ms, as a pipeline has them",
    "windows are filled before and stand still while the stream is filtered",
    "throughput on Spark is of batches through the gate, lanes and commit, from rows in memory; the oracle is the best "
    "static order of each phase, measured the same way",
)
PARTS = (filters_overhead, filters_convergence, filters_adaptivity, filters_sampling, filters_shared, filters_spark)


def run(full: bool, seed: int) -> Iterator[dict[str, Any]]:
    """All figures, each after its check."""
    for part in PARTS:
        yield from part.figures(full, seed)
