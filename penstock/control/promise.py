"""What both kinds of delay strategy have in common: the targets, what was measured, and who places what must go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from penstock.control.keeping import Keeper, Room
from penstock.control.loop import Proposal
from penstock.control.meter import Meter
from penstock.control.targets import Judged, judged, targets
from penstock.plan.drops import Placed
from penstock.plan.network import Network
from penstock.plan.running import Plan, SetDrops, ShutDown
from penstock.shed.policy import Policy, Shedding
from penstock.stats.batches import DelayStatistics
from penstock.stats.load import LoadModel

LEAST_WORKING: Final = 0.1
"""The share of a micro-batch that is for work at least, however much it takes besides."""


@dataclass(slots=True)
class Promise:
    """The targets of `network` in seconds, by query; `policy` places the drops. `lanes` is how many processors there
    are, `headroom` the share of them that is believed in before anything was learned."""

    network: Network
    policy: Policy
    lanes: float = 1.0
    headroom: float = 0.8
    half_life_s: float = 10.0
    wanted: dict[str, float] = field(init=False)
    meter: Meter = field(init=False)
    keeper: Keeper = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = targets(self.network)
        self.meter = Meter(self.network, self.half_life_s)
        self.keeper = Keeper(self.policy)

    @property
    def target_s(self) -> float:
        """The nearest target of the queries that run: the binding one."""
        return min(self._running().values() or self.wanted.values())

    def judged(self, delays: Iterable[DelayStatistics]) -> Judged | None:
        """Response times in the measure of the binding target."""
        return judged(delays, self._running())

    def _running(self) -> dict[str, float]:
        return {q: t for q, t in self.wanted.items() if q not in self.keeper.shut_down}

    def placed(
        self, plan: Plan, load: LoadModel, excess: float, seconds: float, capacity: float | None = None,
        floor_s: float = 0.0,
    ) -> Shedding:  # fmt: skip
        """What goes for `excess` in a period of so many `seconds`; `capacity` is what was measured to be worked off in
        a second, None where nothing was yet; `floor_s` of each half of the target is not for work."""
        believed = self.headroom * self.lanes if capacity is None else capacity
        working = max(LEAST_WORKING, 1 - 2 * floor_s / self.target_s)
        return self.keeper.place(plan, load, excess, Room(believed * working, seconds, self.target_s))

    def proposals(self, plan: Plan, made: Shedding, why: str, first: tuple[Placed, ...] = ()) -> list[Proposal]:
        """The changes to what is `made`, the drops of `first` before it; none where the plan is so already."""
        drops, found = (*first, *made.drops), []
        if drops != plan.drops:
            found.append(Proposal(SetDrops(drops), why))
        if made.shut_down != plan.shut_down:
            told = f"{self.target_s:g} s cannot be kept beside what {', '.join(made.shut_down)} may not lose"
            found.append(Proposal(ShutDown(made.shut_down), told))
        return found

