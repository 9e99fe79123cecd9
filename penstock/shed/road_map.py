"""The Load Shedding Road Map (Tatbul 3.5): plans that shed more and more, each the one before it and a step.

At every step the next drop goes to the location at which the least utility is lost for the processor time gained. At an
arc that several queries share, a query loses only where it is *tight*: where nothing below the arc already drops more.
So loss and gain are computed anew, over what is tight, at every step; then the plans lie on the hull of the optimum for
fan-out trees with concave utilities and free drops. A step ends where some slope changes, so that between two rows
everything runs in straight lines and a plan for any load is read off; it is at most `step` long.

A row is what the thesis calls <Cycle Savings Coefficients, Drop Insertion Plan, Percent Delivery Cursors>: `savings`,
`plan` (from the caps: a cap below what arrives is a drop, so that drops merge and are pushed towards the inputs by
themselves) and `cursors`.

A drop costs processor time itself. A location whose tuples cost no more than a drop on them is left out, and the first
step at a location is long enough to pay for the drop twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.plan.drops import Location
from penstock.shed.flows import Flows
from penstock.shed.shares import TIGHT, Floats, Ints, Shares

STEP: Final = 0.05
"""The longest step, as a share of what comes to a location in full."""
PAYS: Final = 2.0
"""The first step at a location gains so many times what the drop costs there."""
LEAST: Final = 1e-7
"""Shares below this are none."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A plan: `caps` are the shares left at the candidate locations (locations x cells)."""

    saved: float
    caps: Floats
    cursors: Floats
    lost: float


@dataclass(frozen=True, slots=True, eq=False)
class RoadMap:
    """The rows by rising `saved`; the first sheds nothing."""

    flows: Flows
    saved: Floats
    caps: Floats
    cursors: Floats
    lost: Floats
    load: float

    def __len__(self) -> int:
        return len(self.saved)

    @property
    def locations(self) -> tuple[Location, ...]:
        """The candidate drop locations."""
        return self.flows.locations

    def search(self, excess: float, cursor: int = 0) -> int:
        """The first row that saves `excess`, or the last row. The search goes from `cursor` in either direction, in
        strides that double, as load rises and falls by little most of the time.
        """
        low = high = min(max(cursor, 0), len(self) - 1)
        stride = 1
        while self.saved[high] < excess and high < len(self) - 1:
            low, high, stride = high, min(high + stride, len(self) - 1), stride * 2
        stride = 1
        while low > 0 and self.saved[low] >= excess:
            low, high, stride = max(low - stride, 0), low, stride * 2
        found = low + int(np.searchsorted(self.saved[low : high + 1], excess - 1e-12))
        return min(found, high)

    def row(self, excess: float, cursor: int = 0) -> tuple[int, Row]:
        """The number of the row for `excess`, and what saves that much and no more: between two rows, a part of the
        step from one to the other."""
        i = self.search(excess, cursor)
        if i == 0 or self.saved[i] <= excess:
            return i, self._at(i)
        part = (excess - self.saved[i - 1]) / (self.saved[i] - self.saved[i - 1])
        caps = self.caps[i - 1] + part * (self.caps[i] - self.caps[i - 1])
        between = measured(self.flows, caps, self.load)
        return i, between if between.saved >= excess - 1e-9 * self.load else self._at(i)

    def _at(self, i: int) -> Row:
        return Row(float(self.saved[i]), self.caps[i], self.cursors[i], float(self.lost[i]))


def measured(flows: Flows, caps: Floats, load: float) -> Row:
    """What a plan with these caps saves and loses."""
    shares = flows.shares
    full = np.full(shares.load.shape, np.inf)
    full[list(flows.caps)] = caps
    left = shares.forward(full)
    lost = float((shares.utility(np.ones_like(left)) - shares.utility(left)).sum())
    return Row(load - shares.needed(left, full), left[list(flows.caps)], shares.delivered(left), lost)


def build(flows: Flows, step: float = STEP) -> RoadMap:
    """The road map of a network: from no drop to dropping everything at every candidate location."""
    load = float(flows.shares.load.sum())
    rows = list(_rows(flows, step, load))
    return RoadMap(
        flows,
        np.array([r.saved for r in rows]),
        np.array([r.caps for r in rows]).reshape(len(rows), len(flows.caps), flows.shares.load.shape[1]),
        np.array([r.cursors for r in rows]),
        np.array([r.lost for r in rows]),
        load,
    )


def _rows(flows: Flows, step: float, load: float) -> Iterator[Row]:
    greedy = _Greedy(flows, step)
    full = greedy.shares.utility(greedy.left).sum()
    saved = -1.0
    while True:
        row = greedy.row(load, full)
        if row.saved > saved + 1e-12 * load:
            saved = row.saved
            yield row
        if not greedy.advance():
            return


