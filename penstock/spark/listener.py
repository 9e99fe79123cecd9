"""Spark's own account of a run's triggers, through its StreamingQueryListener."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


class Listener(StreamingQueryListener):
    """Calls `progress` with what Spark tells of each trigger, and `ended` at the end. Spark calls it from a thread of
    its own, which a slow listener holds up and a failing one does not."""

    def __init__(self, progress: Callable[[Mapping[str, Any]], None], ended: Callable[[], None]) -> None:
        self._progress, self._ended = progress, ended

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """A query has started; its first trigger tells more."""
        self._progress({})

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A trigger has ended."""
        self._progress(json.loads(event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """There was nothing to read."""
        self._progress({})

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """The query has ended."""
        self._ended()


def listen(
    spark: SparkSession, progress: Callable[[Mapping[str, Any]], None], ended: Callable[[], None]
) -> Callable[[], None]:
    """Listens to the queries of `spark` from now on; what is returned makes an end of it."""
    listener = Listener(progress, ended)
    spark.streams.addListener(listener)
    return lambda: spark.streams.removeListener(listener)
