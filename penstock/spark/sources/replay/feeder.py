"""Lets the slices of a replay arrive, each at its time."""

from __future__ import annotations

import os
import threading
import time
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.spark.sources.replay.spool import Spool

LOOK_S: Final = 0.02
_FEEDING: Final[list[Feeder]] = []
_LOCK: Final = threading.Lock()


def feeding(below: str) -> bool:
    """True while a replay whose slices lie below this folder has rows to come: other runs of this process have their
    own."""
    return bool(_below(below))


def halt(below: str) -> None:
    """Ends the replays whose slices lie below this folder: a run that is over feeds nobody."""
    for feeder in _below(below):
        feeder.halted.set()


def _below(folder: str) -> list[Feeder]:
    with _LOCK:
        return [f for f in _FEEDING if f.spool.folder.is_relative_to(folder)]


class Feeder(threading.Thread):
    """Moves slices from `spool.pending` to `spool.arrived`, until it is `halted`.

    The clock starts with the first streaming query, so that starting Spark does not count as a backlog; it goes on from
    the last slice that had arrived, where a run before has ended. A slice's modification time is its scheduled instant,
    however late the move.
    """

    def __init__(self, spool: Spool, spark: SparkSession) -> None:
        super().__init__(name=f"replay of {spool.folder.name}", daemon=True)
        self.spool = spool
        self.halted = threading.Event()
        self._spark = spark
        self._slices = sorted(spool.pending.iterdir())
        with _LOCK:
            _FEEDING.append(self)

    def run(self) -> None:
        """Feeds until the end of the trace or of the query."""
        try:
            while self._queries() == 0:
                if self.halted.wait(LOOK_S):
                    return
            self._feed(time.time() - self._reached_s())
        except (Py4JError, PySparkException, OSError, ConnectionError):
            return
        finally:
            with _LOCK:
                _FEEDING.remove(self)

    def _reached_s(self) -> float:
        """How far an earlier run has come."""
        return max((int(p.stem) for p in self.spool.arrived.glob("*.parquet")), default=0) / 1e6

    def _feed(self, start_s: float) -> None:
        for number, piece in enumerate(self._slices):
            due_s = start_s + int(piece.stem) / 1e6
            while (left := due_s - time.time()) > 0:
                if self.halted.wait(min(left, 0.5)) or (left > 0.5 and self._queries() == 0):
                    return
            if number % 16 == 0 and self._queries() == 0:
                return
            os.utime(piece, (due_s, due_s))
            piece.rename(self.spool.arrived / piece.name)

    def _queries(self) -> int:
        """The streaming queries that have opened their sources."""
        return sum(not q.status["message"].startswith("Initializing") for q in self._spark.streams.active)
