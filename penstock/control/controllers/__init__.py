"""When to shed and how much: controllers, by name (Pham II, III)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.control.controllers.aurora import Aurora
from penstock.control.controllers.base import MISSING, Amount, Controller, Reading
from penstock.control.controllers.batches import Batches
from penstock.control.controllers.ctrl import Ctrl
from penstock.control.controllers.off import Off
from penstock.control.controllers.safe import Safe
from penstock.control.controllers.seamless import Seamless
from penstock.errors import PenstockError, unknown

CONTROLLERS: Final[Mapping[str, Callable[[], Controller]]] = {
    "seamless": Seamless,
    "ctrl": Ctrl,
    "aurora": Aurora,
    "off": Off,
}
"""The first is the default."""

FOR_BATCHES: Final[Mapping[str, Callable[[], Controller]]] = {**CONTROLLERS, "seamless": Batches}
"""The same where the whole input of a period waits at the gate when the decision is made."""

__all__ = ["CONTROLLERS", "FOR_BATCHES", "MISSING", "Amount", "Controller", "Reading", "Safe", "controller"]


def controller(name: str, batches: bool = False) -> Safe:
    """A new controller of this name, inside its fail-safe.

    >>> controller("aurora").name
    'aurora'
    """
    known = FOR_BATCHES if batches else CONTROLLERS
    if name not in known:
        raise PenstockError(unknown("controller", name, list(known)))
    made = known[name]()
    return Safe(made, large=0.15) if isinstance(made, Batches) else Safe(made)
