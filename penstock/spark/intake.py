"""The batch that waits at the gate, as controllers see it: how many rows, since when, and what time there is for it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.control.coming import Coming
from penstock.plan.nodes import Source
from penstock.spark.entries import Entry
from penstock.spark.sizes import Sizes

COLD: Final = 2
"""Batches that begin a run: they load code, and say nothing about the next ones."""
FLOORS: Final = 9
LATELY: Final = 5
"""Batches that are enough to tell chance from more, and those of which the floor is the median."""
SKEWED: Final = 1.0
"""So many targets stale is not chance any more."""
GAPS: Final = 16
"""Pauses between batches that are remembered. The shorter ones are what Spark needs; others also waited for rows."""
LONG: Final = 2.0
"""A batch that gathered for so many targets is old enough that how its rows came is counted, not assumed."""


@dataclass(slots=True)
class Intake:
    """Keeps the time between batches. `target_s` is the nearest delay target."""

    sizes: Sizes
    target_s: float
    _formed_s: float | None = None
    _ended_s: float | None = None
    _batches: int = 0
    _floors: deque[float] = field(default_factory=lambda: deque(maxlen=FLOORS))
    _handed: deque[float] = field(default_factory=lambda: deque(maxlen=LATELY))
    _stale: deque[float] = field(default_factory=lambda: deque(maxlen=FLOORS))
    _gates: deque[float] = field(default_factory=lambda: deque(maxlen=LATELY))
    _now_us: int = 0
    _said: set[str] = field(default_factory=set)
    _gaps: deque[float] = field(default_factory=lambda: deque(maxlen=GAPS))
    _row_s: float | None = None

    def coming(self, rows: DataFrame, resumed: bool, busy_s: float | None = None) -> Coming:
        """What is known of the batch of `rows`, which begins now; `resumed`: an earlier run has gone before; `busy_s`:
        the lanes are not through with the batch before, and will be so long."""
        now_s = time.monotonic()
        if self._ended_s is not None:
            self._gaps.append(now_s - self._ended_s)
        gathered_s = LONG * self.target_s * 2 if self._formed_s is None and resumed else self._since(now_s)
        self._formed_s = now_s
        now_us = time.time_ns() // 1000
        self._now_us = now_us
        stale_s = self._stale_s()
        now_us -= round(self.skew_s * 1e6)
        young = self._young(rows, now_us) if gathered_s > LONG * self.target_s else None
        overlapped = busy_s is not None
        return Coming(
            now_s=now_s, now_us=now_us, rows=self.sizes.of(rows), gathered_s=gathered_s,
            waited_s=gathered_s + stale_s, ahead_s=max(busy_s or 0.0, self._gate_s) if overlapped else 0.0,
            lead_s=0.0 if overlapped else self._gap_s,
            floor_s=median(self._handed) if overlapped and self._handed else 0.0 if overlapped else self.floor_s,
            young=young,
        )  # fmt: skip

    def _stale_s(self) -> float:
        """How old the youngest row of a batch is when it begins. One older than the target is of a backlog: that says
        nothing about the next batch."""
        stale = [s - self.skew_s for s in self._stale if s - self.skew_s < self.target_s]
        return max(0.0, median(stale)) if stale else 0.0

    def _since(self, now_s: float) -> float:
        return max(1e-3, now_s - self._formed_s) if self._formed_s is not None else self.target_s / 2

    def _young(self, rows: DataFrame, now_us: int) -> Callable[[float], Mapping[str, int]]:
        return lambda age_s: self.sizes.counted(rows, now_us - round(age_s * 1e6))

    @property
    def skew_s(self) -> float:
        """How far the source's clock is behind this machine's: what every one of the last batches was stale by, where
        that is more than a clock and a batch can differ by chance. A backlog is stale too, but less from batch to
        batch."""
        if len(self._stale) < FLOORS:
            return 0.0
        low, high = min(self._stale), max(self._stale)
        apart = SKEWED * self.target_s
        return low if (low > apart or high < -apart) and high - low < apart else 0.0

    def notices(self) -> Iterator[str]:
        """What whoever runs this has to know, each once."""
        least_s = min(self._gaps, default=0.0) + 2 * self.floor_s
        if len(self._floors) == FLOORS and least_s > self.target_s:
            yield from self._once(
                f"a delay of {self.target_s:g} s is below what this system reaches without any load: {least_s:.2g} s"
            )
        if self.skew_s:
            behind = "behind" if self.skew_s > 0 else "ahead of"
            yield from self._once(f"the source's clock is {abs(self.skew_s):.1f} s {behind} this machine's: "
                                  "rows count as arrived by that much later")  # fmt: skip

    def _once(self, text: str) -> Iterator[str]:
        kind = text.split()[0]
        if kind not in self._said:
            self._said.add(kind)
            yield text

    def prepared(self, took_s: float, latest_us: int | None) -> None:
        """A batch has left the gate, so long after it began. The youngest row came at `latest_us`: how stale a batch is
        when it begins."""
        self._gates.append(took_s)
        if latest_us is not None:
            self._stale.append((self._now_us - latest_us) / 1e6)

    def done(self, rows: Mapping[str, int], took_s: float, lanes_s: float, kept: int = 0,
             overlapped: bool = False) -> None:  # fmt: skip
        """The batch is over: what it had, how long it took (where it overlapped with the one before: from then on), how
        long the lanes' operators did, and with how many rows."""
        self.sizes.learn(rows)
        if self._batches >= COLD:
            (self._handed if overlapped else self._floors).append(max(0.0, took_s - lanes_s))
            if kept:
                found = lanes_s / kept
                self._row_s = found if self._row_s is None else (self._row_s + found) / 2
        self._batches += 1

    def works_s(self, rows: int) -> float:
        """How long the lanes are expected to work on so many rows."""
        return rows * (self._row_s or 0.0)

    @property
    def _gap_s(self) -> float:
        """What Spark needs between two batches."""
        return sorted(self._gaps)[len(self._gaps) // 4] if self._gaps else 0.0

    @property
    def _gate_s(self) -> float:
        """What passes from a batch's beginning until its rows have left the gate."""
        return median(self._gates) if self._gates else 0.0

    def worth_overlapping(self, rows: int) -> bool:
        """True where the lanes work for longer on so many rows than Spark needs to bring the next batch."""
        return self.works_s(rows) > self._gap_s + self._gate_s

    def hold_s(self, rows: int) -> float:
        """How long Spark is to wait once so many rows are in the lanes: so that it brings the next just in time."""
        return max(0.0, self.works_s(rows) - self._gap_s - self._gate_s)

    def more(self, besides_s: float) -> None:
        """A batch without rows followed, which took so long besides its operators."""
        if self._floors:
            self._floors[-1] += max(0.0, besides_s)

    @property
    def floor_s(self) -> float:
        """What a batch takes besides its operators."""
        return median(list(self._floors)[-LATELY:]) if self._floors else 0.0

    def ended(self) -> None:
        """Spark is to go on."""
        self._ended_s = time.monotonic()


def latest(rows: Sequence[pa.RecordBatch], entries: Sequence[Entry], column: str = "_ts") -> dict[str, int]:
    """The largest timestamp (or arrival) of each stream among rows that leave the gate."""
    whole = pa.Table.from_batches(rows).select(["_entry", column])
    number, at = whole.column("_entry").to_numpy(), whole.column(column).fill_null(0).to_numpy()
    found: dict[str, int] = {}
    for entry in entries:
        mine = at[np.asarray(number) == entry.number] if isinstance(entry.leaf, Source) else at[:0]
        if len(mine):
            found[entry.leaf.name] = max(found.get(entry.leaf.name, int(mine.max())), int(mine.max()))
    return found
