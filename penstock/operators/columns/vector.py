"""One column of a train: a NumPy array and, where there are NULLs, a mask.

Physical types: boolean is `bool_`; int, bigint, timestamp (us), date (days), interval (us) and decimals of at most 18
digits (unscaled) are `int64`; double is `float64`; strings, arrays and wider decimals are `int64` codes of a
`Dictionary`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.plan.types import Type

Array = npt.NDArray[Any]
SHORT_DECIMAL_PRECISION: Final = 18


class Vector(NamedTuple):
    """`values`, and `nulls` (True where NULL; the value below is then 0) or None where there is no NULL."""

    values: Array
    nulls: Array | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Array) -> Vector:
        """The rows at these positions."""
        return Vector(self.values[rows], None if self.nulls is None else self.nulls[rows])

    def slice(self, start: int, stop: int) -> Vector:
        """A view of the rows from `start` up to `stop`."""
        return Vector(self.values[start:stop], None if self.nulls is None else self.nulls[start:stop])


def physical(t: Type) -> np.dtype[Any]:
    """The array type that holds values of `t`."""
    return np.dtype({"boolean": np.bool_, "double": np.float64}.get(t.name, np.int64))


def interned(t: Type) -> bool:
    """True where a vector of `t` holds dictionary codes."""
    return t.name in ("string", "array") or (t.name == "decimal" and t.precision > SHORT_DECIMAL_PRECISION)


def words(vector: Vector) -> Array:
    """The values as int64 words that are equal exactly where SQL groups values as equal (-0.0 is 0.0, NaN is NaN);
    NULL words are 0."""
    values = vector.values
    if values.dtype == np.float64:
        values = np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)
    return values if values.dtype == np.int64 else values.astype(np.int64)


def concat(vectors: list[Vector]) -> Vector:
    """The vectors one after another."""
    values = np.concatenate([v.values for v in vectors])
    if all(v.nulls is None for v in vectors):
        return Vector(values)
    masks = [np.zeros(len(v), np.bool_) if v.nulls is None else v.nulls for v in vectors]
    return Vector(values, np.concatenate(masks))
