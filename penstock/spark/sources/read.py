"""What a source is opened with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from penstock.plan.schema import Schema


@dataclass(frozen=True, slots=True)
class Reading:
    """One stream or relation to open: how messages call it, its format, columns and options (secrets resolved, all as
    text), whether Spark reads on (`readStream`) or once, the column that stamps, and a folder for files of the source's
    own that lasts as long as the checkpoint."""

    spark: SparkSession
    what: str
    format: str
    schema: Schema
    options: Mapping[str, str]
    streaming: bool
    timestamp: str | None = None
    work: str | None = None

    def option(self, name: str) -> str | None:
        """The value of an option, whatever the case of its name."""
        return next((v for k, v in self.options.items() if k.lower() == name.lower()), None)

    def without(self, *names: str) -> dict[str, str]:
        """The options for Spark, those left out that are ours."""
        ours = {n.lower() for n in names}
        return {k: v for k, v in self.options.items() if k.lower() not in ours}

    def reader(self, format: str, options: Mapping[str, str]) -> Any:
        """Spark's reader: of a stream or of a table, which share their methods."""
        read = self.spark.readStream if self.streaming else self.spark.read
        return read.format(format).options(**options)
