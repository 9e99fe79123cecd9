"""What orders the filters of one operator: statistics in, a better order out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.adapt.matrix_view import FULL, NEVER, MatrixView
from penstock.adapt.orders import Statistics, tuple_costs
from penstock.plan.filters import Order, Profiling, guessed_costs, protectors
from penstock.plan.node import Node
from penstock.stats.profile_window import ProfileWindow, Timed
from penstock.stats.snapshot import FilterProfile

Array = npt.NDArray[Any]
ENOUGH = 64
"""Profile tuples without which no order is said to be better than another: the standard error of a share is 6%."""
SURE = 2.0
"""Standard errors by which a gain must exceed none to be proposed: among filters that are alike, one pair or another
looks different by one error in every other window."""
MOST = 4096
"""Sampled rows after which a window that is not full yet counts as full: hardly anything is dropped."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of one operator: for each those that must stay before it, as bits, and what it is guessed to cost."""

    protectors: tuple[int, ...]
    costs: tuple[float, ...]

    @classmethod
    def of(cls, node: Node) -> Filters:
        """Those of `node`."""
        return cls(protectors(node), guessed_costs(node))

    def __len__(self) -> int:
        return len(self.costs)


@dataclass(frozen=True, slots=True)
class Better:
    """The order that an algorithm prefers, the factor by which a tuple's expected cost falls with it, and why.

    error   the standard error of that gain, by how the tuples differ from one another
    """

    order: Order
    gain: float
    why: str
    error: float = 0.0

    @property
    def sure(self) -> bool:
        """True where chance would hardly have shown as much."""
        return self.gain - SURE * self.error > 1


class Ordering(Protocol):
    """One of the algorithms of Babu 4.3 to 4.6, for one operator. It is a profiler and decides on an order."""

    def wants(self, order: Order) -> Profiling | None:
        """What is to be measured while `order` is in force; None for nothing."""

    def see(self, measured: FilterProfile) -> None:
        """Takes in what was measured since the last time, under the order that was last asked about."""

    def better(self, order: Order) -> Better | None:
        """The order that should replace `order`; None where that is good."""


class Windowed:
    """What A-Greedy and its variants share: a profile window, the view entries that they need of it, and averages of
    processing times.

    `rate` is the drop-profiling probability, `tuples` the window's size, `alpha` the thrashing-avoidance parameter.
    """

    shape = FULL

    def __init__(self, filters: Filters, rate: float, tuples: int, alpha: float, seed: int = 0) -> None:
        self.filters = filters
        self.rate = rate
        self.alpha = alpha
        self.seed = seed
        self.window = ProfileWindow(tuples, len(filters))
        self.view = MatrixView(range(len(filters)), self.shape, 0, filters.protectors)
        self.sampled = self.dropped = 0

    def see(self, measured: FilterProfile) -> None:
        """The view follows the window, tuple by tuple."""
        self.sampled += measured.sampled
        self.dropped += len(measured.bits)
        if self.dropped > 2 * self.window.size:
            self.sampled, self.dropped = self.sampled // 2, self.dropped // 2
        self.window.time(Timed(len(measured.bits), measured.seconds, measured.rows))
        gone = self.window.push(measured.bits)
        self.view.count(gone, -1)
        self.view.count(measured.bits[-self.window.size :], 1)

    @property
    def costs(self) -> Array:
        """The filters' average processing times."""
        return self.window.unit_costs(self.filters.costs)

    def statistics(self) -> Statistics:
        """The window as a set of tuples, those that pass in proportion."""
        bits = self.window.bits()
        passing = len(bits) * (self.sampled - self.dropped) / max(1, self.dropped)
        return Statistics(bits, self.costs, passing, self.filters.protectors)

    def follow(self, order: Order) -> None:
        """The view under `order`, where that is not the one it has."""
        if order != tuple(self.view.order.tolist()):
            self.view.order[:] = order
            self.view.scan(self.window.bits())

    def compared(self, before: Order, after: Order, why: str) -> Better | None:
        """`after`, with what is expected of it: less than 1 where the greedy order is not the best, which the change
        gate then refuses; None where nothing changes."""
        if after == before:
            return None
        known = self.statistics()
        old, new = tuple_costs(before, known), tuple_costs(after, known)
        tuples = max(1.0, len(old) + known.passing)
        most = known.passing * float(known.costs.sum())
        spent = max(1e-15, (float(new.sum()) + most) / tuples)
        # A tuple that passes costs both orders the same: it adds nothing to the difference, nor to its error.
        saved = old - new
        error = float(np.sqrt(max(0.0, float((saved**2).sum()) / tuples - (float(saved.sum()) / tuples) ** 2) / tuples))
        return Better(after, 1 + float(saved.sum()) / tuples / spent, why, error / spent)

    def why(self, place: int, order: Order) -> str:
        """The violation in words."""
        row = self.view.entries[0 if self.shape != FULL else place]
        return (
            f"of {len(self.window)} profile tuples, filter {order[place]} in place {place + 1} drops less for its cost "
            f"({int(row[place])} tuples) than one behind it"
        )


class Greedy(Windowed):
    """Base of those that correct a violation of the greedy invariant at once, from the window."""

    def wants(self, order: Order) -> Profiling | None:
        """Every filter's verdict: on all rows until the window is full, then on the share `rate` of them."""
        full = len(self.window) == self.window.size or self.sampled >= MOST
        return Profiling(self.rate if full else 1.0, seed=self.seed)

    def better(self, order: Order) -> Better | None:
        """The order after figure 4.7, where figure 4.6 finds a violation."""
        self.follow(order)
        if len(self.window) < ENOUGH:
            return None
        place = self.view.violation(self.costs, self.alpha)
        if place == NEVER:
            return None
        return self.compared(order, self.corrected(), self.why(place, order))

    def corrected(self) -> Order:
        """The order without violations; the view stays as it is until that order is in force."""
        view = self.view.copy()
        view.correct(self.costs, self.window.bits(), self.alpha)
        return tuple(int(f) for f in view.order)
