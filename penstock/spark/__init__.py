"""Says Spark: sources, the gate, lanes on executors, state, sinks. Nothing outside this package imports pyspark.

`guard` puts a delay target before a Structured Streaming job that is not written with Penstock.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`guard`, looked for when somebody asks: lanes' processes start without PySpark."""
    if name == "guard":
        from penstock.spark.guarding.job import guard

        return guard
    raise AttributeError(name)
