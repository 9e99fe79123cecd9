"""Rows that wait until their instant is final, on one lane and for one entry."""

from __future__ import annotations

import numpy as np

from penstock.operators.columns.train import Train, concat_trains
from penstock.plan.schema import Schema


class Waiting:
    """Takes rows in any order and gives them back in the total order, once progress has passed them.

    Lateness is judged against the progress that the plan record gives, the same for all lanes: a row stamped before it
    is late. It is kept, stamped with that progress, or dropped.
    """

    def __init__(self, schema: Schema, late: str) -> None:
        self.late = late
        self.late_kept = self.late_dropped = 0
        self._train = Train.empty(schema)

    def __len__(self) -> int:
        return len(self._train)

    def add(self, train: Train, progress: int, *, judged: bool) -> None:
        """Takes in rows; those stamped before `progress` are late where `judged`, others come in order by promise."""
        if not len(train):
            return
        if judged:
            train = self._in_time(train, progress)
        whole = concat_trains([self._train, train])
        keys = (whole.ts,) if whole.seq is None else (whole.seq, whole.ts)
        self._train = whole.take(np.lexsort(keys)).dense()

    def _in_time(self, train: Train, progress: int) -> Train:
        late = train.ts < progress
        count = int(late.sum())
        if not count:
            return train
        if self.late == "drop":
            self.late_dropped += count
            return train.where(~late)
        self.late_kept += count
        ts = np.where(late, progress, train.ts)
        return Train(train.columns, ts, None, train.seq, train.arrival, train.weight)

    def release(self, progress: int) -> Train:
        """The rows stamped before `progress`, in the total order."""
        ready, rest = self._train.before(progress)
        self._train = rest.dense()
        return ready

    @property
    def train(self) -> Train:
        """What waits."""
        return self._train
