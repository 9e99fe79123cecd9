"""What the windows over one whole stream share: rows live in the stream's store, and each window is a stub on it
(Babu 2.3.1).

A window knows the row number of its next arrival and, by its stub, the first row it still needs; whoever runs first
appends. A window holds its rows until it has emitted their `-`; an operator above that needs them longer opens a stub
of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.operators.base import Context
from penstock.operators.columns.store import Store
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.kernels.runs import expand_runs, merge_runs
from penstock.operators.total_order import in_total_order
from penstock.plan.nodes import Window
from penstock.plan.types import Type
from penstock.plan.windows import END

_LARGEST = (1 << 63) - 1


class StoreWindow:
    """Base of these windows. Those that pass over rows which others need have a store of their own (`private`)."""

    def __init__(self, node: Window, context: Context, *, private: bool = False) -> None:
        self.schema = node.input.schema
        self.dictionaries = context.dictionaries
        self.private = private
        self.store = Store(self.schema) if private else context.store(node.input)
        self.stub = self.store.stub()
        self.first = self.next = self.store.end

    def nbytes(self) -> int:
        """The private store, if there is one."""
        return self.store.nbytes if self.private else 0

    def vectors(self) -> Iterator[tuple[Type, Vector]]:
        """The private store's columns, if there is one."""
        return zip(self.schema.types, self.store.vectors(), strict=True) if self.private else iter(())

    def ordered(self, train: Train) -> Train:
        """The train in the order in which the store holds it."""
        return in_total_order(train, self.schema, self.dictionaries)

    def append(self, train: Train) -> None:
        """Takes in rows, in the stream's order."""
        self.store.append(train, self.next)
        self.next += len(train)

    def ts(self, first: int, stop: int) -> Array:
        """The timestamps of these rows."""
        return self.store.ts[first - self.store.base : stop - self.store.base]

    def emitted(self, leave_ts: Array, leave_first: int, enter_ts: Array, enter_first: int) -> Train:
        """The changes by which two runs of rows leave and enter."""
        base = self.store.base
        ts, sign, rows = merge_runs(leave_ts, leave_first - base, enter_ts, enter_first - base)
        return self.selected(ts, sign if len(leave_ts) else None, rows)

    def selected(self, ts: Array, sign: Array | None, rows: Array) -> Train:
        """Elements over rows of the store, given by their positions there."""
        store = self.store
        weight = None if store.weight is None else store.weight[rows]
        return Train(store.vectors(), ts, sign, None, store.arrival[rows], weight, rows + store.base, rows=rows)

    def bounded(self, runs: list[Array]) -> Train:
        """Elements by runs of rows, (ts, sign, first, count, window_start, window_end) each; the bounds are columns."""
        ts, sign, first, count, start, end = runs
        which, rows = expand_runs(first - self.store.base, count)
        train = self.selected(ts[which], sign[which], rows)
        return train.with_columns([*train.columns, Vector(start[which]), Vector(end[which])])


def clamped(instant: int) -> int:
    """`instant` as far as 64 bits reach."""
    return max(-_LARGEST, min(instant, _LARGEST))


def stamped(instant: int) -> int | None:
    """`instant`, or None past the end of time."""
    return instant if instant < END else None
