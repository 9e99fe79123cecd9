"""Users' functions on trains: one call a train, failing rows set aside and counted once, whatever the cuts."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.vector_eval import compiled, predicate, projection, to_values, to_vector
from penstock.plan.expressions import Column, Expression, Literal
from penstock.plan.functions import SetAside, call, evaluate, function, user_functions
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING

SCHEMA = Schema.parse("x bigint, s string")
X, S = Column("x", BIGINT), Column("s", STRING)
calls: list[int] = []


def fussy(x: Any) -> Any:
    """Takes no negative numbers."""
    calls.append(len(x))
    if (x < 0).any():
        raise ValueError(x)
    return x * 10


def odd(x: Any) -> Any:
    """Takes no multiples of five."""
    if (x % 5 == 0).any():
        raise ValueError(x)
    return x % 2 == 1


def shout(s: Any, x: Any) -> Any:
    return [f"{text}{'!' * int(times)}" for text, times in zip(s, x, strict=True)]


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    kept = dict(user_functions.functions)
    function(returns="bigint")(fussy)
    function(returns="boolean")(odd)
    function(returns="string")(shout)
    calls.clear()
    yield
    user_functions.functions = kept


def train(xs: list[Any], context: Context, sign: list[int] | None = None) -> Train:
    texts = [None if x is None else "abc"[x % 3] for x in xs]
    columns = [to_vector(xs, BIGINT, context), to_vector(texts, STRING, context)]
    return Train(columns, np.arange(len(xs)), None if sign is None else np.array(sign, np.int8))


def whole(value: int) -> Literal:
    return Literal(value, INT)


def test_one_call_for_a_train_and_none_for_nulls() -> None:
    context = Context()
    vector = compiled(call("fussy", X), SCHEMA, context)(train([1, None, 3], context))
    assert to_values(vector, BIGINT, context) == [10, None, 30]
    assert calls == [2] and context.set_aside == {}


def test_no_call_where_there_is_nothing_to_call_for() -> None:
    context = Context()
    vector = compiled(call("fussy", X), SCHEMA, context)(train([None, None], context))
    assert to_values(vector, BIGINT, context) == [None, None] and calls == []


def test_failing_rows_are_named_and_counted() -> None:
    context = Context()
    with pytest.raises(SetAside) as caught:
        compiled(call("fussy", X), SCHEMA, context)(train([1, -1, None, 2, -2], context))
    assert caught.value.rows is not None and caught.value.rows.tolist() == [1, 4]
    assert context.set_aside == {"fussy": 2}


def test_halving_finds_one_failing_row_in_few_calls() -> None:
    context = Context()
    xs = [*range(300), -1, *range(199)]
    kept = predicate(call(">=", call("fussy", X), whole(0)), SCHEMA, context)(train(xs, context))
    assert len(kept) == 499 and len(calls) <= 2 * 9 + 2


def test_a_projection_leaves_failing_rows_out() -> None:
    context = Context()
    kept, (tens, odds) = projection([call("fussy", X), call("odd", X)], SCHEMA, context)(
        train([1, -3, 5, 2, -5], context)
    )
    assert kept.ts.tolist() == [0, 3]
    assert to_values(tens, BIGINT, context) == [10, 20] and to_values(odds, BOOLEAN, context) == [True, False]
    assert context.set_aside == {"fussy": 2, "odd": 1}


def test_a_deletion_of_a_failing_row_is_not_counted_again() -> None:
    context = Context()
    keep = predicate(call("odd", X), SCHEMA, context)
    assert len(keep(train([5, 1], context))) == 1
    assert len(keep(train([5, 1], context, sign=[-1, -1]))) == 1
    assert context.set_aside == {"odd": 1}


def test_what_is_not_reached_does_not_fail() -> None:
    context = Context()
    guarded = call("or", call("<", X, whole(0)), call(">", call("fussy", X), whole(0)))
    chosen = call("case", call("<", X, whole(0)), whole(-1), call("fussy", X))
    found = call("coalesce", call("case", call("<", X, whole(0)), X, Literal(None, NULL)), call("fussy", X))
    for expression in (
        guarded,
        chosen,
        found,
        call("and", call(">=", X, whole(0)), call("=", call("fussy", X), whole(20))),
    ):
        got = to_values(
            compiled(expression, SCHEMA, context)(train([-1, 2, None, -3], context)), expression.type, context
        )
        assert got == [evaluate(expression, {"x": x}) for x in (-1, 2, None, -3)]
    assert context.set_aside == {}


def test_a_failure_inside_a_choice_is_placed_in_the_train() -> None:
    context = Context()
    expression = call("case", call("=", X, whole(0)), whole(0), call("fussy", X))
    kept, (values,) = projection([expression], SCHEMA, context)(train([0, -1, 0, 3, -2], context))
    assert kept.ts.tolist() == [0, 2, 3] and to_values(values, BIGINT, context) == [0, 0, 30]


def test_a_function_cannot_change_what_others_see() -> None:
    def spoil(x: Any) -> Any:
        x[:] = 0
        return x

    function(returns="bigint")(spoil)
    context = Context()
    rows = train([1, 2], context)
    compiled(call("spoil", X), SCHEMA, context)(rows)
    assert rows.column(0).values.tolist() == [1, 2]


def filters() -> list[Expression]:
    return [
        call("odd", X),
        call("and", call(">", X, whole(-3)), call("odd", X)),
        call("and", call("odd", X), call(">", call("fussy", X), whole(20))),
        call("or", call("=", X, whole(5)), call("odd", X)),
        call("not", call("or", call("odd", X), call("<", call("fussy", X), whole(50)))),
        call("=", call("shout", S, call("abs", X)), Literal("b!", STRING)),
        call("<", call("+", call("fussy", X), Literal(0.5, DOUBLE)), call("fussy", X)),
    ]


@given(st.integers(0, 6), st.lists(st.none() | st.integers(-6, 9), max_size=12), st.integers(0, 12))
def test_filters_keep_and_count_the_same_rows_for_any_cut(which: int, xs: list[Any], cut: int) -> None:
    expression = filters()[which]
    contexts = Context(), Context()
    whole_train, keep = train(xs, contexts[0]), predicate(expression, SCHEMA, contexts[0])
    at_once = [int(t) for t in keep(whole_train).ts]
    keep = predicate(expression, SCHEMA, contexts[1])
    parts = train(xs, contexts[1])
    in_parts = [
        int(t)
        for part in (parts.slice(0, min(cut, len(xs))), parts.slice(min(cut, len(xs)), len(xs)))
        for t in keep(part).ts
    ]
    assert at_once == in_parts == [i for i, x in enumerate(xs) if kept_by_itself(expression, x)]
    assert contexts[0].set_aside == contexts[1].set_aside


def kept_by_itself(expression: Expression, x: int | None) -> bool:
    try:
        return evaluate(expression, {"x": x, "s": None if x is None else "abc"[x % 3]}) is True
    except SetAside:
        return False


def test_expressions_that_are_ready_can_be_pickled() -> None:
    context = Context()
    parts = (compiled(call("+", X, whole(1)), SCHEMA, context), predicate(call(">", X, whole(1)), SCHEMA, context),
             projection([X, S], SCHEMA, context))  # fmt: skip
    (plus, keep, both), context = pickle.loads(pickle.dumps((parts, context)))
    rows = train([1, 2], context)
    assert plus(rows).values.tolist() == [2, 3] and keep(rows).ts.tolist() == [1] and len(both(rows)[1]) == 2
