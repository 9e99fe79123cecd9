"""The best that each query allows, at once (the default).

| a query that | loses | by |
|---|---|---|
| wants estimates, and can have them | precision, all of them equally | sampling |
| values its results | those worth least first | semantic drops, windows of whole groups |
| bounds its gaps | windows, by its loss function | window drops |
| does none of these | by its loss function | random drops at the road map's locations |

Each way takes the part of the excess that what it could save is of what all could.
"""

from __future__ import annotations

from penstock.plan.network import Network
from penstock.plan.running import Plan
from penstock.shed.joint import spared
from penstock.shed.policy import Policy, Shedding, together
from penstock.shed.sampling import Sampling
from penstock.shed.semantic import ByValue, valued_alone
from penstock.shed.window_shedding import BOUNDED, WindowShedding
from penstock.stats.load import LoadModel


class AutoShedding:
    """Each query's own way of losing."""

    name = "auto"

    def __init__(self, seed: int = 0) -> None:
        windows = WindowShedding(seed, BOUNDED, shuts=False)
        self._parts: tuple[Policy, ...] = (Sampling(seed), ByValue(seed, _others), windows)

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        return together(self._parts, plan, load, excess)


def _others(network: Network) -> dict[str, str]:
    """The queries that lose by sampling or by windows."""
    return spared(network) | valued_alone(network)
