"""KeyIndex: rows of words to dense ids, by open addressing over flat arrays.

Everything that groups, matches or nets rows stands on it: what belongs to a key lies in the user's own arrays, at the
key's id. Ids of freed keys are given out again, so those arrays stay as short as the largest number of keys that lived
at once.

A slot of the table holds (tag, id): the tag is the key itself where it is one word, else the key's hash, so that a
probe reads one cache line and looks at the key only where the tags agree. Collisions go to the next slot; freeing
shifts the followers back, so there are no tombstones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array, Vector, physical, words
from penstock.plan.types import Type

MINIMUM_CAPACITY: Final = 64
SLOTS_PER_KEY: Final = 2
"""At most every second slot is taken: a probe looks at 1.5 slots on average where the key is there, else at 2.5."""
BLOCK: Final = 512
"""Keys that are sought side by side."""
_COUNT, _NEXT, _FREE = 0, 1, 2
_NO_NULLS: Final = np.zeros((0, 0), np.bool_)


class KeyIndex:
    """Ids for keys of `width` words each, NULLs marked beside; NULL is one value, equal to itself.

    >>> index = KeyIndex(1)
    >>> index.lookup_or_insert(np.array([[7], [9], [7]])).tolist()
    [0, 1, 0]
    >>> index.free(np.array([0]))
    >>> index.lookup(np.array([[7], [9]])).tolist()
    [-1, 1]
    """

    __slots__ = ("_free", "_keys", "_nulls", "_state", "_table", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self._keys: Array = np.zeros((MINIMUM_CAPACITY, width), np.int64)
        self._nulls: Array = _NO_NULLS
        self._free: Array = np.empty(MINIMUM_CAPACITY, np.int64)
        self._table: Array = np.full((MINIMUM_CAPACITY * SLOTS_PER_KEY, 2), -1, np.int64)
        self._state: Array = np.zeros(3, np.int64)

    def __len__(self) -> int:
        """The number of live keys."""
        return int(self._state[_COUNT])

    @property
    def capacity(self) -> int:
        """Every id is below it; it only grows, by doubling: how long the user's arrays by id must be (see `grown`)."""
        return len(self._keys)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self._keys.nbytes + self._nulls.nbytes + self._free.nbytes + self._table.nbytes)

    def lookup_or_insert(self, words: Array, nulls: Array | None = None) -> Array:
        """The id of each key (int64[n, width]; `nulls`, bool[n, width], marks NULLs), a new one where it has none."""
        ids = np.empty(len(words), np.int64)
        nulls = self._null_flags(nulls)
        done = self._run(words, nulls, ids, 0, True)
        while done < len(words):
            self._grow()
            done = self._run(words, nulls, ids, done, True)
        return ids

    def lookup(self, words: Array, nulls: Array | None = None) -> Array:
        """The id of each key, -1 where it has none."""
        ids = np.empty(len(words), np.int64)
        flags = _NO_NULLS if nulls is None else nulls
        self._run(words, flags, ids, 0, False)
        return ids

    def holds(self, words: Array) -> Array:
        """Which of these keys without NULLs have an id."""
        if self.width == 1 and not len(self._nulls):
            return _holds_single(self._table, words[:, 0])
        found: Array = self.lookup(words) >= 0
        return found

    def free(self, ids: Array) -> None:
        """Forgets these keys (each live, each once); their ids go to later keys."""
        _forget(self._table, self._keys, self._nulls, self._state, self._free, ids)

    def live(self) -> Array:
        """The ids of all live keys, in no order."""
        ids: Array = self._table[:, 1][self._table[:, 1] >= 0]
        return ids

    def columns(self, ids: Array, types: Sequence[Type]) -> list[Vector]:
        """The keys as columns of `types`, one word a column: the inverse of `stacked` (-0.0 comes back as 0.0)."""
        return [self._column(i, ids, t) for i, t in enumerate(types)]

    def vectors(self, types: Sequence[Type]) -> Iterator[tuple[Type, Vector]]:
        """All live keys by column: what an operator reports for the dictionaries."""
        yield from zip(types, self.columns(self.live(), types), strict=True)

    def _column(self, i: int, ids: Array, t: Type) -> Vector:
        values = self._keys[ids, i]
        nulls = self._nulls[ids, i] if len(self._nulls) else None
        dtype = physical(t)
        decoded = values.view(np.float64) if dtype == np.float64 else values.astype(dtype, copy=False)
        return Vector(decoded, nulls if nulls is not None and nulls.any() else None)

    def _null_flags(self, nulls: Array | None) -> Array:
        if nulls is None or not nulls.any():
            return _NO_NULLS
        if not len(self._nulls):
            self._nulls = np.zeros(self._keys.shape, np.bool_)
        return nulls

    def _run(self, words: Array, nulls: Array, ids: Array, start: int, insert: bool) -> int:
        state = (self._table, self._keys, self._state, self._free)
        if self.width == 1 and not len(self._nulls) and not len(nulls):
            return int(_run_single(*state, words, ids, start, insert))
        return int(_run_rows(*state, self._nulls, words, nulls, ids, start, insert))

    def _grow(self) -> None:
        capacity = 2 * self.capacity
        self._keys = grown(self._keys, capacity)
        self._nulls = grown(self._nulls, capacity) if len(self._nulls) else self._nulls
        self._free = grown(self._free, capacity)
        table = np.full((capacity * SLOTS_PER_KEY, 2), -1, np.int64)
        _refill(self._table, table)
        self._table = table


