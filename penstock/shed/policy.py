"""What a policy is: told how much must go, it says where tuples are dropped, and which (Tatbul 3.1, 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from penstock.plan.drops import Placed
from penstock.plan.running import Plan
from penstock.stats.load import LoadModel


@dataclass(frozen=True, slots=True)
class Shedding:
    """What a policy would do.

    drops      all drops that are to be in place, no others
    shut_down  queries that cannot keep their promise at this load, and deliver nothing
    saved      processor seconds a second that this saves, by the load model
    shortfall  what is missing of the excess: subset and gap promises outrank it
    lost       utility that the queries lose by it, on the scale of their loss functions (1 a query)
    """

    drops: tuple[Placed, ...] = ()
    shut_down: tuple[str, ...] = ()
    saved: float = 0.0
    shortfall: float = 0.0
    lost: float = 0.0


class Policy(Protocol):
    """Decides where to shed, and what. A pure function of its arguments, but for what it keeps to be quick."""

    @property
    def name(self) -> str:
        """What users call it."""

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """The drops under which the network needs `excess` processor seconds a second less than without any.

        `plan` has the network; the drops that are in it now do not count. `load` is what the network needs without
        drops.
        """
