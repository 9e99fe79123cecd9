"""No load is shed, whatever happens."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.controllers.base import Amount, Reading


@dataclass(slots=True)
class Off:
    """What everything is compared with.

    >>> Off().step(Reading(now_s=0, period_s=0.5, input_load=9, queued_load=40, target_s=2))
    Amount(excess=0.0, why='off')
    """

    name: str = "off"

    def step(self, reading: Reading) -> Amount:
        """Nothing goes."""
        return Amount(0.0, "off")
