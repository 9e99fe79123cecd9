"""Processor time of a run's processes: Java's and the driver's here, those of lanes and couriers as they tell."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Final

from pyspark.sql import SparkSession

from penstock.spark.state.records import Attempt

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_TIMES: Final = slice(11, 13)
"""Where a process's user and system time stand, counted from behind its name."""


class ProcessorMeter:
    """Reads what has been used since it was last read. Java's time is known where its process is on this machine and
    the system says (Linux); executors elsewhere are not counted."""

    def __init__(self, spark: SparkSession) -> None:
        assert spark._jvm is not None
        self._java = int(spark._jvm.java.lang.ProcessHandle.current().pid())
        self._before = self._now()

    def _now(self) -> float:
        return time.process_time() + _used_s(self._java)

    def read(self, attempts: Iterable[Attempt]) -> float:
        """Processor seconds since the last time."""
        now = self._now()
        used = now - self._before
        self._before = now
        elsewhere = (a.counters[part] for a in attempts for part in ("processor_s", "courier_s"))
        return float(used + sum(elsewhere))


class OwnTime:
    """Processor time of one kind of work, whichever thread does it, one at a time.

    >>> own = OwnTime()
    >>> with own:
    ...     total = sum(range(100_000))
    >>> own.read() > 0, own.read()
    (True, 0.0)
    """

    def __init__(self) -> None:
        self._spent_s = 0.0
        self._began_s = 0.0

    def __enter__(self) -> None:
        self._began_s = time.thread_time()

    def __exit__(self, *failure: object) -> None:
        self._spent_s += time.thread_time() - self._began_s

    def read(self) -> float:
        """Seconds since the last time."""
        spent_s, self._spent_s = self._spent_s, 0.0
        return spent_s


def _used_s(process: int) -> float:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[_TIMES])) * _TICK_S
