"""The best that each query allows, at once (the default).

| a query that | loses | by |
|---|---|---|
| values its results | those worth least first | semantic drops |
| neither | by its loss function | random drops at the road map's locations |

Queries that bound their gaps or want estimates lose nothing to such drops.
"""

from __future__ import annotations

from penstock.plan.running import Plan
from penstock.shed.policy import Shedding
from penstock.shed.semantic import SemanticShedding
from penstock.stats.load import LoadModel


class AutoShedding:
    """Each query's own way of losing."""

    name = "auto"

    def __init__(self, seed: int = 0) -> None:
        self._by_value = SemanticShedding(seed)

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        return self._by_value.shed(plan, load, excess)
