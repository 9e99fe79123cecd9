"""The pipeline on Spark against native Structured Streaming, in one session on two cores: `penstock bench spark`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import spark_aggregate, spark_batch, spark_join, spark_queries, spark_state
from benchmarks.spark_common import session, workplace

LIMITS = (
    "two cores, files in memory, one session with the same settings for both systems",
    "rates are of the batches after the first ones: a process's start and the compilation of kernels are not in them",
    "a batch's time is Spark's: from trigger to commit, the reading of files included",
)
PARTS = (spark_batch, spark_aggregate, spark_join, spark_queries, spark_state)


def run(full: bool, seed: int) -> Iterator[dict[str, Any]]:
    """All figures, each after its check."""
    with workplace() as folder, session(folder) as spark:
        for part in PARTS:
            yield from part.figures(spark, folder, full, seed)
