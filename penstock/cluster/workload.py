"""How likely the input rates are: what Solver-W weighs its errors with.

Reference: Tatbul, sections 5.4.2 and 5.7.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.cluster.flows import Floats


class Workload(Protocol):
    """A distribution of input rates."""

    def probability(self, low: Floats, high: Floats) -> float:
        """The probability of low <= rates < high; `high` may be infinite."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Exponential:
    """Independent exponential rates; `means` are the expected rates (the thesis' lambda, in units of rate).

    >>> Exponential(np.array([1.0])).probability(np.array([0.0]), np.array([np.inf]))
    1.0
    """

    means: Floats

    def probability(self, low: Floats, high: Floats) -> float:
        """The product of the inputs' probabilities."""
        return float(np.prod(np.exp(-low / self.means) - np.exp(-high / self.means)))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Some rates."""
        return rng.exponential(self.means, (count, len(self.means)))


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Rates that were measured, one row per observation.

    >>> Observed(np.array([[1.0], [2.0], [3.0], [4.0]])).probability(np.array([2.0]), np.array([4.0]))
    0.5
    """

    rates: Floats

    def probability(self, low: Floats, high: Floats) -> float:
        """The share of observations inside."""
        return float(((self.rates >= low) & (self.rates < high)).all(axis=1).mean())
