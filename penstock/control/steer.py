"""From what a user asks for to the loop that does it: which strategies watch a network, and with what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.control.loop import Loop, Strategy
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan


@dataclass(frozen=True, slots=True)
class Wishes:
    """The keywords of `penstock.testing.evaluate` and of a run that ask for plans that change."""

    shed: Mapping[str, Any] | None = None
    filters: str | None = None
    controller: str | None = None
    clock: str | None = None
    seed: int = 0


def steer(network: Network, wishes: Wishes) -> Loop | None:
    """The loop over `network`, None where nothing that changes was asked for."""
    asked = {n: v for n in ("shed", "filters", "controller", "clock") if (v := getattr(wishes, n)) is not None}
    if asked:
        raise PenstockError(*(Diagnostic(f"{name} = {value!r} is not available yet") for name, value in asked.items()))
    strategies: list[Strategy] = []
    return Loop(Plan(optimize(network)), strategies) if strategies else None
