"""The parameters a, b0 and b1 of the feedback controller, by pole placement (Pham equation 6, after Tu et al. 2006).

The plant, per control period k of length T. A load v(k) is let in, a load H T is worked off, so the queued load grows
by u(k) = v(k) - H T, and what comes in next has to wait for what is queued (Pham equation 5):

    qL(k) = qL(k-1) + u(k)          y(k+1) = qL(k) / H          so Y/U = 1 / (H (z - 1))

The controller, with e = D - y (the print of the paper has the opposite sign, with which the loop would run away):

    u(k) = H (b0 e(k) + b1 e(k-1)) - a u(k-1)                   so U/E = H (b0 z + b1) / (z + a)

Closed, the loop has the characteristic polynomial

    (z - 1)(z + a) + b0 z + b1 = z^2 + (a - 1 + b0) z + (b1 - a)

Two poles at p mean a - 1 + b0 = -2p and b1 - a = p^2: one of the three is free. It is the controller's own pole -a,
which says for how long the last decision counts. With -a = 0.8 and p = 0.7: b0 = 0.4, b1 = -0.31, as in the paper.

Where decisions act on a whole micro-batch, the tuples that u(k) let in are worked off one batch later: one period of
dead time, Y/U = 1 / (H z (z - 1)). The polynomial becomes

    z (z - 1)(z + a) + b0 z + b1 = z^3 + (a - 1) z^2 + (b0 - a) z + b1

Three poles at p mean a = 1 - 3p, b0 = 3p^2 + a, b1 = -p^3: nothing is free any more, and the controller itself is
stable only for p < 2/3. With p = 0.6: a = -0.8, b0 = 0.28, b1 = -0.216. The gains without dead time, used in a loop
that has it, keep it stable, with two of three poles off the real axis: a step overshoots by 16% instead of 5%.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import PenstockError

CONTROLLER_POLE = 0.8
"""Where the controller's own pole lies when the choice is free, as in CTRL."""


@dataclass(frozen=True, slots=True)
class Gains:
    """`a`, `b0` and `b1` of Pham equation 6."""

    a: float
    b0: float
    b1: float

    def poles(self, dead_periods: int = 0) -> list[float]:
        """How far from 0 the poles of the closed loop lie, farthest first: below 1 it is stable.

        >>> [round(p, 3) for p in CTRL_GAINS.poles()]
        [0.7, 0.7]
        """
        plant = np.polymul([1.0, -1.0], [1.0, self.a])
        closed = np.polyadd(np.append(plant, np.zeros(dead_periods)), [self.b0, self.b1])
        return sorted(np.abs(np.roots(closed)).tolist(), reverse=True)


CTRL_GAINS = Gains(a=-0.8, b0=0.4, b1=-0.31)
"""The parameters of CTRL, for a loop without dead time: both poles at 0.7."""


def placed(pole: float, dead_periods: int = 0) -> Gains:
    """The gains that put every pole of the closed loop at `pole`, with no or one period of dead time.

    >>> gains = placed(0.6, dead_periods=1)
    >>> round(gains.a, 3), round(gains.b0, 3), round(gains.b1, 3)
    (-0.8, 0.28, -0.216)
    """
    if dead_periods == 0 and 0 <= pole < 1:
        a = -CONTROLLER_POLE
        return Gains(a, b0=1 - a - 2 * pole, b1=pole**2 + a)
    if dead_periods == 1 and 0 <= pole < 2 / 3:
        a = 1 - 3 * pole
        return Gains(a, b0=3 * pole**2 + a, b1=-(pole**3))
    raise PenstockError(
        f"no gains put the poles at {pole} with {dead_periods} periods of dead time: "
        "without dead time a pole lies from 0 to 1, with one period from 0 to 2/3"
    )
