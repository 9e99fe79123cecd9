"""One look at a running network: numbered, immutable, the only thing that shedding and adaptation read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from penstock.plan.drops import Location
from penstock.plan.node import Node
from penstock.stats.accounts import Delivered, QueryAccount
from penstock.stats.batches import BatchStatistics
from penstock.stats.histograms import Histogram


@dataclass(frozen=True, slots=True)
class OperatorStatistics:
    """What one operator did since it was made, and what waits before it. Rows are elements: `-` counts too."""

    node: Node
    rows_in: int
    rows_out: int
    runs: int
    busy_s: float
    queued: int
    state_bytes: int
    waits: tuple[int, ...] = ()
    """Of `queued`, the elements before each input, where that is known."""

    @property
    def cost_s(self) -> float | None:
        """Processor seconds an element; None before the first."""
        return self.busy_s / self.rows_in if self.rows_in else None

    @property
    def selectivity(self) -> float | None:
        """Elements out for an element in; None before the first."""
        return self.rows_out / self.rows_in if self.rows_in else None


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """What one stream delivered: rows taken in, those past the skew bound, and how far its time has come.

    `late` rows were kept (restamped) or dropped, as the stream declares; `bound_us` is the declared or measured bound.
    """

    name: str
    rows: int
    late_kept: int
    late_dropped: int
    waiting: int
    bound_us: int
    progress: int
    rate: float | None
    """Rows a second of the stream's own time; None where it has not moved yet."""


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """Elements in all queues: now, at most, and on average over time."""

    queued: int
    largest: int
    average: float


@dataclass(frozen=True, slots=True)
class DropStatistics:
    """What the drops at `location` that bear one `reason` did so far: tuples that came to them, and those dropped."""

    location: Location
    reason: str
    rows_in: int
    dropped: int

    @property
    def kept(self) -> int:
        """Tuples that passed."""
        return self.rows_in - self.dropped


@dataclass(frozen=True, slots=True, eq=False)
class FilterProfile:
    """What was measured of an operator's filters since the snapshot before (Babu 4.3.1).

    bits     the profile tuples: a word for each sampled row that was dropped, bit i set where filter i drops it
    sampled  rows that were sampled, those that pass included
    seconds  for each filter, processor time; `rows`, over how many rows
    outside  whether they are evaluated before the operator sees a row, at Spark's gate: its time says nothing of them
    """

    node: Node
    bits: npt.NDArray[Any]
    sampled: int
    seconds: npt.NDArray[Any]
    rows: npt.NDArray[Any]
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Overload:
    """What the practical signals say of a period (see `penstock.stats.signals`): `used`, the share of it in which the
    network was at work, and why it is overloaded; None where nothing says so."""

    used: float
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Snapshot `number`, taken at `now_s` of the lane's clock."""

    number: int
    now_s: float
    operators: tuple[OperatorStatistics, ...] = ()
    streams: tuple[StreamStatistics, ...] = ()
    queues: QueueStatistics = QueueStatistics(0, 0, 0.0)
    store_bytes: int = 0
    set_aside: tuple[tuple[str, int], ...] = ()
    """Rows on which a user's function raised, by function."""
    drops: tuple[DropStatistics, ...] = ()
    shut_down: tuple[str, ...] = field(default=())
    """Queries that had to be shut down to keep within the machine."""
    batch: BatchStatistics | None = None
    """The pipeline's batch after which it was taken; None in process."""
    shortfall: float = 0.0
    """The share of the load that should have gone and did not, because promises to queries outrank it."""
    values: tuple[Histogram, ...] = ()
    """What the watched columns hold."""
    delivered: tuple[Delivered, ...] = ()
    """What each query was given so far."""
    accounts: tuple[QueryAccount, ...] = ()
    """For each query, what it got and lost in the period that the snapshot ends."""
    overload: Overload | None = None
    """Whether the network is overloaded, whatever its costs are said to be; None where no period has passed."""
    profiles: tuple[FilterProfile, ...] = ()
    """What was measured of filters since the snapshot before; of one operator as many as lanes run it."""
