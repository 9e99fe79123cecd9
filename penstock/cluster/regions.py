"""Solver and Solver-W: plans for regions of the input-rate space, found by dividing it where the error is largest.

The score never falls when a rate rises. So for all points between a region's bottom q and top p, the plan made at q
(after scaling down to q) scores at least (1 - e) of the optimum, e = (score p - score q) / score p. Starting from the
whole space, the region with the largest error (Solver) or probability times error (Solver-W) is divided, until the
largest error, or the sum of expected errors, is at most epsilon. Stopping earlier leaves a valid division with a
known bound. A region whose top is feasible needs no plan.

Up to `MOST_HALVED` inputs a region is halved along every input, as in the thesis; with more inputs along the one that
the prices of the linear program hold responsible for most of the difference, since 2^m parts at once are too many.

Reference: Tatbul, sections 5.4.1 and 5.4.2.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.cluster.flows import Floats
from penstock.cluster.workload import Workload

# 2^3 parts at most; beyond that one input is halved at a time.
MOST_HALVED = 3

Corner: TypeAlias = tuple[float, Floats, Floats]
Whole: TypeAlias = NDArray[np.int64]
Solve: TypeAlias = Callable[[Floats], Corner]


def throughput_error(solve: Solve, low: Floats, high: Floats) -> float:
    """The share of the optimum that the plan made at `low` can miss between `low` and `high`."""
    best, worst = solve(high)[0], solve(low)[0]
    return max(0.0, 1.0 - worst / best) if best > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Space:
    """What the division needs to know: the top of the space, which points are feasible, the plan at a point, and the
    error of a region.

    `solve` gives the best score, the flows, and per input the score that one more tuple per second brings. A region
    uses the plan of its bottom, or where `anchored_high` of its top.
    """

    top: Floats
    feasible: Callable[[Floats], bool]
    solve: Solve
    error: Callable[[Solve, Floats, Floats], float] = throughput_error
    anchored_high: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """A division and its quadtree index, as flat arrays: region k is divided at `middles[k]` along the inputs in the
    bit mask `halved[k]` into regions from `children[k]` on, or is a leaf (-1) that uses plan `plans[k]` (-1 where
    nothing need be dropped). Plan n was made at `anchors[n]`."""

    tops: Floats
    middles: Floats
    halved: Whole
    children: Whole
    plans: Whole
    errors: Floats
    anchors: Floats
    flows: Floats
    bound: float
    expected: float
    solved: int

    def find(self, rates: Floats) -> int:
        """The leaf that holds these rates."""
        return int(_descend(self.middles, self.halved, self.children, rates))

    @property
    def leaves(self) -> NDArray[np.intp]:
        """The regions that are not divided further."""
        return np.flatnonzero(self.children < 0)


@njit(cache=True)
def _descend(middles: Floats, halved: Whole, children: Whole, rates: Floats) -> int:
    region = 0
    while children[region] >= 0:
        part, bit = 0, 1
        for i in range(rates.size):
            if halved[region] >> i & 1:
                if rates[i] >= middles[region, i]:
                    part += bit
                bit *= 2
        region = children[region] + part
    return region


@dataclass(slots=True)
class _Division:
    """A division in the making."""

    space: Space
    workload: Workload | None
    solved: dict[bytes, Corner] = field(default_factory=dict)
    lows: list[Floats] = field(default_factory=list)
    highs: list[Floats] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    halved: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    queue: list[tuple[float, int]] = field(default_factory=list)

    def corner(self, point: Floats) -> Corner:
        """The plan at a point, solved once."""
        name = point.tobytes()
        if name not in self.solved:
            self.solved[name] = self.space.solve(point)
        return self.solved[name]

    def add(self, low: Floats, high: Floats) -> None:
        """A new leaf, put in the queue if it can be infeasible and has an error."""
        error, weight = 0.0, 1.0
        if not self.space.feasible(high):
            error = self.space.error(self.corner, low, high)
        if self.workload is not None:
            weight = self.workload.probability(low, np.where(high >= self.space.top, np.inf, high))
        for column, value in ((self.lows, low), (self.highs, high)):
            column.append(value)
        self.errors.append(error)
        self.weights.append(weight)
        self.halved.append(0)
        self.children.append(-1)
        if error > 0:
            heapq.heappush(self.queue, (-error * weight, len(self.lows) - 1))

    def divide(self, region: int) -> None:
        """Halve a leaf."""
        low, high = self.lows[region], self.highs[region]
        dims = self.dimensions(low, high)
        middle = (low + high) / 2
        self.halved[region] = sum(1 << int(i) for i in dims)
        self.children[region] = len(self.lows)
        for part in range(1 << len(dims)):
            upper = np.zeros(len(low), dtype=bool)
            upper[dims] = [part >> b & 1 for b in range(len(dims))]
            halves = np.isin(np.arange(len(low)), dims)
            self.add(np.where(halves & upper, middle, low), np.where(halves & ~upper, middle, high))

    def dimensions(self, low: Floats, high: Floats) -> NDArray[np.intp]:
        """The inputs along which to halve."""
        if len(low) <= MOST_HALVED:
            return np.arange(len(low))
        gain = self.corner(low)[2] * (high - low)
        widths = np.where(gain > 0, gain, 1e-12 * (high - low) / np.maximum(self.space.top, 1e-300))
        return np.array([int(np.argmax(widths))])


def divided(space: Space, epsilon: float, most_plans: int, workload: Workload | None = None) -> Regions:
    """The division of a space down to error `epsilon` (a share), or until `most_plans` programs have been solved."""
    work = _Division(space, workload)
    work.add(np.zeros(len(space.top)), space.top)
    expected = work.errors[0] * work.weights[0]
    while work.queue and len(work.solved) < most_plans:
        if (-work.queue[0][0] if workload is None else expected) <= epsilon:
            break
        value, region = heapq.heappop(work.queue)
        before = len(work.lows)
        work.divide(region)
        expected += value + sum(e * w for e, w in zip(work.errors[before:], work.weights[before:], strict=True))
    return _indexed(work, max(expected, 0.0))


def _indexed(work: _Division, expected: float) -> Regions:
    """The flat arrays of a finished division: one plan per distinct anchor of a leaf that can be infeasible."""
    lows, highs, children = np.array(work.lows), np.array(work.highs), np.array(work.children)
    errors, anchored = np.array(work.errors), highs if work.space.anchored_high else lows
    plans = np.full(len(lows), -1)
    known: dict[bytes, int] = {}
    for leaf in np.flatnonzero(children < 0):
        if not work.space.feasible(highs[leaf]):
            plans[leaf] = known.setdefault(anchored[leaf].tobytes(), len(known))
    anchors = np.array([np.frombuffer(name) for name in known]).reshape(len(known), lows.shape[1])
    flows = np.array([work.corner(point)[1] for point in anchors])
    bound = float(errors[children < 0].max(initial=0.0))
    return Regions(
        work.space.top,
        (lows + highs) / 2,
        np.array(work.halved),
        children,
        plans,
        errors,
        anchors,
        flows,
        bound,
        expected,
        len(work.solved),
    )
