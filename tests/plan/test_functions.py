"""Names, types and mistakes of functions; the page that lists them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from penstock.cql import parse_expression
from penstock.errors import PenstockError
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.vector_eval import compiled, to_values
from penstock.plan.expressions import Call, Column, Expression, Literal, conjuncts, format_expression
from penstock.plan.functions import call, can_raise, cast, evaluate, expensive, known_functions, resolve
from penstock.plan.functions.page import page
from penstock.plan.functions.registry import GROUPS
from penstock.plan.functions.user import user_functions
from penstock.plan.schema import Schema
from penstock.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    array,
    decimal,
    parse_type,
)

SCHEMA = Schema.parse(
    "i int, n bigint, x double, d decimal(10, 2), s string, b boolean, t timestamp, a date, k interval"
)
J, N, X, D, S, B, T, A, K = (Column(f.name, f.type) for f in SCHEMA)


def text(value: str) -> Literal:
    return Literal(value, STRING)


def whole(value: int) -> Literal:
    return Literal(value, INT)


@pytest.mark.parametrize(
    "expression",
    [
        "date '9999-12-31' + 1",
        "date '0001-01-01' - 1",
        "date_add(date '9999-12-31', 1)",
        "add_months(date '9999-12-31', 1)",
        "make_date(10000, 1, 1)",
        "cast('10000-01-01' as date)",
        "to_date('0000-12-31')",
        "cast(timestamp_s(-62135596801) as date)",
        "to_date(timestamp_s(253402300800))",
    ],
)
def test_a_date_outside_the_years_1_to_9999_is_null(expression: str) -> None:
    """What Python's dates do not hold; on a train as for one row."""
    bound, context = parse_expression(expression, Schema(())), Context()
    assert bound.type == DATE and evaluate(bound, {}) is None
    kernel = compiled(bound, Schema(()), context)(Train([], np.arange(2)))
    assert to_values(kernel, DATE, context) == [None, None]


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("+", "int, int", "bigint"),
        ("-", "int", "bigint"),
        ("*", "bigint, double", "double"),
        ("/", "int, bigint", "double"),
        ("%", "int, int", "int"),
        ("%", "int, bigint", "bigint"),
        ("div", "int, int", "bigint"),
        ("+", "decimal(10,2), int", "decimal(13,2)"),
        ("*", "decimal(10,2), bigint", "decimal(31,2)"),
        ("/", "decimal(10,2), decimal(5,1)", "decimal(17,8)"),
        ("%", "decimal(10,2), decimal(5,1)", "decimal(6,2)"),
        ("*", "decimal(38,10), decimal(38,10)", "decimal(38,6)"),
        ("+", "decimal(10,2), double", "double"),
        ("-", "timestamp, timestamp", "interval"),
        ("-", "date, date", "interval"),
        ("+", "date, int", "date"),
        ("+", "date, interval", "timestamp"),
        ("*", "interval, int", "interval"),
        ("/", "interval, double", "interval"),
        ("=", "date, timestamp", "boolean"),
        ("coalesce", "int, double, null", "double"),
        ("case", "boolean, int, boolean, bigint, decimal(3,1)", "decimal(21,1)"),
        ("array", "int, null, bigint", "array<bigint>"),
        ("element_at", "array<string>, int", "string"),
        ("concat", "string, int, timestamp", "string"),
        ("greatest", "int, double", "double"),
        ("SUBSTRING", "string, int", "string"),
        ("floor", "decimal(10,2)", "decimal(9,0)"),
        ("abs", "decimal(10,2)", "decimal(10,2)"),
        ("year", "date", "int"),
        ("if", "boolean, int, null", "int"),
    ],
)
def test_the_type_of_a_call(name: str, arguments: str, result: str) -> None:
    schema = Schema.parse(", ".join(f"a{i} {t}" for i, t in enumerate(split(arguments)) if t != "null"))
    types = iter(schema.types)
    given = [NULL if t == "null" else next(types) for t in split(arguments)]
    assert str(resolve(name, given)) == result