def stacked(columns: Sequence[Vector], count: int) -> tuple[Array, Array | None]:
    """`count` rows of columns as keys: the words, and the NULL flags or None, as `lookup_or_insert` takes them."""
    if len(columns) == 1:
        vector = columns[0]
        return words(vector).reshape(-1, 1), None if vector.nulls is None else vector.nulls.reshape(-1, 1)
    rows = np.empty((count, len(columns)), np.int64)
    for i, vector in enumerate(columns):
        rows[:, i] = words(vector)
    if all(v.nulls is None for v in columns):
        return rows, None
    flags = np.zeros(rows.shape, np.bool_)
    for i, vector in enumerate(columns):
        if vector.nulls is not None:
            flags[:, i] = vector.nulls
    return rows, flags


def grown(array: Array, length: int) -> Array:
    """`array` with zeros behind it up to `length`."""
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True)
def mixed(word: int) -> Any:
    """A hash of one word in which every bit depends on all bits of it (the finaliser of SplitMix64)."""
    z = np.uint64(word)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def _home(tag: int, mask: int) -> Any:
    return np.int64(mixed(tag)) & mask


@njit(cache=True)
def _tag(words: Array, nulls: Array, row: int) -> Any:
    if words.shape[1] == 1:
        return np.int64(0) if len(nulls) and nulls[row, 0] else words[row, 0]
    tag = np.uint64(0x9E3779B97F4A7C15)
    for c in range(words.shape[1]):
        if len(nulls) and nulls[row, c]:
            tag = tag * np.uint64(0x9E3779B97F4A7C15) + np.uint64(c + 1)
        else:
            tag = (tag * np.uint64(0xD6E8FEB86659FD93)) ^ mixed(words[row, c])
    return np.int64(tag)


@njit(cache=True)
def _same(keys: Array, key_nulls: Array, key: int, words: Array, nulls: Array, row: int) -> bool:
    for c in range(words.shape[1]):
        a = len(key_nulls) > 0 and key_nulls[key, c]
        b = len(nulls) > 0 and nulls[row, c]
        if a != b or (not a and keys[key, c] != words[row, c]):
            return False
    return True


@njit(cache=True)
def _new_id(state: Array, free: Array) -> Any:
    state[_COUNT] += 1
    if state[_FREE] > 0:
        state[_FREE] -= 1
        return free[state[_FREE]]
    state[_NEXT] += 1
    return state[_NEXT] - 1