class _Greedy:
    """Takes step after step. `caps` are over all shares, infinite where nothing is dropped; `left` is what they leave,
    `delivered` what they leave of the results."""

    def __init__(self, flows: Flows, step: float) -> None:
        self.shares: Shares = flows.shares
        self.at = np.array(flows.caps, np.intp)
        self.below = np.array(flows.below, np.intp)
        self.coarse = np.array(flows.coarse or [False] * len(flows.caps), np.bool_)
        self.step = step
        self.straight = not any(len(layer.joined) for layer in self.shares.layers)
        self.caps = np.full(self.shares.load.shape, np.inf)
        self.left = self.shares.forward(self.caps)
        self.delivered = self.shares.delivered(self.left)

    def row(self, load: float, full: float) -> Row:
        """Where it stands; `full` is the utility without drops."""
        saved = load - self.shares.needed(self.left, self.caps)
        lost = float(full - self.shares.utility(self.left, self.delivered).sum())
        return Row(saved, self.left[self.at], self.delivered, lost)

    def advance(self) -> bool:
        """One step further; False where nothing more can be gained."""
        if not len(self.at):
            return False
        slopes = self.shares.slopes(self.delivered)
        losses, gains = self.shares.backward(self.left, self.caps, slopes, self._spent(self.left))
        place, cell = self._choose(self.left, losses, gains)
        if place < 0:
            return False
        at = self.at[place]
        cells = np.flatnonzero(self._highest(at)) if self.coarse[place] else np.array([cell])
        falls = np.stack([self.shares.ahead(at, c, self.left, self.caps) for c in cells], axis=1)
        longest = max(self.step, self._first(place, self.left, gains))
        step = min(float(self.left[at, cell]), max(self._event(at, cells, falls), LEAST), longest)
        self._move(at, cells, step, falls)
        return True

    def _highest(self, at: int) -> NDArray[np.bool_]:
        """The cells of which the largest share is left: those that a drop on all cells takes from first."""
        left = self.left[at]
        highest: NDArray[np.bool_] = left >= left.max() - TIGHT
        return highest

    def _move(self, at: int, cells: Ints, step: float, falls: Floats) -> None:
        now = self.left[at, cells]
        step = float(now.max()) if now.max() - step < LEAST else step
        self.caps[at, cells] = now - step
        if self.straight:
            self.left[:, cells] = np.maximum(self.left[:, cells] - step * falls, 0.0)
        else:
            self.left = self.shares.forward(self.caps)
        self.delivered = self.shares.delivered(self.left)

    def _spent(self, left: Floats) -> Floats:
        """Processor time for a unit of each share: its flow's, and that of the active drops it comes to."""
        spent = self.shares.load
        if self.shares.drop_s:
            active = (left[self.below] > self.caps[self.at] + TIGHT).any(axis=1)
            spent = spent.copy()
            np.add.at(spent, self.below[active], self.shares.drop_s * self.shares.rate[self.at[active]])
        return spent

    def _choose(self, left: Floats, losses: Floats, gains: Floats) -> tuple[int, int]:
        """The candidate and the cell with the least loss for its gain; of equal ones that with the most gain."""
        loss, gain = self._over_cells(left, losses[self.at], gains[self.at])
        worthwhile = (left[self.at] > LEAST) & (gain > 1e-15)
        if self.shares.drop_s:
            step = np.maximum(self.step, self._first_steps(left, gains))[:, None]
            gain = np.where(self._idle(left)[:, None], gain - self._charge(left)[:, None] / step, gain)
            worthwhile &= (gain > 1e-15) & (step <= left[self.at] + LEAST)
        ratio = np.full(loss.shape, np.inf)
        np.divide(loss, gain, out=ratio, where=worthwhile)
        least = ratio.min()
        if not np.isfinite(least):
            return -1, 0
        best = np.where(ratio <= least * (1 + 1e-9) + 1e-15, gain, -1.0).argmax()
        place, cell = np.unravel_index(best, ratio.shape)
        return int(place), int(cell)

    def _over_cells(self, left: Floats, loss: Floats, gain: Floats) -> tuple[Floats, Floats]:
        """The same where cells can be told apart; elsewhere their sums over the cells that a drop takes from, in the
        place of one of these."""
        if not self.coarse.any():
            return loss, gain
        loss, gain = loss.copy(), gain.copy()
        for i in np.flatnonzero(self.coarse):
            highest = self._highest(self.at[i])
            first = int(highest.argmax())
            lost, gained = loss[i][highest].sum(), gain[i][highest].sum()
            loss[i], gain[i] = 0.0, 0.0
            loss[i, first], gain[i, first] = lost, gained
        return loss, gain

    def _idle(self, left: Floats) -> NDArray[np.bool_]:
        """Candidates without a drop so far."""
        idle: NDArray[np.bool_] = np.all(left[self.below] <= self.caps[self.at] + TIGHT, axis=1)
        return idle

    def _charge(self, left: Floats) -> Floats:
        """What a drop at each candidate costs a second."""
        charge: Floats = self.shares.drop_s * (self.shares.rate[self.at] * left[self.below]).sum(axis=1)
        return charge

    def _first_steps(self, left: Floats, gains: Floats) -> Floats:
        """How long the first step at each candidate is to be."""
        gain = gains[self.at].max(axis=1)
        steps = np.zeros(len(gain))
        np.divide(PAYS * self._charge(left), gain, out=steps, where=gain > 1e-15)
        return np.where(self._idle(left), steps, 0.0)

    def _first(self, place: int, left: Floats, gains: Floats) -> float:
        return float(self._first_steps(left, gains)[place]) if self.shares.drop_s else 0.0

    def _event(self, at: int, cells: Ints, falls: Floats) -> float:
        """How far the cap can fall until a slope changes: at a point of a graph, where a cap below gets tight, or
        where it takes from another cell, too."""
        shares = self.shares
        parts = shares.parts[:, cells] * np.isnan(shares.worth[:, cells])
        speed = (falls[shares.outputs] * parts).sum(axis=1)
        steps = [1.0, *_reached(self.delivered - shares.graphs.next_below(self.delivered), speed)]
        for i, cell in enumerate(cells):
            slack = self.left[self.below, cell] - self.caps[self.at, cell]
            steps += _reached(slack, np.where(slack > TIGHT, falls[self.below, i], 0.0))
        others = np.delete(self.left[at], cells)
        steps += [float(self.left[at, cells[0]] - others.max())] if len(cells) > 1 and len(others) else []
        return min(steps)


def _reached(distance: Floats, speed: Floats) -> Sequence[float]:
    """When each distance is covered at its speed."""
    moving = speed > 1e-12
    times: Sequence[float] = (distance[moving] / speed[moving]).tolist()
    return times
