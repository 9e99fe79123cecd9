"""Counts what leaves a lane for each query: elements, the gaps between them, and the errors of estimates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from penstock.operators.columns.train import Train
from penstock.plan.network import Query
from penstock.stats.accounts import Delivered

_ERROR: Final = "_error"


class Deliveries:
    """The counts of one lane."""

    def __init__(self) -> None:
        self._counts: dict[str, Delivered] = {}
        self._last: dict[str, int] = {}

    def count(self, query: Query, trains: Iterable[Train]) -> None:
        """Takes note of results on their way out."""
        for train in trains:
            if len(train):
                self._count(query, train)

    def _count(self, query: Query, train: Train) -> None:
        known = self._counts.get(query.name, Delivered(query.name))
        ts = train.ts
        gap = int(ts[-1] - ts[0]) and int(np.diff(ts).max())
        if query.name in self._last:
            gap = max(gap, int(ts[0]) - self._last[query.name])
        self._last[query.name] = int(ts[-1])
        errors = _errors(query, train)
        self._counts[query.name] = replace(
            known, rows=known.rows + len(train), gap_us=max(known.gap_us, gap),
            estimates=known.estimates + len(errors), error_total=known.error_total + float(errors.sum()),
            error_most=max(known.error_most, float(errors.max(initial=0.0))),
        )  # fmt: skip

    def read(self) -> tuple[Delivered, ...]:
        """What was delivered so far."""
        return tuple(self._counts.values())


def _errors(query: Query, train: Train) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The relative half-widths of the estimates in `train`."""
    schema, found = query.root.schema, [np.zeros(0)]
    for name in schema.names if dict(query.options).get("answer") == "estimate" else ():
        if name.endswith(_ERROR) and name.removesuffix(_ERROR) in schema:
            value = np.abs(train.column(schema.index(name.removesuffix(_ERROR))).values.astype(np.float64))
            error = train.column(schema.index(name)).values.astype(np.float64)
            found.append(error[value > 0] / value[value > 0])
    return np.concatenate(found)
