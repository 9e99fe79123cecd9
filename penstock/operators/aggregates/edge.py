"""first and last: the value, NULL or not, of the row that is first or last in the total order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.operators.aggregates.base import NO_FLAGS, Rows
from penstock.operators.aggregates.best import Elements, Keys


@dataclass(slots=True)
class EdgeKeys(Keys):
    """The key is the row's place; `flip` for last."""

    def elements(self, rows: Rows) -> Elements:
        """See `Keys`."""
        values = rows.values
        word = values.view(np.int64) if values.dtype == np.float64 else values.astype(np.int64, copy=False)
        return Elements(~rows.places if self.flip else rows.places, word, rows.nulls, NO_FLAGS)
