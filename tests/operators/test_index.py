"""KeyIndex against a dict, over random keys, widths, NULLs and frees."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.columns.vector import Vector
from penstock.operators.kernels.index import MINIMUM_CAPACITY, KeyIndex, stacked
from penstock.plan.types import BOOLEAN, DOUBLE

Key = tuple[int | None, ...]
_WORDS = st.one_of(st.none(), st.integers(0, 4), st.sampled_from([-(2**63), 2**63 - 1, -1, 1 << 32]))


@st.composite
def _scripts(draw: st.DrawFn) -> tuple[int, list[tuple[str, list[Key]]]]:
    width = draw(st.integers(0, 3))
    keys = st.lists(st.tuples(*[_WORDS] * width), max_size=30)
    return width, draw(st.lists(st.tuples(st.sampled_from(["insert", "look", "free"]), keys), max_size=12))


def _arrays(keys: list[Key], width: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    words = np.array([[0 if w is None else w for w in k] for k in keys], np.int64).reshape(len(keys), width)
    nulls = np.array([[w is None for w in k] for k in keys], np.bool_).reshape(len(keys), width)
    return words, nulls


@given(_scripts())
def test_agrees_with_a_dict(script: tuple[int, list[tuple[str, list[Key]]]]) -> None:
    width, steps = script
    index, known = KeyIndex(width), dict[Key, int]()
    for step, keys in steps:
        words, nulls = _arrays(keys, width)
        if step == "insert":
            for key, found in zip(keys, index.lookup_or_insert(words, nulls).tolist(), strict=True):
                assert known.setdefault(key, found) == found
        elif step == "look":
            assert index.lookup(words, nulls).tolist() == [known.get(k, -1) for k in keys]
        else:
            gone = sorted({known.pop(k) for k in list(keys) if k in known})
            index.free(np.array(gone, np.int64))
        assert sorted(index.live().tolist()) == sorted(known.values())
        assert len(set(known.values())) == len(known) == len(index)


def test_ids_of_freed_keys_are_given_out_again() -> None:
    index = KeyIndex(1)
    for start in range(0, 100_000, 50):
        ids = index.lookup_or_insert(np.arange(start, start + 50).reshape(-1, 1))
        index.free(ids)
    assert index.capacity == MINIMUM_CAPACITY


def test_grows_and_keeps_ids() -> None:
    index = KeyIndex(2)
    rng = np.random.default_rng(1)
    keys = rng.integers(-50, 50, (20_000, 2))
    first = index.lookup_or_insert(keys)
    assert len(index) == len(np.unique(keys, axis=0))
    assert (index.lookup_or_insert(keys) == first).all()
    assert first.max() == len(index) - 1


def test_a_null_is_not_zero_even_where_nulls_come_late() -> None:
    index = KeyIndex(1)
    zero = index.lookup_or_insert(np.array([[0]]))
    null = index.lookup_or_insert(np.array([[0]]), np.array([[True]]))
    assert zero != null
    assert index.lookup(np.array([[0], [0]]), np.array([[True], [False]])).tolist() == [null[0], zero[0]]


def test_columns_are_the_inverse_of_stacked() -> None:
    numbers = Vector(np.array([1.5, np.nan, 0.0, -0.0]), np.array([False, False, True, False]))
    flags = Vector(np.array([True, False, True, False]))
    index = KeyIndex(2)
    ids = index.lookup_or_insert(*stacked([numbers, flags], 4))
    doubles, booleans = index.columns(ids, [DOUBLE, BOOLEAN])
    np.testing.assert_array_equal(doubles.values, numbers.values)
    assert doubles.nulls is not None and doubles.nulls.tolist() == [False, False, True, False]
    assert booleans.values.tolist() == flags.values.tolist() and booleans.nulls is None


def test_can_be_pickled() -> None:
    index = KeyIndex(1)
    ids = index.lookup_or_insert(np.arange(100).reshape(-1, 1))
    again = pickle.loads(pickle.dumps(index))
    assert (again.lookup(np.arange(100).reshape(-1, 1)) == ids).all()
