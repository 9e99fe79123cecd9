"""Load against headroom (Tatbul 3.3.1; Pham II-B1)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.controllers.base import Amount, Reading


@dataclass(slots=True)
class Aurora:
    """Sheds what the input's load (Pham equation 1) is above the headroom, and a share of the queues besides.

    It knows no delay target: what it once let in too much stays in the queues, unless `melt_rate` melts them.

    | Tatbul      | here          | unit |                                                               |
    |-------------|---------------|------|---------------------------------------------------------------|
    | H x C       | `headroom`    | s/s  | what there is for the network                                 |
    | Q           | `queued_load` | s    | sum over the arcs of L_i q_i                                  |
    | MELT_RATE   | `melt_rate`   | 1/s  | the share of the queued load to take away each second         |

    Without `melt_rate` it is the scheme that Pham compares with.

    >>> Aurora(melt_rate=0.1).step(Reading(now_s=0, period_s=0.5, input_load=1.5, queued_load=2, target_s=2))
    Amount(excess=0.899..., why='load 1.5 and 0.2 of the queues over headroom 0.8')
    """

    melt_rate: float = 0.0
    name: str = "aurora"

    def step(self, reading: Reading) -> Amount:
        """The load above the headroom."""
        melting = self.melt_rate * reading.queued_load
        excess = max(0.0, reading.input_load + melting - reading.headroom)
        why = f"load {reading.input_load:.3g} and {melting:.3g} of the queues over headroom {reading.headroom:.3g}"
        return Amount(excess, why)
