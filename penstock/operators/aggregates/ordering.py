"""Order keys: int64 numbers that compare as values do, NaN above all numbers. Strings, arrays and wide decimals get
labels.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Final

import numpy as np

from penstock.operators.base import value_key
from penstock.operators.columns.dictionary import Dictionary
from penstock.operators.columns.vector import Array
from penstock.operators.kernels.index import grown

GAP: Final = 1 << 32
"""Distance of labels that are given afresh: 32 values fit between any two before all labels are given again."""
STALE_SHARE: Final = 2
"""Entries per live code of the dictionary at which those of codes given back are thrown away."""


def number_keys(words: Array, double: bool) -> Array:
    """Keys of numbers given as words (see `columns.vector.words`)."""
    return words ^ ((words >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)) if double else words


class Labels:
    """Order-maintaining labels of dictionary codes: a value new to us gets a label between those of its neighbours.

    Where there is no room all labels are given again, and `version` counts up: the order of known values never
    changes, so whoever keeps labels replaces them in place.
    """

    __slots__ = ("_codes", "_keys", "_known", "dictionary", "label_of", "version")

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self.version = 0
        self.label_of: Array = np.zeros(0, np.int64)
        self._keys: list[Any] = []
        self._codes: list[int] = []
        self._known: list[Any] = []

    def learn(self, codes: Array) -> None:
        """Sees to it that each of these codes has a label in `label_of`."""
        values, known = self.dictionary.values, self._known
        if len(values) > len(known):
            known.extend([None] * (len(values) - len(known)))
            self.label_of = grown(self.label_of, len(values))
        new = [c for c in _distinct(codes, len(values)).tolist() if known[c] is not values[c]]
        if new:
            self._insert(new)

    def _insert(self, new: list[int]) -> None:
        values = self.dictionary.values
        for code in new:
            self._forget(code)
            self._known[code] = values[code]
        if len(self._keys) + len(new) > STALE_SHARE * len(self.dictionary) + len(new) or 8 * len(new) > len(self._keys):
            self._rebuild(new)
            return
        for code in new:
            key = value_key(values[code])
            at = bisect_left(self._keys, key)
            self._keys.insert(at, key)
            self._codes.insert(at, code)
            if not self._place(at):
                self._give_all()

    def _forget(self, code: int) -> None:
        """Takes out what the code stood for before it was given back."""
        if self._known[code] is not None:
            at = bisect_left(self._keys, value_key(self._known[code]))
            while self._codes[at] != code:
                at += 1
            del self._keys[at], self._codes[at]

    def _place(self, at: int) -> bool:
        """Labels the entry between its neighbours; False where there is no room."""
        label, codes = self.label_of, self._codes
        low = int(label[codes[at - 1]]) if at else int(label[codes[1]]) - 2 * GAP
        high = int(label[codes[at + 1]]) if at + 1 < len(codes) else low + 2 * GAP
        label[codes[at]] = (low + high) // 2
        return low < (low + high) // 2 < high and abs(low) < 1 << 60

    def _rebuild(self, new: list[int]) -> None:
        values, known = self.dictionary.values, self._known
        live = [c for c in self._codes if known[c] is values[c]]
        for code in set(self._codes).difference(live):
            known[code] = None
        codes = live + new
        pairs = sorted(zip((value_key(values[c]) for c in codes), codes, strict=True))
        self._keys, self._codes = [k for k, _ in pairs], [c for _, c in pairs]
        self._give_all()

    def _give_all(self) -> None:
        count = len(self._codes)
        self.label_of[self._codes] = (np.arange(count) - count // 2) * GAP
        self.version += 1


def _distinct(codes: Array, count: int) -> Array:
    """Each of `codes` once, in order; all are below `count`."""
    if len(codes) < count // 16:
        return np.unique(codes)
    present = np.zeros(count, np.bool_)
    present[codes] = True
    return np.flatnonzero(present)
