"""Random load shedding: random drops where the road map says (Tatbul 3.4 to 3.6)."""

from __future__ import annotations

from penstock.plan.running import Plan
from penstock.shed.mapped import Mapped
from penstock.shed.policy import Shedding
from penstock.stats.load import LoadModel


class RandomShedding:
    """Keeps its road map and its place in it from call to call."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._map = Mapped(seed)

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        return self._map.shed(plan, load, excess)
