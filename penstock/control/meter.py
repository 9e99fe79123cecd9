"""What happened in one control period, as differences of snapshots in the units of load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.plan.drops import Location
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Filter
from penstock.stats.forgetting import Forgetting
from penstock.stats.load import LoadModel
from penstock.stats.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Period:
    """`seconds` between two snapshots: rows by stream (dropped ones too), the network's `load` at their rates, what of
    it drops took away and operators worked off, in processor-seconds; tuples that came past the drops, and that were
    delivered or discarded."""

    seconds: float
    rows: Mapping[str, int]
    load: LoadModel
    shed_s: float
    worked_s: float
    entered: int
    left: int


@dataclass(slots=True)
class Meter:
    """Sees the snapshots of a run over `network`, the oldest first."""

    network: Network
    half_life_s: float = 10.0
    _seen: Forgetting = field(init=False)
    _before: Snapshot | None = None

    _boxes: tuple[Node, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._seen = Forgetting(self.network, self.half_life_s)
        self._boxes = tuple(n for n in self.network.nodes() if isinstance(n, Delay))

    @property
    def known(self) -> bool:
        """True once it is known what tuples cost."""
        return any(w.cost_s > 0 for w in self._seen.work().values())

    def see(self, snapshot: Snapshot, period_s: float) -> Period:
        """Takes note of a snapshot, `period_s` after the last one."""
        self._seen.see(snapshot, period_s)
        before, self._before = self._before, snapshot
        rows = _more(snapshot, before)
        model = self.load({name: n / period_s for name, n in rows.items()} if period_s > 0 else {})
        dropped = _dropped(snapshot, before)
        shed_s = sum(n * model.coefficient(at) for at, n in dropped.items())
        gone = sum(n for at, n in dropped.items() if not at.node.inputs)
        worked_s = _busy(snapshot) - (0.0 if before is None else _busy(before))
        left = _discarded(snapshot) - (0 if before is None else _discarded(before)) + _delivered(snapshot)
        return Period(period_s, rows, model, shed_s, worked_s, sum(rows.values()) - gone, left)

    def fade(self, share: float) -> None:
        """Leaves `share` of what is remembered: what follows counts for more."""
        self._seen.fade(share)

    def load(self, rates: Mapping[str, float]) -> LoadModel:
        """The network under these rates (tuples a second by stream), with costs as they were measured lately. A delay
        box costs nothing besides where its consumer spends what it states."""
        return self._seen.model(rates, self._boxes)


def _more(now: Snapshot, before: Snapshot | None) -> dict[str, int]:
    """Rows of each stream since `before`."""
    seen = {} if before is None else {s.name: s.rows for s in before.streams}
    return {s.name: s.rows - seen.get(s.name, 0) for s in now.streams}


def _dropped(now: Snapshot, before: Snapshot | None) -> dict[Location, int]:
    """Tuples that each location gave up since `before`."""
    counts: dict[Location, int] = {}
    for sign, drops in ((1, now.drops), (-1, () if before is None else before.drops)):
        for d in drops:
            counts[d.location] = counts.get(d.location, 0) + sign * d.dropped
    return {at: n for at, n in counts.items() if n > 0}


def _busy(snapshot: Snapshot) -> float:
    return sum(o.busy_s for o in snapshot.operators)


def _discarded(snapshot: Snapshot) -> int:
    return sum(o.rows_in - o.rows_out for o in snapshot.operators if isinstance(o.node, Filter))


def _delivered(snapshot: Snapshot) -> int:
    return 0 if snapshot.batch is None else sum(d.results for d in snapshot.batch.delays)
