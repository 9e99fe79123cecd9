"""`[Range size]` and `[Now]`: at t the tuples stamped in [t - size, t] (Babu 2.1.2).

Both ends are included, so a tuple leaves at its timestamp + size + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from penstock.operators.base import Context, Snapshot, Stream, Timeline
from penstock.operators.columns.train import Train
from penstock.operators.store_window import StoreWindow, clamped, stamped
from penstock.plan.nodes import Window
from penstock.plan.windows import END, Range


class RangeWindow(StoreWindow):
    """Rows [stub.low, next) are in the window."""

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        size = cast(Range, node.spec).size
        self.stay = None if size is None else int(size) + 1

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Arrivals enter; what was stamped more than `size` ago leaves."""
        enter = self.next
        self.append(self.ordered(inputs[0]))
        low = self.stub.low
        stop = self._expired(low, until)
        leave_ts = self.ts(low, stop) + (self.stay or 0)
        out = self.emitted(leave_ts, low, self.ts(enter, self.next), enter)
        self.stub.release(stop if self.stay is not None else self.next)
        return out

    def next_instant(self) -> int | None:
        """When the oldest row leaves."""
        if self.stay is None or self.stub.low == self.next:
            return None
        return stamped(int(self.ts(self.stub.low, self.next)[0]) + self.stay)

    def _expired(self, low: int, until: int) -> int:
        """The first row that is still there at the end of instant `until` - 1."""
        if self.stay is None:
            return low
        return low + int(self.ts(low, self.next).searchsorted(clamped(min(until, END) - self.stay)))


def reference(node: Window, stream: Stream) -> Timeline:
    """At every instant at which a tuple comes or goes: the tuples of the last `size` microseconds."""
    size = cast(Range, node.spec).size
    if size is None:
        return [Snapshot(t, [e.row for e in stream if e.ts <= t]) for t in sorted({e.ts for e in stream})]
    moments = sorted({t for e in stream for t in (e.ts, e.ts + int(size) + 1) if t < END})
    return [Snapshot(t, [e.row for e in stream if t - size <= e.ts <= t]) for t in moments]
