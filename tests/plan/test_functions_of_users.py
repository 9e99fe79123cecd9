"""Functions and aggregates that users write: registering, calling, what they see, what becomes of failures."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from penstock.errors import PenstockError
from penstock.plan.expressions import Column, Literal, format_expression
from penstock.plan.functions import SetAside, aggregate, call, can_raise, evaluate, expensive, function, user_functions
from penstock.plan.functions.user import UserFunctions
from penstock.plan.types import BIGINT, DATE, DOUBLE, INT, STRING, Type, array, decimal

X = Column("x", BIGINT)


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Each test leaves the registry as it found it."""
    kept = dict(user_functions.functions), dict(user_functions.aggregates)
    yield
    user_functions.functions, user_functions.aggregates = kept


def increased(x: Any) -> Any:
    return x + 1


def test_a_function_gets_arrays_and_never_a_null() -> None:
    seen = []

    @function(returns="bigint")
    def doubled(x: Any) -> Any:
        seen.append(x)
        return x * 2

    twice = call("DOUBLED", X)
    assert (evaluate(twice, {"x": 21}), evaluate(twice, {"x": None})) == (42, None)
    assert len(seen) == 1 and isinstance(seen[0], np.ndarray) and seen[0].dtype == np.int64
    assert twice.type == BIGINT and can_raise(twice) and expensive(twice)


@pytest.mark.parametrize(
    ("value", "t", "seen"),
    [
        ("é", STRING, "é"),
        (0, DATE, dt.date(1970, 1, 1)),
        (Decimal("1.50"), decimal(5, 2), Decimal("1.50")),
        ((1, None), array(INT), [1, None]),
        (1.5, DOUBLE, 1.5),
    ],
)
def test_what_a_function_sees_of_a_value(value: Any, t: Type, seen: Any) -> None:
    caught = []
    function(returns="boolean", name="caught")(lambda x: caught.append(x.tolist()) or [True])
    assert evaluate(call("caught", Column("v", t)), {"v": value}) is True
    assert caught == [[seen]]


@pytest.mark.parametrize(
    ("given", "returns", "value"),
    [
        (np.array([1.0]), "bigint", 1),
        ([None], "bigint", None),
        ([dt.date(1970, 1, 2)], "date", 1),
        (["2.5"], "decimal(5,2)", Decimal("2.50")),
        (np.array([1]), "double", 1.0),
        (np.array([True]), "boolean", True),
        ([[1, 2]], "array<int>", (1, 2)),
    ],
)
def test_results_become_values_of_the_declared_type(given: Any, returns: str, value: Any) -> None:
    function(returns=returns, name="given")(lambda x: given)
    got = evaluate(call("given", X), {"x": 1})
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize("given", [["a"], [1.5], [2**63], [1, 2], []])
def test_a_failure_or_a_wrong_result_sets_the_row_aside(given: list[Any]) -> None:
    function(returns="bigint", name="wrong")(lambda x: given)
    with pytest.raises(SetAside) as caught:
        evaluate(call("wrong", X), {"x": 1})
    assert caught.value.function == "wrong"


def test_one_value_for_all_rows_is_a_mistake_and_not_a_failing_row() -> None:
    function(returns="boolean", name="scalar")(lambda x: True)
    with pytest.raises(PenstockError, match="returned bool"):
        evaluate(call("scalar", X), {"x": 1})


def test_declared_arguments_are_cast_and_checked() -> None:
    function(returns="double", takes=["double", "string"], name="declared")(lambda x, s: x)
    assert format_expression(call("declared", X, Literal("a", STRING))) == "declared(cast(x as double), 'a')"
    with pytest.raises(PenstockError, match=r"'declared' takes \(double, string\)"):
        call("declared", Column("v", array(INT)), Literal("a", STRING))


def test_a_wrong_number_of_arguments_is_said_when_the_query_is_read() -> None:
    function(returns="bigint")(increased)
    with pytest.raises(PenstockError) as caught:
        call("increased", X, X)
    assert "does not take 2 arguments" in str(caught.value) and "increased(x) -> bigint" in str(caught.value)


def test_a_built_in_name_is_taken() -> None:
    with pytest.raises(PenstockError, match="'lower' is a built-in function"):
        function(returns="string", name="Lower")(increased)


def test_unknown_functions_are_compared_with_users_too() -> None:
    function(returns="bigint")(increased)
    with pytest.raises(PenstockError) as caught:
        call("increasd", X)
    assert "did you mean 'increased'?" in str(caught.value)


def test_aggregates_in_both_styles() -> None:
    @aggregate
    class total:
        returns = "bigint"

        def init(self) -> None:
            self.sum = 0

        def incr(self, value: int) -> None:
            self.sum += value

        def final(self) -> int:
            return self.sum

    @aggregate(name="Passed")
    class Other:
        def init(self) -> int:
            return 0

        def incr(self, state: int, value: int) -> int:
            return state + value

        def decr(self, state: int, value: int) -> int:
            return state - value

        def final(self, state: int) -> int:
            return state

    kept, passed = user_functions.aggregates["total"], user_functions.aggregates["passed"]
    assert (kept.returns, kept.keeps_state, kept.invertible, kept.factory) == (BIGINT, True, False, total)
    assert (passed.returns, passed.keeps_state, passed.invertible) == (DOUBLE, False, True)


def test_an_aggregate_without_a_step_is_refused() -> None:
    class lame:
        def init(self) -> None: ...
        def final(self) -> None: ...

    with pytest.raises(PenstockError, match="has no incr"):
        aggregate(lame)


def test_entries_travel() -> None:
    function(returns="bigint")(increased)
    sent = pickle.dumps(tuple(e for e in user_functions.entries() if e.name == "increased"))
    other = UserFunctions()
    other.install(pickle.loads(sent))
    assert other.functions["increased"].callable(1) == 2
