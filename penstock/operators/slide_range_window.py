"""`[Range size Slide slide]` as a relation: it holds the last ended window until the next one ends.

Window k covers [origin + k * slide, origin + k * slide + size). A tuple enters when the first window that covers it
ends and leaves when the first window after its last ends, so both moments follow from its timestamp alone, and no
window is ever looked at for its own sake:

    [Range 4 Slide 2]    0   1   2   3   4   5   6   7   8   9   10
    tuples                       a       b
    window 0             |---------------)
    window 1                     |---------------)
    window 2                             |---------------)
    content                              a       ab      b       (b leaves at 10, where window 3 ends without it)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from penstock.operators.base import Context, Operator, Row, Snapshot, Stream, Timeline
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.kernels.window_runs import EMPTY, window_runs
from penstock.operators.store_window import StoreWindow, clamped, stamped
from penstock.plan.nodes import Window
from penstock.plan.windows import END, SlideRange


class SlideRangeWindow(StoreWindow):
    """Rows [stub.low, entered) are in the content, rows [entered, next) wait for a window that covers them to end."""

    def __init__(self, node: Window, context: Context) -> None:
        spec = cast(SlideRange, node.spec)
        super().__init__(node, context, private=spec.slide > spec.size)
        self.size, self.slide, self.origin = int(spec.size), int(spec.slide), int(spec.origin)
        self.entered = self.next

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Rows enter and leave with the windows that end before `until`."""
        self.append(self.covered(self.ordered(inputs[0])))
        low, entered = self.stub.low, self.entered
        last = self.last_ended(until)
        stop = self._first_from(low, self.origin + last * self.slide)
        self.entered = self._first_from(entered, self.origin + last * self.slide + self.size)
        leave_ts, enter_ts = self.leaves(self.ts(low, stop)), self.enters(self.ts(entered, self.entered))
        out = self.emitted(leave_ts, low, enter_ts, entered)
        self.stub.release(stop)
        return out

    def next_instant(self) -> int | None:
        """When the next row enters or leaves."""
        content, waiting = self.ts(self.stub.low, self.entered)[:1], self.ts(self.entered, self.next)[:1]
        moments = [*self.leaves(content).tolist(), *self.enters(waiting).tolist()]
        return stamped(min(moments)) if moments else None

    def covered(self, train: Train) -> Train:
        """Without the tuples between windows, where the slide is longer than the size."""
        if not self.private:
            return train
        return train.where((train.ts - self.origin) % self.slide < self.size)

    def last_ended(self, until: int) -> int:
        """The last window that ends before `until`."""
        return (min(until, END) - 1 - self.origin - self.size) // self.slide

    def enters(self, ts: Array) -> Array:
        """When the first window that covers `ts` ends."""
        return self.origin + ((ts - self.origin - self.size) // self.slide + 1) * self.slide + self.size

    def leaves(self, ts: Array) -> Array:
        """When the first window that starts after `ts` ends."""
        return self.origin + ((ts - self.origin) // self.slide + 1) * self.slide + self.size

    def _first_from(self, row: int, instant: int) -> int:
        """The first row from `row` on that is stamped at or after `instant`."""
        return row + int(self.ts(row, self.next).searchsorted(clamped(instant)))


class BoundedSlideRangeWindow(SlideRangeWindow):
    """Each row also has its window's bounds, so the whole content changes whenever a window ends.

    `window` is the window whose rows, [stub.low, entered), are in the content.
    """

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        self.window = EMPTY

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """The windows that end before `until` come and go; those without rows are passed over."""
        self.append(self.covered(self.ordered(inputs[0])))
        low = self.stub.low
        shape = np.array([self.origin, self.slide, self.size])
        state = np.array([self.window, 0, self.entered - low])
        runs = window_runs(self.ts(low, self.next), shape, self.last_ended(until), state)
        runs[2] += low
        out = self.bounded(runs)
        self.window, self.entered = int(state[0]), low + int(state[2])
        self.stub.release(low + int(state[1]))
        return out

    def next_instant(self) -> int | None:
        """When the content's window is followed by the next, or the first row's window ends."""
        if self.stub.low < self.entered:
            return stamped(self.origin + (self.window + 1) * self.slide + self.size)
        first = self.ts(self.entered, self.next)[:1]
        return stamped(int(self.enters(first)[0])) if len(first) else None


def build(node: Window, context: Context) -> Operator:
    """The running operator."""
    return BoundedSlideRangeWindow(node, context) if node.bounds else SlideRangeWindow(node, context)


def reference(node: Window, stream: Stream) -> Timeline:
    """Every window that covers a tuple, and the one after it: each the content from its end on."""
    spec = cast(SlideRange, node.spec)
    origin, slide, size = int(spec.origin), int(spec.slide), int(spec.size)
    windows = sorted({w for e in stream for k in _covering(e.ts - origin, slide, size) for w in (k, k + 1)})
    timeline = []
    for start in (origin + k * slide for k in windows if origin + k * slide + size < END):
        rows = [e.row for e in stream if start <= e.ts < start + size]
        timeline.append(Snapshot(start + size, [_bounded(node, row, start, start + size) for row in rows]))
    return timeline


def _covering(offset: int, slide: int, size: int) -> list[int]:
    """The windows k with k * slide <= offset < k * slide + size."""
    last = offset // slide
    return [k for k in range(last - size // slide - 1, last + 1) if k * slide <= offset < k * slide + size]


def _bounded(node: Window, row: Row, start: int, end: int) -> Row:
    return (*row, start, end) if node.bounds else row
