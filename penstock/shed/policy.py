"""What a policy is: told how much must go, it says where tuples are dropped, and which (Tatbul 3.1, 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
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
    errors     the relative error that the estimates of queries are expected to have
    """

    drops: tuple[Placed, ...] = ()
    shut_down: tuple[str, ...] = ()
    saved: float = 0.0
    shortfall: float = 0.0
    lost: float = 0.0
    errors: tuple[tuple[str, float], ...] = ()


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


def together(parts: Sequence[Policy], plan: Plan, load: LoadModel, excess: float) -> Shedding:
    """What several policies do that look after different queries: each takes the part of the excess that what it could
    save is of what all could."""
    if excess <= 0:
        return Shedding()
    reach = [part.shed(plan, load, load.load()).saved for part in parts]
    whole = sum(reach)
    if whole <= 0:
        return Shedding(shortfall=excess)
    share = min(1.0, excess / whole)
    done = [p.shed(plan, load, share * r) for p, r in zip(parts, reach, strict=True) if r > 0]
    saved = sum(d.saved for d in done)
    return Shedding(
        tuple(p for d in done for p in d.drops),
        tuple(q for d in done for q in d.shut_down),
        saved,
        excess - saved if saved < excess * (1 - 1e-6) else 0.0,
        sum(d.lost for d in done),
        tuple(e for d in done for e in d.errors),
    )
