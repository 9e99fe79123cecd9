"""Expressions over strings run once for each distinct value, and notice when a dictionary gives codes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.vector_eval import by_code, compiled, predicate, to_values, to_vector
from penstock.plan.expressions import Column, Expression, Literal
from penstock.plan.functions import call, evaluate
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, array

SCHEMA = Schema.parse("s string, n bigint, v array<double>")
S, N, V = Column("s", STRING), Column("n", BIGINT), Column("v", array(DOUBLE))


def text(value: str) -> Literal:
    return Literal(value, STRING)


def train(texts: list[str | None], context: Context) -> Train:
    columns = [to_vector(texts, STRING, context), to_vector([len(t or "") for t in texts], BIGINT, context)]
    return Train([*columns, to_vector([None] * len(texts), array(DOUBLE), context)], np.arange(len(texts)))


def test_a_predicate_on_a_string_is_evaluated_once_for_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[Any] = []

    def counted(expression: Expression, row: dict[str, Any]) -> Any:
        evaluated.append(row["s"])
        return evaluate(expression, row)

    monkeypatch.setattr(by_code, "evaluate", counted)
    context = Context()
    keep = predicate(call("like", call("lower", call("trim", S)), text("a%")), SCHEMA, context)
    assert keep(train(["Ab", "b", "Ab", None, "Ab"], context)).ts.tolist() == [0, 2, 4]
    assert keep(train(["b", " aX", "Ab"], context)).ts.tolist() == [1, 2]
    assert sorted(evaluated, key=str) == [" aX", "Ab", None, "b"]


EXPRESSIONS = [
    call("upper", S),
    call("length", S),
    call("=", call("lower", S), text("a")),
    call("=", S, text("a")),
    call("<>", text("a"), S),
    call("<", S, text("b")),
    call("in", S, text("a"), text("c"), Literal(None, NULL)),
    call("coalesce", S, text("none")),
    call("case", call("=", S, text("a")), Literal(1, INT), call("is_null", S), Literal(2, INT)),
    call("split", S, text("b")),
    call("concat", S, text("!"), S),
    call("concat", S, N),
    call("case", call(">", N, Literal(1, INT)), text("long"), S),
    call("=", S, call("left", S, Literal(1, INT))),
    call("nullif", S, text("a")),
]


@given(
    st.sampled_from(EXPRESSIONS),
    st.lists(st.lists(st.none() | st.sampled_from(["", "a", "A", "b", "ab", "c", "d", "e"])), max_size=5),
)
def test_sweeps_between_trains_change_no_result(expression: Expression, trains: list[list[str | None]]) -> None:
    """Before each train all codes of the trains before it are given back, and taken by other values."""
    context = Context()
    run = compiled(expression, SCHEMA, context)
    for texts in trains:
        for t in (STRING, array(STRING)):
            dictionary = context.dictionaries.of(t)
            dictionary.sweep(np.zeros(len(dictionary.values), np.bool_))
        got = to_values(run(train(texts, context)), expression.type, context)
        assert got == [evaluate(expression, {"s": t, "n": len(t or "")}) for t in texts]


def test_an_array_with_nan_equals_itself() -> None:
    context = Context()
    rows = [(float("nan"), 1.0), (float("nan"), 1.0), (float("nan"), 2.0), None]
    columns = [
        to_vector([None] * 4, STRING, context),
        to_vector([0] * 4, BIGINT, context),
        to_vector(rows, V.type, context),
    ]
    same = call("=", V, Literal((float("nan"), 1.0), V.type))
    rows_of = Train(columns, np.arange(4))
    assert to_values(compiled(same, SCHEMA, context)(rows_of), BOOLEAN, context) == [True, True, False, None]
    assert columns[2].values[0] == columns[2].values[1] != columns[2].values[2]
