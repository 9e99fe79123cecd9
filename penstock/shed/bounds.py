"""How large an error a sampling rate leaves, and the rate that leaves an error: two bounds.

An estimate depends on its data by one number, `scatter` = (sigma^2 + mu^2) / (N mu^2): N tuples in a window, of mean mu
and deviation sigma (for an average sigma^2 / (N mu^2)).

| bound | relative error at rate P, exceeded with probability delta at most |
|---|---|
| `hoeffding` | (1 / P) sqrt(scatter / 2 ln(2 / delta)): equation 2, the logarithm under the root as it must be |
| `variance` | z sqrt((1 - P) / P scatter), z the quantile of the normal distribution |

The second is less than half the first and is exceeded as seldom (tests and benchmarks measure both), so it is the one
that is used; it also knows that at P = 1 there is no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist
from typing import Final, Protocol

from penstock.plan.estimates import MARGIN


class Bound(Protocol):
    """From rates to errors and back."""

    def error(self, rate: float, scatter: float, delta: float) -> float:
        """The relative error at `rate`."""

    def rate(self, error: float, scatter: float, delta: float) -> float:
        """The least rate, at most 1, whose relative error is no more than `error`."""


@dataclass(frozen=True, slots=True)
class Hoeffding:
    """Equation 2 as corrected.

    >>> bound = Hoeffding()
    >>> round(bound.rate(0.1, scatter=(5.0**2 + 10.0**2) / (1000 * 10.0**2), delta=0.01), 4)
    0.5755
    >>> round(bound.error(0.5755, scatter=1.25 / 1000, delta=0.01), 3)
    0.1
    """

    def error(self, rate: float, scatter: float, delta: float) -> float:
        """See `Bound`."""
        return sqrt(scatter / 2 * log(2 / delta)) / rate

    def rate(self, error: float, scatter: float, delta: float) -> float:
        """See `Bound`."""
        return min(1.0, sqrt(scatter / 2 * log(2 / delta)) / error)


@dataclass(frozen=True, slots=True)
class Variance:
    """By the variance of the estimate.

    >>> bound = Variance()
    >>> rate = bound.rate(0.1, scatter=1.25 / 1000, delta=0.01)
    >>> rate < Hoeffding().rate(0.1, scatter=1.25 / 1000, delta=0.01), round(bound.error(rate, 1.25 / 1000, 0.01), 6)
    (True, 0.1)
    """

    def error(self, rate: float, scatter: float, delta: float) -> float:
        """See `Bound`."""
        return self._quantile(delta) * sqrt((1 - rate) / rate * scatter)

    def rate(self, error: float, scatter: float, delta: float) -> float:
        """See `Bound`."""
        wide = self._quantile(delta) ** 2 * scatter
        return wide / (wide + error**2) if wide else 0.0

    @staticmethod
    def _quantile(delta: float) -> float:
        return NormalDist().inv_cdf(1 - MARGIN * delta / 2)


VARIANCE: Final = Variance()
HOEFFDING: Final = Hoeffding()