def split(arguments: str) -> list[str]:
    """The types in a list; commas between parentheses belong to a type."""
    return re.findall(r"[a-z<>]+(?:\([0-9,]+\))?", arguments)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (lambda: call("+", J, whole(1)), "cast(i as bigint) + 1"),
        (lambda: call("<", J, X), "cast(i as double) < x"),
        (lambda: call("=", D, whole(5)), "d = Decimal('5.00')"),
        (lambda: call("*", D, whole(5)), "d * Decimal('5')"),
        (lambda: call(">", T, text("1970-01-01 00:00:01")), "t > 1000000"),
        (lambda: call("=", J, text(" 12 ")), "i = 12"),
        (lambda: call("between", X, whole(1), N), "(x >= 1.0) AND (x <= cast(n as double))"),
        (lambda: call("and", call("and", B, B), B), "b AND b AND b"),
        (lambda: call("nullif", J, N), "case(cast(i as bigint) = n, NULL, i)"),
        (lambda: call("!=", S, Literal(None, NULL)), "s <> NULL"),
        (lambda: call("||", S, J), "concat(s, cast(i as string))"),
        (lambda: call("typeof", call("+", J, J)), "'bigint'"),
        (lambda: call("extract", text("DOY"), A), "dayofyear(a)"),
        (lambda: call("date_part", text("hours"), A), "hour(cast(a as timestamp))"),
        (lambda: call("in", J, whole(1), X), "in(cast(i as double), 1.0, x)"),
        (lambda: cast(J, INT), "i"),
        (lambda: cast(text("x"), BIGINT), "NULL"),
    ],
)
def test_implicit_casts_are_written_out(expression: object, shown: str) -> None:
    assert format_expression(expression()) == shown  # type: ignore[operator]


def test_between_gives_two_conjuncts() -> None:
    assert len(conjuncts(call("between", X, whole(1), N))) == 2


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: call("lowr", S), ["unknown function 'lowr'", "did you mean 'lower'?"]),
        (lambda: call(">", S, whole(5)), ["'>' does not take (string, int)", ">(T, T)", "try cast(s as int)"]),
        (lambda: call("lower", J), ["'lower' does not take (int)", "lower(string) -> string", "try cast(i as string)"]),
        (lambda: call("substr", S), ["'substr' does not take (string)", "substr(string, bigint [, bigint]) -> string"]),
        (lambda: call("lower", S, S), ["'lower' does not take (string, string)"]),
        (lambda: call("and", B, J), ["'and' does not take (boolean, int)"]),
        (lambda: call("+", T, whole(1)), ["'+' does not take (timestamp, int)", "+(timestamp, interval) -> timestamp"]),
        (lambda: call("=", T, whole(1)), ["'=' does not take (timestamp, int)"]),
        (lambda: call("=", T, text("yesterday")), ["'yesterday' is no timestamp", "write it as '2026-01-31 12:00:00'"]),
        (lambda: call("=", J, text("abc")), ["'abc' is no int", "write it as a number"]),
        (lambda: cast(A, BIGINT), ["cannot cast a (date) to bigint", "datediff"]),
        (lambda: cast(K, BIGINT), ["cannot cast k (interval) to bigint", "epoch_us"]),
        (lambda: call("rlike", S, text("(")), ["'(' is no regular expression", "missing )"]),
        (lambda: call("regexp_extract", S, text("a")), ["'a' has 0 groups, and group 1 is asked for"]),
        (lambda: call("like", S, S, text("ab")), ["ESCAPE 'ab' is not one character"]),
        (lambda: call("date_trunc", text("fortnight"), T), ["unknown unit 'fortnight'", "known: day, hour"]),
        (lambda: call("extract", text("yaer"), T), ["unknown unit 'yaer'", "did you mean 'year'?"]),
        (lambda: call("extract", S, T), ["extract needs a constant unit"]),
        (lambda: call("date_format", T, text("yyyy-QQ")), ["'yyyy-QQ' is no pattern for times"]),
        (lambda: call("case", J, J), ["'case' does not take (int, int)"]),
        (lambda: call("element_at", S, J), ["'element_at' does not take (string, int)"]),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_what_to_try(mistake: object, said: list[str]) -> None:
    with pytest.raises(PenstockError) as caught:
        mistake()  # type: ignore[operator]
    for part in said:
        assert part in str(caught.value)


