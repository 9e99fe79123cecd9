"""The indexes of a join side against dictionaries: many keys, many rows of one key, rows that leave in any order."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import numpy as np
import pytest

from penstock.operators.columns.vector import Array, Vector
from penstock.operators.join_index import HashIndex, SortedIndex
from penstock.operators.join_rows import Move
from penstock.operators.kernels.join import NEVER, VACANT

ROWS = 3000


def found(index: HashIndex, words: Array, wanted: list[int], shift: int) -> dict[int, list[int]]:
    """The rows that the index finds for each key, with every row alive."""
    lives = np.zeros(ROWS, np.int32), np.full(1, -1, np.int32), np.full(1, NEVER, np.int32)
    result: defaultdict[int, list[int]] = defaultdict(list)
    for candidates, places in index.probe(np.array(wanted), np.zeros(len(wanted), np.int32), words, shift, lives, 10):
        for i, place in zip(candidates.tolist(), places.tolist(), strict=True):
            result[wanted[i]].append(place - 10)
    return result


@pytest.mark.parametrize("distinct", [1, 40, 700, 10**6])
@pytest.mark.parametrize("oldest_first", [True, False])
def test_a_hash_index_finds_what_is_in_it(distinct: int, oldest_first: bool) -> None:
    random, shift = Random(distinct), 7
    words = np.array([random.randrange(distinct) << 32 for _ in range(ROWS + shift)])
    index, rows = HashIndex(), defaultdict[int, list[int]](list)
    index.move(Move(0, 0, ROWS))
    alive: list[int] = []
    fresh = list(range(ROWS))
    while fresh or alive:
        entering, fresh = fresh[: (n := random.randrange(1, 400))], fresh[n:]
        alive += entering
        most = min(n, len(alive), 300)
        leaving = [alive.pop(0 if oldest_first else random.randrange(len(alive))) for _ in range(most)]
        positions = np.array(entering + leaving, np.int32)
        sign = np.array([1] * len(entering) + [-1] * len(leaving), np.int8)
        for p in entering:
            rows[int(words[p + shift])].append(p)
        index.insert(positions, sign, words, shift)
        index.remove(positions, sign, words, shift)
        for p in leaving:
            rows[int(words[p + shift])].remove(p)
        wanted = [*rows, 12345]
        assert found(index, words, wanted, shift) == {k: r for k, r in rows.items() if r}
    assert index.keys == 0


def test_a_hash_index_follows_moved_positions_and_shrinks() -> None:
    words = np.arange(ROWS)
    index = HashIndex()
    index.move(Move(0, 0, ROWS))
    everyone = np.arange(ROWS, dtype=np.int32)
    index.insert(everyone, np.ones(ROWS, np.int8), words, 0)
    index.remove(everyone[:-5], -np.ones(ROWS - 5, np.int8), words, 0)
    large = index.nbytes
    index.move(Move(ROWS - 5, 5, 100))
    assert found(index, words, [ROWS - 1, 0], ROWS - 5) == {ROWS - 1: [4]}
    index.insert(np.array([5], np.int32), np.ones(1, np.int8), np.concatenate([words, [9]]), ROWS - 5)
    assert index.nbytes < large / 8


def test_a_sorted_index_keeps_the_order() -> None:
    random, index, alive = Random(3), SortedIndex(), dict[int, float]()
    touch = np.full(1000, VACANT, np.int32)
    for start in range(0, 1000, 100):
        values = np.array([random.choice([0.0, -0.0, 1.5, np.nan, -np.inf, random.random()]) for _ in range(100)])
        nulls = np.array([random.random() < 0.1 for _ in range(100)])
        positions = np.arange(start, start + 100, dtype=np.int32)
        index.insert(positions, Vector(values, nulls))
        touch[positions] = 0
        alive |= {start + i: float(v) for i, v in enumerate(values) if not nulls[i]}
        for p in random.sample(sorted(alive), 50):
            touch[p] = VACANT
            del alive[p]
        index.remove(np.array([-1], np.int8), touch)
        held = zip(index.positions.tolist(), index.values.tolist(), strict=True)
        assert {p: repr(v) for p, v in held} == {p: repr(v) for p, v in alive.items()}
        assert np.array_equal(index.values, np.sort(index.values), equal_nan=True)
