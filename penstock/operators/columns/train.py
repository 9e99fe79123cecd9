"""A train: a run of elements (tuple, timestamp, sign) in timestamp order, as columns (Aurora's trains, on arrays).

A filter or a window only narrows a selection over arrays that others also see; values are gathered when somebody reads
them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.operators.columns.vector import Array, Vector, concat, physical
from penstock.plan.schema import Schema


class Train:
    """Elements as columns.

    columns   one vector a column of the node's schema, read through `rows` where that is set
    ts        timestamps, never falling; this and all below are read through `heads` where that is set
    sign      +1 and -1 as int8; None: all +
    seq       place in the total order among equal timestamps (base streams: the arrival's number; None: 0, ties fall
    to the row's values) arrival   arrival time of the oldest input the element was made from
    weight    1 / keep probability of the sampling drops passed; None: all 1
    ids       row numbers in the window store that the element lives in; None where it lives in none
    """

    __slots__ = ("_arrival", "_columns", "_gathered", "_heads", "_ids", "_rows", "_seq", "_sign", "_ts", "_weight")

    def __init__(self, columns: Sequence[Vector], ts: Array, sign: Array | None = None, seq: Array | None = None,
                 arrival: Array | None = None, weight: Array | None = None, ids: Array | None = None, *,
                 rows: Array | None = None, heads: Array | None = None) -> None:  # fmt: skip
        self._columns = columns
        self._ts = ts
        self._sign = sign
        self._seq = seq
        self._arrival = ts if arrival is None else arrival
        self._weight = weight
        self._ids = ids
        self._rows = rows
        self._heads = heads
        self._gathered: dict[int, Vector] | None = None

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """Pickled without what can be gathered again."""
        return None, {name: None if name == "_gathered" else getattr(self, name) for name in self.__slots__}

    @classmethod
    def empty(cls, schema: Schema) -> Train:
        """A train without elements."""
        return cls([Vector(np.empty(0, physical(t))) for t in schema.types], np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self._ts) if self._heads is None else len(self._heads)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self._columns)

    def column(self, index: int) -> Vector:
        """Column `index`, gathered once."""
        if self._rows is None:
            return self._columns[index]
        if self._gathered is None:
            self._gathered = {}
        found = self._gathered.get(index)
        if found is None:
            found = self._gathered[index] = self._columns[index].take(self._rows)
        return found

    @property
    def columns(self) -> list[Vector]:
        """All columns, gathered."""
        return [self.column(i) for i in range(len(self._columns))]

    @property
    def ts(self) -> Array:
        """Timestamps."""
        return self._ts if self._heads is None else self._ts[self._heads]

    @property
    def sign(self) -> Array:
        """Signs as int8."""
        if self._sign is None:
            return np.ones(len(self), np.int8)
        return self._sign if self._heads is None else self._sign[self._heads]

    @property
    def insertions_only(self) -> bool:
        """True where it is known that no element is a `-`."""
        return self._sign is None

    @property
    def arrival(self) -> Array:
        """Arrival time of the oldest input."""
        return self._arrival if self._heads is None else self._arrival[self._heads]

    @property
    def seq(self) -> Array | None:
        """Place in the total order, None for all 0."""
        return self._head(self._seq)

    @property
    def weight(self) -> Array | None:
        """Weights, None for all 1."""
        return self._head(self._weight)

    @property
    def ids(self) -> Array | None:
        """Row numbers in the store."""
        return self._head(self._ids)

    def _head(self, values: Array | None) -> Array | None:
        return values if values is None or self._heads is None else values[self._heads]

    def take(self, positions: Array) -> Train:
        """The elements at these positions (int64, in timestamp order); nothing else is gathered yet."""
        heads = positions if self._heads is None else self._heads[positions]
        if self._rows is self._heads:
            return self._selected(heads, heads)
        return self._selected(positions if self._rows is None else self._rows[positions], heads)

    def where(self, mask: Array) -> Train:
        """The elements that `mask` marks; nothing else is gathered yet."""
        return self.take(np.flatnonzero(mask))

    def _selected(self, rows: Array, heads: Array) -> Train:
        return Train(
            self._columns,
            self._ts,
            self._sign,
            self._seq,
            self._arrival,
            self._weight,
            self._ids,
            rows=rows,
            heads=heads,
        )

    def pick(self, indices: Sequence[int]) -> Train:
        """The same elements with only these columns, in this order; nothing is gathered."""
        columns = [self._columns[i] for i in indices]
        headers = (self._ts, self._sign, self._seq, self._arrival, self._weight, self._ids)
        return Train(columns, *headers, rows=self._rows, heads=self._heads)

    def with_columns(self, columns: Sequence[Vector]) -> Train:
        """The same elements with other columns, given densely."""
        return Train(
            columns, self._ts, self._sign, self._seq, self._arrival, self._weight, self._ids, heads=self._heads
        )

    def reweighted(self, factor: float) -> Train:
        """The same elements, each weight multiplied by `factor`."""
        weight = np.full(len(self._ts), factor) if self._weight is None else self._weight * factor
        headers = (self._ts, self._sign, self._seq, self._arrival, weight, self._ids)
        return Train(self._columns, *headers, rows=self._rows, heads=self._heads)

    def numbered(self) -> Train:
        """The same elements, each with its position for an arrival: operators that only choose say which they chose."""
        return Train(self._columns, self.ts, None, self.seq, np.arange(len(self)), rows=self._rows)

    def identified(self, ids: Array) -> Train:
        """The same elements with these numbers."""
        return Train(self._columns, self.ts, None, self.seq, self.arrival, self.weight, ids, rows=self._rows)

    def unplaced(self) -> Train:
        """The same elements without a place of their own in a stream or a store (`seq`, `ids`)."""
        return Train(self._columns, self._ts, self._sign, None, self._arrival, self._weight,
                     rows=self._rows, heads=self._heads)  # fmt: skip

    def as_stream(self) -> Train:
        """The same elements as the `+` of a derived stream: without signs, `seq` and `ids`."""
        return Train(self._columns, self._ts, None, None, self._arrival, self._weight,
                     rows=self._rows, heads=self._heads)  # fmt: skip

    def changes(self, positions: Array, sign: Array, arrival: Array) -> Train:
        """The rows at these positions as changes of a relation that was computed from this one."""
        rows = positions if self._rows is None else self._rows[positions]
        weight = None if self._weight is None else self.weight[positions]  # type: ignore[index]
        return Train(self._columns, self.ts[positions], sign, None, arrival, weight, rows=rows)

    def dense(self) -> Train:
        """The same elements, everything gathered."""
        if self._rows is None and self._heads is None:
            return self
        return Train(self.columns, self.ts, self._head(self._sign), self.seq, self.arrival, self.weight, self.ids)

    def slice(self, start: int, stop: int) -> Train:
        """The elements from `start` up to `stop`."""
        if self._rows is not None or self._heads is not None:
            return self.take(np.arange(start, stop))
        cut = slice(start, stop)
        optional = [
            None if a is None else a[cut] for a in (self._sign, self._seq, self._arrival, self._weight, self._ids)
        ]
        return Train([v.slice(start, stop) for v in self._columns], self._ts[cut], *optional)

    def before(self, instant: int) -> tuple[Train, Train]:
        """The elements stamped before `instant`, and the others."""
        cut = int(np.searchsorted(self.ts, instant, side="left"))
        return self.slice(0, cut), self.slice(cut, len(self))


def concat_trains(trains: Sequence[Train]) -> Train:
    """The trains (at least one) one after another; the caller sees to the order."""
    if len(trains) == 1:
        return trains[0]
    columns = [concat([t.column(i) for t in trains]) for i in range(trains[0].width)]
    sign = None if all(t.insertions_only for t in trains) else np.concatenate([t.sign for t in trains])
    arrival = np.concatenate([t.arrival for t in trains])
    seq, weight, ids = (
        _filled(trains, *f) for f in (("seq", 0, np.int64), ("weight", 1.0, np.float64), ("ids", -1, np.int64))
    )
    return Train(columns, np.concatenate([t.ts for t in trains]), sign, seq, arrival, weight, ids)


def merge_trains(trains: Sequence[Train]) -> Train:
    """The trains (at least one) merged by timestamp, then by `seq`, then by the train's place."""
    present = [t for t in trains if len(t)] or trains[:1]
    if len(present) == 1:
        return present[0]
    whole = concat_trains(present)
    keys = (whole.ts,) if whole.seq is None else (whole.seq, whole.ts)
    return whole.take(np.lexsort(keys)).dense()


def _filled(trains: Sequence[Train], name: str, default: float, dtype: type) -> Array | None:
    parts = [getattr(t, name) for t in trains]
    if all(p is None for p in parts):
        return None
    return np.concatenate(
        [np.full(len(t), default, dtype) if p is None else p for t, p in zip(trains, parts, strict=True)]
    )
