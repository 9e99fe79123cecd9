"""`[Rows count]`: the last tuples in the total order (Babu 2.1.2).

The end of time removes none: it advances, rows do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import cast

from penstock.operators.base import Context, Event, Row, Snapshot, Stream, Timeline
from penstock.operators.columns.train import Train
from penstock.operators.histories import row_key
from penstock.operators.store_window import StoreWindow
from penstock.plan.nodes import Window
from penstock.plan.windows import Rows


class RowsWindow(StoreWindow):
    """Rows [stub.low, next) are in the window; each arrival pushes the row `count` before it out."""

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__(node, context)
        self.count = cast(Rows, node.spec).count

    def process(self, inputs: Sequence[Train], until: int) -> Train:
        """Arrivals enter, and push out."""
        enter, low = self.next, self.stub.low
        self.append(self.ordered(inputs[0]))
        stop = low if self.count is None else max(low, self.next - self.count)
        pushing = low + (self.count or 0)
        out = self.emitted(self.ts(pushing, pushing + stop - low), low, self.ts(enter, self.next), enter)
        self.stub.release(stop if self.count is not None else self.next)
        return out

    def next_instant(self) -> int | None:
        """Never on its own."""
        return None


def reference(node: Window, stream: Stream) -> Timeline:
    """At every instant with arrivals: the last `count` tuples so far, of each value of the columns `by`."""
    spec = cast(Rows, node.spec)
    timeline = []
    for t, _ in groupby(stream, key=lambda e: e.ts):
        seen = [e for e in stream if e.ts <= t]
        timeline.append(Snapshot(t, [e.row for i, e in enumerate(seen) if _among_last(node, spec, e, seen[i + 1 :])]))
    return timeline


def _among_last(node: Window, spec: Rows, event: Event, later: list[Event]) -> bool:
    return spec.count is None or sum(key_of(node, e.row) == key_of(node, event.row) for e in later) < spec.count


def key_of(node: Window, row: Row) -> tuple[object, ...]:
    """The value of a row in the columns `by`; NULL is one value."""
    by = cast(Rows, node.spec).by
    return row_key(tuple(row[node.input.schema.index(c)] for c in by))
