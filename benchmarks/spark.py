"""The pipeline on Spark against native Structured Streaming, in one session on two cores: `penstock bench spark`, or a
part of it, such as `spark-aggregate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import spark_aggregate, spark_batch, spark_join, spark_queries, spark_state
from benchmarks.spark_common import LIMITS

__all__ = ["LIMITS", "PARTS", "run"]
PARTS = (spark_batch, spark_aggregate, spark_join, spark_queries, spark_state)


def run(full: bool, seed: int) -> Iterator[dict[str, Any]]:
    """All figures, each after its check."""
    for part in PARTS:
        yield from part.figures(full, seed)
