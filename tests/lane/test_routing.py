"""Routing rows to lanes by the values of a key."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.lane.routing import Router
from penstock.lane.rows import train_of
from penstock.operators.base import Context
from penstock.operators.columns.dictionary import Dictionaries
from penstock.plan.expressions import Column
from penstock.plan.schema import Schema

SCHEMA = Schema.parse("i bigint, s string, d double, w decimal(30, 2), xs array<int>")
KEYS = [Column(f.name, f.type) for f in SCHEMA]


def groups(rows: list[tuple[object, ...]], keys: list[Column], first: tuple[str, ...] = ()) -> list[int]:
    """The key groups of rows, in a dictionary that has met the strings `first` before."""
    dictionaries = Dictionaries()
    dictionaries.of(SCHEMA.type_of("s")).encode(first)
    train = train_of(SCHEMA, rows, range(len(rows)), range(len(rows)), dictionaries)
    router = Router(SCHEMA, keys, 128, 4, Context(dictionaries))
    return [int(g) for g in router.key_groups(train)]


ROW = (7, "x", 1.5, None, (1, None))


def test_a_group_depends_on_the_values_alone() -> None:
    assert groups([ROW], KEYS) == groups([ROW], KEYS, ("q", "y", "x"))
    assert groups([ROW, ROW], KEYS)[0] == groups([ROW], KEYS)[0]


@pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), (float("nan"), -float("nan"))])
def test_equal_doubles_go_together(a: float, b: float) -> None:
    rows = [(1, "x", v, None, None) for v in (a, b)]
    assert len(set(groups(rows, KEYS[2:3]))) == 1


@pytest.mark.parametrize("column", range(len(KEYS)))
def test_nulls_go_together(column: int) -> None:
    assert len(set(groups([(None,) * 5, (None,) * 5], KEYS[column : column + 1]))) == 1


@pytest.mark.parametrize("key", [0, 1])
def test_keys_are_spread_evenly(key: int) -> None:
    rows = [(i, f"k{i}", 0.0, None, None) for i in range(12_800)]
    found = np.bincount(groups(rows, KEYS[key : key + 1]), minlength=128)
    assert found.min() > 60
    assert found.max() < 150


def test_a_split_keeps_every_row_in_its_order() -> None:
    dictionaries = Dictionaries()
    train = train_of(SCHEMA, [(i % 9, "x", 0.0, None, None) for i in range(50)], range(50), range(50), dictionaries)
    parts = Router(SCHEMA, KEYS[:1], 128, 3, Context(dictionaries)).split(train)
    assert sorted(t for p in parts for t in p.ts.tolist()) == list(range(50))
    assert all((np.diff(p.ts) > 0).all() for p in parts)
    keys = [set(p.column(0).values.tolist()) for p in parts]
    assert not (keys[0] & keys[1] or keys[0] & keys[2] or keys[1] & keys[2])


def test_without_a_route_all_goes_to_the_first_lane() -> None:
    dictionaries = Dictionaries()
    train = train_of(SCHEMA, [ROW, ROW], [1, 2], [0, 1], dictionaries)
    assert [len(p) for p in Router(SCHEMA, [], 128, 3, Context(dictionaries)).split(train)] == [2, 0, 0]
