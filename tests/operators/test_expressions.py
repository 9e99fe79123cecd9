"""Expressions on trains give, row by row, what the plain meaning gives: for random expressions of every function over
random rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.operators.vector_eval import compiled, predicate, to_values
from penstock.plan.expressions import Column, Expression, Literal, format_expression
from penstock.plan.fold import fold
from penstock.plan.functions import call, cast, evaluate
from penstock.plan.functions.casts import possible
from penstock.plan.functions.function import Function
from penstock.plan.functions.registry import FUNCTIONS
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, BOOLEAN, Type
from tests.operators.expression_cases import (
    SCHEMA,
    SKIPPED,
    TYPES,
    applications,
    expressions,
    rows,
    same,
    telling_rows,
    train_of,
)

ANY = st.sampled_from(TYPES).flatmap(expressions)


def by_rows(expression: Expression, rows: list[tuple[Any, ...]]) -> list[Any]:
    return [evaluate(expression, dict(zip(SCHEMA.names, row, strict=True))) for row in rows]


def check(expression: Expression, given_rows: list[tuple[Any, ...]], cut: int, picks: list[int]) -> None:
    context = Context()
    run = compiled(expression, SCHEMA, context)
    chosen = [p % len(given_rows) for p in picks] if given_rows else []
    for part, selected in ((given_rows[:cut], None), (given_rows[cut:], None), (given_rows, chosen)):
        vector = run(train_of(part, context, selected))
        got = to_values(vector, expression.type, context)
        wanted = by_rows(expression, part if selected is None else [part[i] for i in selected])
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            assert same(a, b), f"{format_expression(expression)}: {a!r} on a train, {b!r} by itself"
        if vector.nulls is not None:
            assert not vector.values[vector.nulls].any(), "values below NULL are 0"


@settings(max_examples=300)
@given(ANY, rows(), st.integers(0, 6), st.lists(st.integers(0, 5), max_size=8))
def test_an_expression_on_trains_is_its_plain_meaning(
    expression: Expression, rows: list[tuple[Any, ...]], cut: int, picks: list[int]
) -> None:
    check(expression, rows, cut, picks)


ROWS = telling_rows(60)
CALLED = [f for f in FUNCTIONS.values() if f.name not in SKIPPED]


def check_function(function: Function, data: st.DataObject) -> None:
    expression = data.draw(applications(data.draw(st.sampled_from(function.signatures))))
    if expression is not None:
        check(expression, ROWS, 50, [0, 2, 2])


@pytest.mark.parametrize("function", CALLED, ids=lambda f: f.name)
@settings(max_examples=5)
@given(st.data())
def test_each_function_on_trains(function: Function, data: st.DataObject) -> None:
    check_function(function, data)


@pytest.mark.slow
@pytest.mark.parametrize("function", CALLED, ids=lambda f: f.name)
@settings(max_examples=200)
@given(st.data())
def test_each_function_at_length(function: Function, data: st.DataObject) -> None:
    check_function(function, data)


@pytest.mark.parametrize("source", TYPES, ids=str)
def test_casts_on_trains(source: Type) -> None:
    column = next(Column(f.name, f.type) for f in SCHEMA if f.type == source)
    for target in TYPES:
        if possible(source, target):
            check(cast(column, target), ROWS, 50, [0, 2, 2])


LARGEST = (1 << 63) - 1
EDGES = (-LARGEST - 1, -LARGEST, -1, 0, 1, LARGEST)


@pytest.mark.parametrize("function", ["+", "-"])
@pytest.mark.parametrize("constant", EDGES)
def test_constants_that_lead_past_64_bits(function: str, constant: int) -> None:
    schema, context = Schema.parse("a bigint"), Context()
    added = Literal(constant, BIGINT)
    for expression in (call(function, Column("a", BIGINT), added), call(function, added, Column("a", BIGINT))):
        vector = compiled(expression, schema, context)(Train([Vector(np.array(EDGES))], np.zeros(len(EDGES), np.int64)))
        assert to_values(vector, BIGINT, context) == [evaluate(expression, {"a": a}) for a in EDGES]


@given(expressions(BOOLEAN), rows())
def test_a_predicate_keeps_the_rows_for_which_it_is_true(expression: Expression, rows: list[tuple[Any, ...]]) -> None:
    context = Context()
    kept = predicate(expression, SCHEMA, context)(train_of(rows, context))
    assert kept.ts.tolist() == [i for i, value in enumerate(by_rows(expression, rows)) if value is True]


@given(ANY, rows())
def test_folding_changes_no_value(expression: Expression, rows: list[tuple[Any, ...]]) -> None:
    folded = fold(expression)
    assert folded.type == expression.type
    assert all(map(same, by_rows(folded, rows), by_rows(expression, rows)))
