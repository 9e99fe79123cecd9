"""Shedding by hand: a stated share of the network's load goes, whatever the clock says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.control.loop import MODES, Proposal
from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.running import Plan, SetDrops, ShutDown
from penstock.shed import POLICIES, Policy, Shedding
from penstock.stats.load import LoadModel
from penstock.stats.snapshot import Snapshot

_KEYS: Final = ("policy", "excess", "mode")


@dataclass(frozen=True, slots=True)
class Order:
    """What `shed={"policy": ..., "excess": ..., "mode": ...}` says, checked."""

    policy: str
    excess: float
    mode: str = "on"

    @classmethod
    def of(cls, wish: Mapping[str, Any]) -> Order:
        """The order in `wish`; raises PenstockError.

        >>> Order.of({"policy": "random", "excess": 0.4})
        Order(policy='random', excess=0.4, mode='on')
        """
        names = [name for name, _ in POLICIES]
        mistakes = [unknown("key of shed", key, _KEYS) for key in wish if key not in _KEYS]
        policy, excess, mode = wish.get("policy", "auto"), wish.get("excess", 0.0), wish.get("mode", "on")
        if policy not in names:
            mistakes.append(unknown("policy", str(policy), names))
        if isinstance(excess, bool) or not isinstance(excess, int | float) or not 0 <= excess <= 1:
            mistakes.append(Diagnostic(f"excess = {excess!r} is no share of the load", help="between 0 and 1"))
        if mode not in MODES:
            mistakes.append(unknown("mode of shedding", str(mode), MODES))
        if mistakes:
            raise PenstockError(*mistakes)
        return cls(policy, float(excess), mode)

    def maker(self, seed: int) -> Policy:
        """The policy, made from `seed`."""
        return dict(POLICIES)[self.policy](seed)


@dataclass(slots=True)
class Excess:
    """The strategy: `load` is known beforehand, so the plan is made once and stays."""

    order: Order
    load: LoadModel
    seed: int = 0
    name: str = "shedding"
    shedding: Shedding = field(default_factory=Shedding)
    _made: bool = False

    @property
    def shortfall(self) -> float:
        """The share of the load that should go and does not, because promises outrank it."""
        load = self.load.load()
        return self.shedding.shortfall / load if load else 0.0

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        """The policy's plan, where another one is in force."""
        if not self._made:
            policy = self.order.maker(self.seed)
            self.shedding = policy.shed(plan, self.load, self.order.excess * self.load.load())
            self._made = True
        why = f"{self.order.excess:.0%} of the load is to go"
        proposals = []
        if self.shedding.drops != plan.drops:
            proposals.append(Proposal(SetDrops(self.shedding.drops), why))
        if self.shedding.shut_down != plan.shut_down:
            proposals.append(Proposal(ShutDown(self.shedding.shut_down), why))
        return proposals
