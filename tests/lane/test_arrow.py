"""Columns to vectors and back: nothing is lost, whatever the type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.lane.arrow import array_of, arrow_schema, table_of, vector_of
from penstock.lane.rows import rows_of
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.plan.schema import Schema
from penstock.plan.types import parse_type

CASES: list[tuple[str, list[Any]]] = [
    ("boolean", [True, None, False]),
    ("int", [1, None, -(2**31)]),
    ("bigint", [2**63 - 1, None, -(2**63)]),
    ("double", [1.5, None, float("inf")]),
    ("string", ["a", None, "", "a", "ü"]),
    ("timestamp", [0, None, -1]),
    ("interval", [5, None, -5]),
    ("date", [0, None, 20_000]),
    ("decimal(12,2)", [Decimal("1.25"), None, Decimal("-9999999999.99")]),
    ("decimal(30,3)", [Decimal("1.250"), None, Decimal("123456789012345678901234567.125")]),
    ("array<int>", [[1, None], None, []]),
]


@pytest.mark.parametrize(("name", "values"), CASES)
def test_there_and_back(name: str, values: list[Any]) -> None:
    t = parse_type(name)
    dictionaries = Dictionaries()
    field = arrow_schema(Schema.of([("x", t)])).field("x")
    given = pa.array(values, pa.int64() if name == "timestamp" else pa.int32() if name == "date" else field.type)
    column = given.cast(field.type)
    back = array_of(vector_of(column, t, dictionaries), t, dictionaries)
    assert back.type == field.type
    assert back.equals(column)
    assert array_of(vector_of(column[1:], t, dictionaries), t, dictionaries).equals(column[1:])


def test_chunks_dictionaries_and_large_strings() -> None:
    dictionaries = Dictionaries()
    t = parse_type("string")
    chunked = pa.chunked_array([["a", "b"], [None, "a"]])
    for column in (chunked, chunked.dictionary_encode(), chunked.cast(pa.large_string())):
        vector = vector_of(column, t, dictionaries)
        assert rows_of(Train([vector], np.zeros(4, np.int64)), Schema.of([("x", t)]), dictionaries) == [
            ("a",), ("b",), (None,), ("a",),
        ]  # fmt: skip


def test_a_result_as_a_table() -> None:
    schema, dictionaries = Schema.parse("k string, n int"), Dictionaries()
    columns = [vector_of(pa.array(["x", "y"]), schema.types[0], dictionaries),
               vector_of(pa.array([1, None], pa.int32()), schema.types[1], dictionaries)]  # fmt: skip
    train = Train(columns, np.array([5, 6]), np.array([1, -1], np.int8))
    assert table_of(train, schema, dictionaries, signed=True).to_pylist() == [
        {"k": "x", "n": 1, "_timestamp": 5, "_sign": 1},
        {"k": "y", "n": None, "_timestamp": 6, "_sign": -1},
    ]
