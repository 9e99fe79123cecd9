"""Aggregates over relations: against the naive reference, over random data, windows and cuts; and what users see."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.plan import aggregates, functions
from penstock.plan.expressions import Column, Literal
from penstock.plan.functions import call as expression
from penstock.plan.node import Node
from penstock.plan.nodes import Aggregate, AggregateCall, Filter, Union, Window
from penstock.plan.schema import Schema
from penstock.plan.types import INT
from penstock.plan.windows import Range, Rows, SlideRange, WindowSpec
from tests.operators.harness import TYPES, Element, Runner, check, cuts, events, histories, run, source

INF = float("inf")
NUMBERS = ("int", "bigint", "double", "decimal(5,2)", "decimal(30,2)", "interval")
ANY = ("count", "min", "max")
EDGES = ("first", "last")
MOMENTS = ("variance", "var_pop", "stddev", "stddev_pop")
WINDOWS: tuple[WindowSpec, ...] = (
    Range(3), Range(0), Range(None), Rows(2), Rows(3, ("k",)), SlideRange(4, 2), SlideRange(2, 5, 1),
)  # fmt: skip


def call(
    schema: Schema, function: str, argument: str | None = None, *parameters: Any, distinct: bool = False
) -> AggregateCall:
    """An aggregate whose output is named after it."""
    t = None if argument is None else schema.type_of(argument)
    name = "_".join([function, argument or "all", *map(str, parameters), *["distinct"] * distinct])
    result = aggregates.resolve(function, t, parameters, distinct)
    return AggregateCall(name, function, argument, result, distinct, parameters)


def calls(schema: Schema, columns: list[str], edges: bool = True) -> tuple[AggregateCall, ...]:
    """Every aggregate that the columns allow."""
    made = [call(schema, "count")]
    for column in columns:
        made += [call(schema, f, column) for f in (*ANY, *(EDGES if edges else ()))]
        made.append(call(schema, "count", column, distinct=True))
        t = schema.type_of(column)
        if str(t) in NUMBERS:
            made += [call(schema, f, column, distinct=d) for f in ("sum", "avg") for d in (False, True)]
        if t.numeric:
            made += [call(schema, f, column) for f in MOMENTS]
            made += [call(schema, "approx_quantile", column, q) for q in (0.0, 0.3, 1.0)]
    return tuple(made)


@given(st.data())
def test_every_aggregate_of_every_type_equals_its_reference(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
    schema = Schema.parse("k int, " + ", ".join(f"c{i} {t}" for i, t in enumerate(kinds)))
    window = Window(source("S", ", ".join(f"{f.name} {f.type}" for f in schema)), data.draw(st.sampled_from(WINDOWS)))
    keys = data.draw(st.sampled_from([(), ("k",), ("k", "c0")]))
    node = Aggregate(window, keys, calls(schema, [f"c{i}" for i in range(len(kinds))]))
    check(node, {"S": data.draw(histories(schema))}, data.draw(cuts()))


@given(st.data())
def test_rows_without_an_order(data: st.DataObject) -> None:
    """Over a union nothing has a place in a stream: rows come and go by value, `-` and `+` of one row within an
    instant.
    """
    schema = Schema.parse("k int, x double, s string")
    parts = tuple(Window(source(n, "k int, x double, s string"), data.draw(st.sampled_from(WINDOWS))) for n in "ST")
    node = Aggregate(Union(parts), ("k",), calls(schema, ["x", "s"], edges=False))
    check(node, {n: data.draw(histories(schema)) for n in "ST"}, data.draw(cuts()))


@given(st.data())
def test_aggregates_of_aggregates(data: st.DataObject) -> None:
    schema = Schema.parse("k int, x int")
    inner = Aggregate(
        Window(source("S", "k int, x int"), Range(2)), ("k",), (call(schema, "sum", "x"), call(schema, "max", "x"))
    )
    outer = Aggregate(inner, ("max_x",), calls(inner.schema, ["sum_x"], edges=False))
    check(outer, {"S": data.draw(histories(schema))}, data.draw(cuts()))


def test_a_group_comes_changes_and_goes() -> None:
    schema = Schema.parse("k int, x int")
    node = Aggregate(Window(source("S", "k int, x int"), Range(4)), ("k",), (call(schema, "sum", "x"),))
    emitted = run(node, {"S": events((0, 1, 10), (2, 1, 5), (2, 2, 7), (3, 1, 0))}, cuts=[3])
    assert emitted == [
        Element(0, 1, (1, 10)),
        Element(2, -1, (1, 10)), Element(2, 1, (1, 15)), Element(2, 1, (2, 7)),
        Element(5, -1, (1, 15)), Element(5, 1, (1, 5)),
        Element(7, -1, (1, 5)), Element(7, 1, (1, 0)), Element(7, -1, (2, 7)),
        Element(8, -1, (1, 0)),
    ]  # fmt: skip


def test_without_group_by_an_empty_window_has_no_row() -> None:
    schema = Schema.parse("x int")
    node = Aggregate(Window(source("S", "x int"), Range(0)), (), (call(schema, "count"),))
    assert run(node, {"S": events((5, 1), (5, 2))}) == [Element(5, 1, (2,)), Element(6, -1, (2,))]


def test_nan_and_infinity_leave_with_their_rows() -> None:
    schema = Schema.parse("x double")
    node = Aggregate(Window(source("S", "x double"), Rows(1)), (), (call(schema, "sum", "x"), call(schema, "avg", "x")))
    history = events((0, 1e308), (1, float("nan")), (2, INF), (3, -INF), (4, 5e-324))
    shown = [e.row for e in run(node, {"S": history}) if e.sign > 0]
    assert [str(v) for v, _ in shown] == ["1e+308", "nan", "inf", "-inf", "5e-324"]


def test_sums_of_integers_are_null_only_when_the_result_does_not_fit() -> None:
    schema = Schema.parse("x bigint")
    top = 2**63 - 1
    node = Aggregate(
        Window(source("S", "x bigint"), Range(None)), (), (call(schema, "sum", "x"), call(schema, "avg", "x"))
    )
    shown = [e.row for e in run(node, {"S": events((0, top), (1, top), (2, -top), (3, -(2**63)))}) if e.sign > 0]
    assert shown == [(top, float(top)), (None, float(top)), (top, top / 3), (-1, -0.25)]


def test_decimals_keep_all_their_digits() -> None:
    schema = Schema.parse("d decimal(38, 2)")
    node = Aggregate(
        Window(source("S", "d decimal(38,2)"), Range(None)), (), (call(schema, "sum", "d"), call(schema, "avg", "d"))
    )
    big, less, small = Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36 + ".99"), Decimal("0.01")
    shown = [e.row for e in run(node, {"S": events((0, big), (1, small), (2, less), (3, small))}) if e.sign > 0]
    assert shown[1][0] is None, "10**36 has a digit too many"
    assert shown[2] == (small, Decimal("0.003333"))
    assert shown[3] == (Decimal("0.02"), Decimal("0.005000"))


def test_intervals_add_up_and_average_to_the_microsecond() -> None:
    schema = Schema.parse("d interval")
    made = (call(schema, "sum", "d"), call(schema, "avg", "d"), call(schema, "max", "d"))
    node = Aggregate(Window(source("S", "d interval"), Range(None)), (), made)
    history = {"S": events((0, 5), (1, None), (2, 2), (3, -12))}
    assert [e.row for e in run(node, history) if e.sign > 0] == [(5, 5, 5), (7, 4, 5), (-5, -2, 5)]
    check(node, history)


def test_a_group_without_aggregates_is_distinct() -> None:
    node = Aggregate(Window(source("S", "k int"), Range(1)), ("k",), ())
    assert run(node, {"S": events((0, 1), (1, 1))}) == [Element(0, 1, (1,)), Element(3, -1, (1,))]


def test_a_users_aggregate_sees_its_rows_in_order_and_without_nulls() -> None:
    @functions.aggregate(returns="string", name="joined_in_test")
    class Joined:
        def init(self) -> str:
            return ""

        def incr(self, state: str, value: str) -> str:
            if value == "bad":
                raise ValueError(value)
            return state + value

        def final(self, state: str) -> str:
            return state

    schema = Schema.parse("s string")
    node = Aggregate(Window(source("S", "s string"), Rows(3)), (), (call(schema, "joined_in_test", "s"),))
    history = {"S": events((0, "b"), (1, "a"), (2, None), (3, "c"), (4, "bad"))}
    runner = Runner([node])
    shown = [e.row[0] for e in runner.feed(history, [2, 9])[node] if e.sign > 0]
    assert shown == ["b", "ba", "ac", "c"]
    assert runner.context.set_aside == {"joined_in_test": 1}
    check(node, history, [1, 3])
    for owner in (Plain, OnItself):
        functions.aggregate(returns="bigint", name="total_in_test")(owner)
        made = (call(Schema.parse("x int"), "total_in_test", "x"),)
        summing = Aggregate(Window(source("S", "x int"), Rows(2)), (), made)
        assert [e.row[0] for e in run(summing, {"S": events((0, 1), (1, 2), (2, 5))}) if e.sign > 0] == [1, 3, 7]
    for name in ("joined_in_test", "total_in_test"):
        del functions.user_functions.aggregates[name]


class Plain:
    """State passed between functions that know no instance."""

    def init() -> int:  # type: ignore[misc]
        return 0

    def incr(state: int, value: int) -> int:  # type: ignore[misc]
        return state + value

    def final(state: int) -> int:  # type: ignore[misc]
        return state


class OnItself:
    """State on the instance."""

    def init(self) -> None:
        self.total = 0

    def incr(self, value: int) -> None:
        self.total += value

    def final(self) -> int:
        return self.total


def test_first_and_last_need_an_order() -> None:
    schema = Schema.parse("x int")
    window = Window(source("S", "x int"), Range(5))
    over_filter = Filter(window, expression(">", Column("x", INT), Literal(0, INT)))
    Runner([Aggregate(over_filter, (), (call(schema, "first", "x"),))])
    with pytest.raises(PenstockError, match=r"last\(x\) needs rows in order"):
        Runner([Aggregate(Union((window, window)), (), (call(schema, "last", "x"),))])


def test_state_is_given_back() -> None:
    """A thousand groups, a few at a time: memory stays that of a few."""
    schema = Schema.parse("k int, s string")
    node = Aggregate(Window(source("S", "k int, s string"), Range(3)), ("k",), calls(schema, ["s"]))
    runner = Runner([node])
    sizes = []
    for t in range(0, 1000, 50):
        runner.feed({"S": events(*((t + i, t + i, str(i)) for i in range(50)))}, [t + 50])
        sizes.append(runner.operators[node].nbytes())
    assert sizes[-1] == sizes[1]


def test_a_copy_after_a_stop_goes_on() -> None:
    schema = Schema.parse("k int, x double, s string, d decimal(30,2)")
    node: Node = Aggregate(
        Window(source("S", "k int, x double, s string, d decimal(30,2)"), Range(3)),
        ("k",),
        calls(schema, ["x", "s", "d"]),
    )
    rows = [(t, t % 2, t / 3, "ab"[t % 2], Decimal(t)) for t in range(12)]
    whole = Runner([node])
    before = whole.feed({"S": events(*rows[:6])}, [6])
    copy = whole.copied()
    after = copy.feed({"S": events(*rows[6:])}, [20])
    assert before[node] + after[node] == Runner([node]).feed({"S": events(*rows)}, [6, 20])[node]
