"""min and max: keys that order as the values do; NaN is the largest number, NULLs are passed over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.operators.aggregates.base import NO_FLAGS, Rows
from penstock.operators.aggregates.best import Elements, Keys
from penstock.operators.aggregates.ordering import Labels, number_keys
from penstock.operators.columns.vector import Array, words


@dataclass(slots=True)
class ExtremeKeys(Keys):
    """`flip` for max; `labels` for types whose values are dictionary codes."""

    labels: Labels | None = None

    def elements(self, rows: Rows) -> Elements:
        """See `Keys`."""
        assert rows.argument is not None
        word = words(rows.argument)
        keys = self._keys(word, rows.nulls)
        return Elements(~keys if self.flip else keys, word, NO_FLAGS, rows.nulls)

    def relabelled(self, version: int) -> tuple[int, Array | None]:
        """See `Keys`."""
        if self.labels is None or self.labels.version == version:
            return version, None
        return self.labels.version, self.labels.label_of

    def _keys(self, word: Array, nulls: Array) -> Array:
        if self.labels is None:
            return number_keys(word, self.type.name == "double")
        self.labels.learn(word[~nulls] if len(nulls) else word)
        return self.labels.label_of[word] if len(self.labels.label_of) else np.zeros(len(word), np.int64)
