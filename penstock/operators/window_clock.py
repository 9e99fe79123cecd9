"""What moves sliding windows on: time, an attribute, or the number of tuples. Each says in which windows a row lies.

Windows are numbered by their place (see `penstock.operators.axis.Slides`): a row lies in the windows `first` to
`last`, in none where first > last, and where it moves the clock itself, all windows below a number close with it.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol, cast

import numpy as np

from penstock.operators.axis import Axis, Slides
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.kernels import pane_log, panes
from penstock.operators.kernels.index import grown
from penstock.plan.nodes import WindowAggregate
from penstock.plan.windows import SlideRange, SlideRows

NEVER: Final = -(1 << 63)
SMALL: Final = 1 << 60
"""Below it, windows over time are found without leaving 64 bits."""


class Places(NamedTuple):
    """Of each row: the first and the last window it lies in, and the one below which all close after it (empty: none
    do).
    """

    first: Array
    last: Array
    closing: Array = np.zeros(0, np.int64)


class Clock(Protocol):
    """What the operator asks.

    overlap    a row may lie in two windows
    by_tuples  windows end with tuples, so that the order of tuples matters
    in_order   no row comes that leaves the windows before one that came earlier
    """

    overlap: bool
    by_tuples: bool
    in_order: bool

    def present(self, train: Train, context: Context) -> Train:
        """Without the rows that have no place."""

    def places(self, train: Train, partitions: Array, context: Context) -> Places:
        """Where the rows lie; `partitions` is empty where there is one."""

    def closing(self, until: int) -> int:
        """The window below which all close before the instant `until`."""

    def bounds(self, windows: Array) -> tuple[Array, Array, Array]:
        """Stamp, start and end of each window of a table (see `kernels.panes`)."""


class TimeClock:
    """Windows over time end with it."""

    by_tuples = False
    in_order = True

    def __init__(self, spec: SlideRange) -> None:
        self.slides = Slides(int(spec.origin), int(spec.slide), int(spec.size))
        self.overlap = spec.slide < spec.size

    def present(self, train: Train, context: Context) -> Train:
        """See `Clock`."""
        return train

    def places(self, train: Train, partitions: Array, context: Context) -> Places:
        """See `Clock`."""
        origin, slide, size = (int(n) for n in (self.slides.origin, self.slides.slide, self.slides.size))
        ts = train.ts
        if abs(origin) + slide + size < SMALL and (not len(ts) or max(-ts[0], ts[-1]) < SMALL):
            return Places(*panes.windows_over(ts, origin, slide, size))
        return Places(self.slides.first(ts), self.slides.last(ts))

    def closing(self, until: int) -> int:
        """See `Clock`."""
        return int(self.slides.first(np.array([until - 1]))[0])

    def bounds(self, windows: Array) -> tuple[Array, Array, Array]:
        """See `Clock`."""
        k = windows[:, pane_log.WINDOW]
        end = self.slides.end(k)
        return end, self.slides.start(k), end


class AttributeClock:
    """Windows over an attribute end with a tuple that carries it to their upper bound or past it."""

    by_tuples = True
    in_order = False

    def __init__(self, node: WindowAggregate, spec: SlideRange) -> None:
        self.on = node.input.schema.index(cast(str, spec.on))
        self.axis = Axis.over(node.input.schema.types[self.on], spec.size, spec.slide, spec.origin)
        self.axis.check_bounds()
        self.slides = Slides(*(self.axis.number(n) for n in (spec.origin, spec.slide, spec.size)))
        self.overlap = spec.slide < spec.size

    def present(self, train: Train, context: Context) -> Train:
        """See `Clock`."""
        _, present = self.axis.places(train.column(self.on), context.dictionaries)
        return train if present.all() else train.where(present)

    def places(self, train: Train, partitions: Array, context: Context) -> Places:
        """See `Clock`."""
        places, _ = self.axis.places(train.column(self.on), context.dictionaries)
        return Places(self.slides.first(places), self.slides.last(places))

    def closing(self, until: int) -> int:
        """Time ends no window."""
        return NEVER

    def bounds(self, windows: Array) -> tuple[Array, Array, Array]:
        """See `Clock`."""
        k = windows[:, pane_log.WINDOW]
        return windows[:, pane_log.STAMP], self.slides.start(k), self.slides.end(k)


class TupleClock:
    """Windows over rows end with their last tuple; `counts` has the number of tuples of each partition. Where tuples
    were dropped, those that are left bear their numbers (`ids`)."""

    by_tuples = True
    in_order = True

    def __init__(self, spec: SlideRows) -> None:
        self.slides = Slides(spec.origin, spec.slide, spec.count)
        self.overlap = spec.slide < spec.count
        self.counts: Array = np.zeros(1, np.int64)

    def present(self, train: Train, context: Context) -> Train:
        """See `Clock`."""
        return train

    def places(self, train: Train, partitions: Array, context: Context) -> Places:
        """See `Clock`."""
        parts = partitions if len(partitions) else np.zeros(len(train), np.int64)
        needed = int(parts.max(initial=0)) + 1
        if needed > len(self.counts):
            self.counts = grown(self.counts, 2 * needed)
        if train.ids is None:
            numbers = panes.numbered(parts, self.counts)
        else:
            numbers = train.ids
            np.maximum.at(self.counts, parts, numbers + 1)
        return Places(self.slides.first(numbers), self.slides.last(numbers), self.slides.first(numbers + 1))

    def closing(self, until: int) -> int:
        """Time ends no window."""
        return NEVER

    def bounds(self, windows: Array) -> tuple[Array, Array, Array]:
        """See `Clock`."""
        stamp = windows[:, pane_log.STAMP]
        return stamp, windows[:, pane_log.BEGINNING], stamp


def clock_of(node: WindowAggregate) -> Clock:
    """The clock of the node's windows."""
    spec = node.window
    if isinstance(spec, SlideRows):
        return TupleClock(spec)
    return AttributeClock(node, spec) if spec.on else TimeClock(spec)
