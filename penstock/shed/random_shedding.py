"""Random load shedding: random drops where the road map says (Tatbul 3.4 to 3.6)."""

from __future__ import annotations

from penstock.plan.running import Plan
from penstock.shed.mapped import Mapped, Spared
from penstock.shed.policy import Shedding
from penstock.stats.load import LoadModel


class RandomShedding:
    """Keeps its road map and its place in it from call to call. Queries that `spared` names, each with the reason, lose
    nothing."""

    name = "random"

    def __init__(self, seed: int = 0, spared: Spared | None = None) -> None:
        self._map = Mapped(seed)
        self._spared = spared

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        return self._map.shed(plan, load, excess, None if self._spared is None else self._spared(plan.network))
