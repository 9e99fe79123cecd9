"""Lists of emitted changes that grow inside a kernel."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array

ROW, CAUSE, SIGN, TAG = 0, 1, 2, 3
"""Fields of a change: the row's position, that of the arrival that caused it, its sign, a number of the kernel's."""
FIELDS: Final = 4


@njit(cache=True)
def change_list(expected: int) -> Any:
    """An empty list with room for `expected` changes."""
    return np.empty((expected + 16, FIELDS), np.int64)


@njit(cache=True)
def with_change(changes: Array, used: int, row: int, cause: int, sign: int, tag: int) -> Any:
    """`changes` with one more, in a longer array where it was full."""
    if used == len(changes):
        changes = np.concatenate((changes, np.empty_like(changes)))
    changes[used, ROW] = row
    changes[used, CAUSE] = cause
    changes[used, SIGN] = sign
    changes[used, TAG] = tag
    return changes