@njit(cache=True)
def _run_single(table: Array, keys: Array, state: Array, free: Array,
                words: Array, ids: Array, start: int, insert: bool) -> int:  # fmt: skip
    """Looks up one-word keys from `start` on, inserting what is missing; stops where the table is full; says where."""
    mask = len(table) - 1
    for i in range(start, len(words)):
        word = words[i, 0]
        slot = _home(word, mask)
        while table[slot, 1] >= 0 and table[slot, 0] != word:
            slot = (slot + 1) & mask
        if insert and table[slot, 1] < 0:
            if state[_COUNT] == len(keys):
                return i
            key = _new_id(state, free)
            keys[key, 0] = word
            table[slot, 0], table[slot, 1] = word, key
        ids[i] = table[slot, 1]
    return len(words)


@njit(cache=True)
def _holds_single(table: Array, words: Array) -> Array:
    """Most keys are found, or not, in their first slot: those are settled without a branch, a block at a time, so that
    no look-up waits for the one before it; then the others are sought."""
    mask, one = np.uint64(len(table) - 1), np.uint64(1)
    found = np.empty(len(words), np.bool_)
    homes, rest, slots = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    for start in range(0, len(words), BLOCK):
        stop, used = min(start + BLOCK, len(words)), 0
        for i in range(start, stop):
            homes[i - start] = mixed(words[i]) & mask
        for i in range(start, stop):
            slot = homes[i - start]
            same, taken = table[slot, 0] == words[i], table[slot, 1] >= 0
            found[i] = same & taken
            rest[used], slots[used] = i, slot
            used += taken & (not same)
        for k in range(used):
            word, place = words[rest[k]], (slots[k] + one) & mask
            while table[place, 1] >= 0 and table[place, 0] != word:
                place = (place + one) & mask
            found[rest[k]] = table[place, 1] >= 0
    return found


@njit(cache=True)
def _run_rows(table: Array, keys: Array, state: Array, free: Array, key_nulls: Array,
              words: Array, nulls: Array, ids: Array, start: int, insert: bool) -> int:  # fmt: skip
    """As `_run_single`, for keys of any width and with NULLs."""
    mask = len(table) - 1
    for i in range(start, len(words)):
        tag = _tag(words, nulls, i)
        slot = _home(tag, mask)
        while table[slot, 1] >= 0:
            if table[slot, 0] == tag and _same(keys, key_nulls, table[slot, 1], words, nulls, i):
                break
            slot = (slot + 1) & mask
        if insert and table[slot, 1] < 0:
            if state[_COUNT] == len(keys):
                return i
            key = _new_id(state, free)
            _write_key(keys, key_nulls, key, words, nulls, i)
            table[slot, 0], table[slot, 1] = tag, key
        ids[i] = table[slot, 1]
    return len(words)


@njit(cache=True)
def _write_key(keys: Array, key_nulls: Array, key: int, words: Array, nulls: Array, row: int) -> None:
    for c in range(words.shape[1]):
        null = len(nulls) > 0 and nulls[row, c]
        keys[key, c] = 0 if null else words[row, c]
        if len(key_nulls):
            key_nulls[key, c] = null


@njit(cache=True)
def _forget(table: Array, keys: Array, key_nulls: Array, state: Array, free: Array, ids: Array) -> None:
    mask = len(table) - 1
    for key in ids:
        slot = _home(_tag(keys, key_nulls, key), mask)
        while table[slot, 1] != key:
            slot = (slot + 1) & mask
        _close_gap(table, slot, mask)
        free[state[_FREE]] = key
        state[_FREE] += 1
        state[_COUNT] -= 1


@njit(cache=True)
def _close_gap(table: Array, gap: int, mask: int) -> None:
    """Empties a slot, and moves back each follower that could not be found any more."""
    slot = (gap + 1) & mask
    while table[slot, 1] >= 0:
        home = _home(table[slot, 0], mask)
        if ((slot - home) & mask) >= ((slot - gap) & mask):
            table[gap, 0], table[gap, 1] = table[slot, 0], table[slot, 1]
            gap = slot
        slot = (slot + 1) & mask
    table[gap, 1] = -1


@njit(cache=True)
def _refill(old: Array, table: Array) -> None:
    mask = len(table) - 1
    for i in range(len(old)):
        if old[i, 1] >= 0:
            slot = _home(old[i, 0], mask)
            while table[slot, 1] >= 0:
                slot = (slot + 1) & mask
            table[slot, 0], table[slot, 1] = old[i, 0], old[i, 1]
