"""Gives tuples up: QoS, where to drop and which, the promise kept to each query, and what it cost.

`POLICIES` has every policy under the name that users give it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.shed.admission import CONTROLS, control
from penstock.shed.auto import AutoShedding
from penstock.shed.policy import Policy, Shedding
from penstock.shed.random_shedding import RandomShedding
from penstock.shed.sampling import SamplingShedding
from penstock.shed.semantic import SemanticShedding
from penstock.shed.window_shedding import WindowShedding

POLICIES: Final[tuple[tuple[str, Callable[[int], Policy]], ...]] = (
    ("auto", AutoShedding),
    ("random", RandomShedding),
    ("semantic", SemanticShedding),
    ("sampling", SamplingShedding),
    ("window", WindowShedding),
    *(control(*each) for each in CONTROLS),
)
"""Each policy's name and what makes one from a seed; it may keep what it has worked out from call to call. A new policy
is one new file and one line here."""

__all__ = ["POLICIES", "Policy", "Shedding"]
