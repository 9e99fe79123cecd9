"""The batch that waits at the gate: what is known of it before it is shed, and what of it comes too late already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.plan.drops import AgeDrop, Location, Placed
from penstock.plan.network import Network
from penstock.plan.nodes import Source
from penstock.shed.allowed import Allowed

LEAST = 0.25
"""The youngest rows, of this share of the setpoint, are not too old, whatever a batch seems to cost by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """Times are in seconds but for the clock's.

    | name         |                                                                                        |
    |--------------|----------------------------------------------------------------------------------------|
    | `now_s`      | a steady clock, as in snapshots                                                          |
    | `now_us`     | the wall clock, by which rows arrive                                                   |
    | `rows`       | rows that wait, by stream                                                              |
    | `gathered_s` | the time over which they came                                                          |
    | `waited_s`   | how long the oldest have waited                                                        |
    | `ahead_s`    | how long until the lanes begin: they are still at the batch before                     |
    | `lead_s`     | what lies between two batches besides their work                                       |
    | `floor_s`    | what the batch takes though every row were shed                                        |
    | `young`      | counts the rows that have not waited longer than so many seconds                       |
    """

    now_s: float
    now_us: int
    rows: Mapping[str, int]
    gathered_s: float
    waited_s: float
    ahead_s: float = 0.0
    lead_s: float = 0.0
    floor_s: float = 0.0
    young: Callable[[float], Mapping[str, int]] | None = None

    def since(self, age_s: float) -> Coming:
        """Those rows that have not waited longer than `age_s`: counted, or as many as there are if rows came evenly."""
        stale_s = max(0.0, self.waited_s - self.gathered_s)
        share = min(1.0, max(0.0, age_s - stale_s) / self.gathered_s)
        even = {name: round(n * share) for name, n in self.rows.items()}
        rows = even if self.young is None else self.young(age_s)
        gathered_s, waited_s = max(1e-3, self.gathered_s * share), min(age_s, self.waited_s)
        return replace(self, rows=rows, gathered_s=gathered_s, waited_s=waited_s)


def reach_s(coming: Coming, needed_s: float, setpoint_s: float) -> float:
    """How long a row may have waited and still be answered in time, where the whole batch takes `needed_s` besides its
    floor: what is left of the setpoint after the work on the younger ones; half of it where all that time is full.

    >>> batch = Coming(now_s=0, now_us=0, rows={"s": 100}, gathered_s=4, waited_s=4)
    >>> reach_s(batch, needed_s=1, setpoint_s=2), reach_s(batch, needed_s=8, setpoint_s=2)
    (1.6, 1.0)
    """
    least_s = LEAST * setpoint_s
    full = needed_s / coming.waited_s if coming.waited_s > 0 else 0.0
    stale_s = max(0.0, coming.waited_s - coming.gathered_s)
    return max((setpoint_s - coming.ahead_s - coming.floor_s) / (1 + min(1.0, full)), stale_s + least_s)


def age_drops(network: Network, coming: Coming, age_s: float) -> tuple[Placed, ...]:
    """Drops of what has waited longer than `age_s` now, at every stream where rows may be dropped at all. A promise
    about gaps does not hold for what is skipped."""
    allowed = Allowed.of(network, {})
    before, share = coming.now_us - round(age_s * 1e6), 1 - min(1.0, age_s / coming.waited_s)
    streams = (Location(n) for n in network.nodes() if isinstance(n, Source))
    return tuple((at, AgeDrop(before, share)) for at in streams if allowed.why_not(at) is None)