def test_choice_looks_only_as_far_as_needed() -> None:
    """The arguments that would fail to evaluate (no such column in the row) are not reached."""
    absent = Column("absent", BOOLEAN)
    false, true = Literal(False, BOOLEAN), Literal(True, BOOLEAN)
    assert evaluate(Call("and", (false, absent), BOOLEAN), {}) is False
    assert evaluate(Call("or", (true, absent), BOOLEAN), {}) is True
    assert evaluate(Call("coalesce", (true, absent), BOOLEAN), {}) is True
    assert evaluate(Call("case", (true, false, absent, absent), BOOLEAN), {}) is False
    with pytest.raises(KeyError):
        evaluate(Call("and", (Literal(None, BOOLEAN), absent), BOOLEAN), {})


@pytest.mark.parametrize("name", ["and", "or"])
@pytest.mark.parametrize("left", [True, False, None])
@pytest.mark.parametrize("right", [True, False, None])
def test_three_valued_logic(name: str, left: bool | None, right: bool | None) -> None:
    known = {"and": False, "or": True}[name]
    wanted = known if known in (left, right) else None if None in (left, right) else not known
    assert evaluate(call(name, Literal(left, BOOLEAN), Literal(right, BOOLEAN)), {}) is wanted


@pytest.mark.parametrize(
    "expression",
    [
        call("+", N, whole(1)),
        call("*", N, whole(2)),
        call("-", call("-", N), whole(2)),
        call("abs", call("-", call("-", N), whole(1))),
        call("/", N, whole(0)),
        call("%", N, whole(0)),
        call("div", N, whole(0)),
        call("sqrt", call("-", N)),
        call("ln", call("-", N)),
        call("to_weeks", N),
        cast(call("*", cast(N, DOUBLE), whole(10)), BIGINT),
        cast(N, INT),
        cast(N, decimal(18, 0)),
        call("timestamp_s", N),
    ],
    ids=format_expression,
)
def test_what_cannot_be_represented_is_null(expression: Expression) -> None:
    assert evaluate(expression, {"n": 2**63 - 1}) is None


def test_costs() -> None:
    assert not expensive(call("like", S, text("a%"))) and expensive(call("not", call("rlike", S, text("a"))))
    assert not can_raise(call("rlike", S, text("a")))


def test_every_function_is_on_the_page() -> None:
    shown = (Path(__file__).parents[2] / "docs" / "functions.md").read_text("utf-8")
    assert shown == page(), "run ./penstockw python -m penstock.plan.functions.page > docs/functions.md"
    cells = shown.replace("\\|", "|")
    for name in set(known_functions()) - set(user_functions.functions):
        assert f"`{name}(" in cells or f"`{name}`" in cells


def test_no_name_is_given_twice() -> None:
    names = [n for _, functions in GROUPS for f in functions for n in (f.name, *f.aliases)]
    assert len(names) == len(set(names))


def test_types_that_only_look_alike_do_not_mix() -> None:
    assert resolve("array_contains", (array(INT), BIGINT)) == BOOLEAN
    for pair in ((array(INT), STRING), (INTERVAL, DATE), (TIMESTAMP, BOOLEAN), (parse_type("array<int>"), Type("int"))):
        with pytest.raises(PenstockError):
            resolve("=", pair)
