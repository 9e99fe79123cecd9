"""`[Rows count Slide slide]` as a relation: it holds the last ended window until the next one ends.

Window k covers the tuples numbered [origin + k * slide, origin + k * slide + count) from 0 and ends with the last of
them. The end of time ends none. Rows enter and leave with the tuple that ends a window, so both moments follow from a
row's number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import cast

import numpy as np

from penstock.operators.base import Context, Operator, Row, Snapshot, Stream, Timeline
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array
from penstock.operators.histories import row_key
from penstock.operators.store_window import StoreWindow
from penstock.plan.nodes import Window
from penstock.plan.windows import SlideRows


class SlideRowsWindow(StoreWindow):
    """Rows [stub.low, entered) are in the content, rows [entered, next) wait; tuple number n is row first + n.

    The slide is at most the count (see `slide_partition_window` for the others).
    """

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        spec = cast(SlideRows, node.spec)
        self.count, self.slide, self.origin = spec.count, spec.slide, spec.origin
        self.entered = self.next

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Rows enter and leave with the windows that end."""
        self.append(self.ordered(inputs[0]))
        low, entered = self.stub.low, self.entered
        last = self.last_ended()
        stop = max(low, self.first + self.origin + last * self.slide)
        self.entered = max(entered, self.first + self.origin + last * self.slide + self.count)
        leave_ts = self._ts_of_end(np.arange(low, stop) - self.first - self.origin)
        enter_ts = self._ts_of_end(np.arange(entered, self.entered) - self.first - self.origin - self.count)
        out = self.emitted(leave_ts, low, enter_ts, entered)
        self.stub.release(stop)
        return out

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None

    def last_ended(self) -> int:
        """The last window whose last tuple has come."""
        return (self.next - self.first - self.origin - self.count) // self.slide

    def _ts_of_end(self, offset: Array) -> Array:
        """The end of the first window after the one that `offset`, counted from the origin, falls into."""
        return self.ts_of_window(offset // self.slide + 1)

    def ts_of_window(self, windows: Array) -> Array:
        """When these windows end: the timestamps of their last tuples."""
        rows = self.first + self.origin + windows * self.slide + self.count - 1
        ts: Array = self.store.ts[rows - self.store.base]
        return ts


class BoundedSlideRowsWindow(SlideRowsWindow):
    """Each row also has its window's bounds, so the whole content changes whenever a window ends.

    `ended` is the last window that has ended; its rows, [stub.low, entered), are the content.
    """

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        self.ended = (-self.origin - self.count) // self.slide
        self.bounds = (0, 0)

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Every window that ends takes the place of the one before."""
        self.append(self.ordered(inputs[0]))
        last = self.last_ended()
        windows = np.arange(self.ended + 1, last + 1)
        first = np.maximum(self.first, self.first + self.origin + windows * self.slide)
        stop = self.first + self.origin + windows * self.slide + self.count
        out = self.bounded(self._runs(windows, first, stop))
        if len(windows):
            self.ended, self.entered = last, int(stop[-1])
            self.bounds = (int(self.ts(int(first[-1]), self.next)[0]), int(self.ts_of_window(windows[-1:])[0]))
            self.stub.release(int(first[-1]))
        return out

    def _runs(self, windows: Array, first: Array, stop: Array) -> list[Array]:
        """For each window that ends: the content before goes (none where it was empty), the window's rows come."""
        end = self.ts_of_window(windows)
        start = self.store.ts[first - self.store.base]
        before = (self.stub.low, self.entered, *self.bounds)
        olds = [np.r_[old, new][:-1] for old, new in zip(before, (first, stop, start, end), strict=True)]
        old_first, old_stop, old_start, old_end = olds
        sign = np.tile(np.array([-1, 1], np.int8), len(windows))
        return [np.repeat(end, 2), sign, _zipped(old_first, first), _zipped(old_stop - old_first, stop - first),
                _zipped(old_start, start), _zipped(old_end, end)]  # fmt: skip


def _zipped(a: Array, b: Array) -> Array:
    """a[0], b[0], a[1], b[1], ..."""
    return np.column_stack((a, b)).ravel()


def build(node: Window, context: Context) -> Operator:
    """The running operator."""
    return BoundedSlideRowsWindow(node, context) if node.bounds else SlideRowsWindow(node, context)


def reference(node: Window, stream: Stream) -> Timeline:
    """Tuple by tuple: the one that ends a window puts it in the place of the one before, for its value of `by`."""
    spec = cast(SlideRows, node.spec)
    seen: defaultdict[object, list[tuple[int, int, Row]]] = defaultdict(list)
    content: dict[object, list[tuple[int, Row]]] = {}
    timeline = []
    places = iter(range(len(stream)))
    for t, events in groupby(stream, key=lambda e: e.ts):
        for event in events:
            key = row_key(tuple(event.row[node.input.schema.index(c)] for c in spec.by))
            seen[key].append((next(places), t, event.row))
            start = len(seen[key]) - spec.count
            if (start - spec.origin) % spec.slide == 0:
                content[key] = _window(node, seen[key][max(0, start) :])
        rows = sorted((p for rows in content.values() for p in rows), key=lambda p: p[0])
        timeline.append(Snapshot(t, [row for _, row in rows]))
    return timeline


def _window(node: Window, tuples: list[tuple[int, int, Row]]) -> list[tuple[int, Row]]:
    bounds = (tuples[0][1], tuples[-1][1]) if node.bounds else ()
    return [(place, (*row, *bounds)) for place, _, row in tuples]
