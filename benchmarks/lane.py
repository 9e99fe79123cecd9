"""The lane on one core: joins, a network of many operators, sliding windows, memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import lane_aggregate, lane_join, lane_memory, lane_network

LIMITS = (
    "one core, one process; ratios are measured side by side, rates depend on the machine",
    "the joins are measured as windows and join with every output column read, without input manager and queues",
)
PARTS = (lane_join, lane_network, lane_aggregate, lane_memory)


def run(full: bool, seed: int) -> Iterator[dict[str, Any]]:
    """All figures, each after its check."""
    for part in PARTS:
        yield from part.figures(full, seed)
