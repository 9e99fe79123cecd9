"""`[Range size On attribute Slide slide]` as a relation: it holds the last window that a tuple's attribute has ended.

A window ends when a tuple carries the attribute to its upper bound or past it, in the total order, and is stamped
with that tuple's timestamp; the end of time ends none. A tuple that comes after all its windows have ended is late:
counted in `late`, and in no window.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, cast

import numpy as np

from penstock.operators.attribute_window import PooledWindow, axis_of
from penstock.operators.axis import Number, Slides
from penstock.operators.base import Context, Row, Snapshot, Stream, Timeline
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.attribute import LATE, NONE_ENDED, slide_over
from penstock.operators.kernels.emission import TAG
from penstock.operators.kernels.index import grown
from penstock.operators.kernels.pair_heap import heap
from penstock.operators.total_order import in_total_order
from penstock.plan.nodes import Window
from penstock.plan.windows import SlideRange


class SlideAttributeWindow(PooledWindow):
    """The heaps are the waiting rows and the content (see `kernels.attribute`)."""

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        self.slides = slides_of(node)
        self.bounds = node.bounds
        if self.bounds:
            self.axis.check_bounds()
        self.state = np.array([NONE_ENDED, 0])
        self.heaps = [heap(), heap()]
        self.row_last: Array = np.empty(0, np.int64)

    @property
    def late(self) -> int:
        """How many tuples came after all their windows had ended."""
        return int(self.state[LATE])

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Rows enter and leave with the windows that arrivals end."""
        train = in_total_order(inputs[0], self.schema, self.dictionaries)
        places, present = self.axis.places(train.column(self.on), self.dictionaries)
        first = self.append(train)
        waiting, content = self.heaps
        firsts, lasts = self.slides.first(places), self.slides.last(places)
        changes, *self.heaps = slide_over(firsts, lasts, present, first, self.bounds, self.state, waiting, content,
                                          self.row_last, self.pool.alive)  # fmt: skip
        out = self.emitted(train, changes)
        return self._with_bounds(out, changes[:, TAG].copy()) if self.bounds else out

    def move(self, kept: Array) -> None:
        """Follows the rows to where they lie now."""
        super().move(kept)
        self.row_last = grown(self.row_last[kept], self.pool.capacity)

    def nbytes(self) -> int:
        """The rows, the heaps and each row's last window."""
        return super().nbytes() + self.row_last.nbytes

    def _with_bounds(self, train: Train, windows: Array) -> Train:
        bounds = [Vector(self.slides.start(windows)), Vector(self.slides.end(windows))]
        return train.with_columns([*train.columns, *bounds])


def slides_of(node: Window) -> Slides:
    """The windows on the attribute's axis."""
    spec = cast(SlideRange, node.spec)
    _, axis = axis_of(node)
    return Slides(axis.number(spec.origin), axis.number(spec.slide), axis.number(spec.size))


def reference(node: Window, stream: Stream) -> Timeline:
    """Tuple by tuple: where the attribute passes ends of windows, the last of them is the content from then on."""
    on, axis = axis_of(node)
    slides = slides_of(node)
    seen: list[tuple[Number, Row]] = []
    ended: int | None = None
    content: list[Row] = []
    timeline = []
    for t, events in groupby(stream, key=lambda e: e.ts):
        for row, place in ((e.row, axis.place(e.row[on])) for e in events):
            if place is None:
                continue
            if ended is None or slides.end(ended + 1) <= place:
                ended = _last_ended(slides, place)
                start, end = slides.start(ended), slides.end(ended)
                bounds: tuple[Any, ...] = (axis.value(start), axis.value(end)) if node.bounds else ()
                content = [(*r, *bounds) for p, r in seen if slides.exists(ended) and start <= p < end]
            seen.append((place, row))
        timeline.append(Snapshot(t, content))
    return timeline


def _last_ended(slides: Slides, place: Number) -> int:
    near = int((place - slides.origin - slides.size) // slides.slide)
    return max(k for k in range(near - 2, near + 3) if slides.end(k) <= place)
