"""Texts of expressions, aggregates and durations, as boxes and arrows take them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cql import compile_script, parse_aggregate, parse_duration, parse_expression
from penstock.errors import PenstockError
from penstock.plan.durations import LONGEST_US
from penstock.plan.expressions import format_expression
from penstock.plan.nodes import Filter, Map, WindowAggregate
from penstock.plan.schema import Schema

SCHEMA = Schema.parse("ts timestamp, src string, bytes int")


def test_an_expression_is_the_one_that_a_query_has() -> None:
    declared = "CREATE STREAM s (ts TIMESTAMP, src STRING, bytes INT);"
    text = "bytes * 8 > 100 AND NOT src LIKE '10.%' OR ts IS NULL"
    root = compile_script(f"{declared} SELECT * FROM s WHERE {text}").queries[0].root
    assert isinstance(root, Filter)
    assert root.predicate == parse_expression(text, SCHEMA)


def test_an_aggregate_is_the_one_that_a_query_has() -> None:
    declared = "CREATE STREAM s (ts TIMESTAMP, src STRING, bytes INT);"
    root = compile_script(f"{declared} SELECT sum(bytes * 8), count(*) FROM s [Range 9 Slide 3]").queries[0].root
    assert isinstance(root, Map) and isinstance(root.input, WindowAggregate)
    prepared = root.input.input
    total, count = parse_aggregate("Sum(bytes*8)", SCHEMA), parse_aggregate("COUNT(*)", SCHEMA)
    assert root.input.aggregates == (total.call, count.call)
    assert isinstance(prepared, Map) and prepared.outputs == (total.computed,)
    assert count.computed is None


@pytest.mark.parametrize(
    ("text", "marked", "message"),
    [
        ("bites > 100", "bites", "unknown column 'bites'"),
        ("bytes > 'x'", "bytes > 'x'", "'x' is no int"),
        ("bytes >", "", "expected an expression, found the end of the statement"),
        ("bytes bytes", "bytes", "expected the end of the expression, found 'bytes'"),
        ("sum(bytes)", "sum(bytes)", "aggregate sum has no place in an expression"),
        ("bytes IN (SELECT a FROM t)", "(SELECT a FROM t)", "a sub-query has no place here"),
        ("((" * 100, "(", "expressions nested more than 24 deep"),
        ("'open", "'", "a string that never ends"),
    ],
)
def test_a_wrong_expression(text: str, marked: str, message: str) -> None:
    with pytest.raises(PenstockError) as caught:
        parse_expression(text, SCHEMA)
    (found,) = caught.value.diagnostics
    assert found.message.startswith(message)
    assert caught.value.text == text
    assert found.span is not None and text[found.span.start : found.span.end] == marked


@pytest.mark.parametrize("text", ["bytes", "sum(bytes) + 1", "sum(src)", "count(bites)", "sum(sum(bytes))"])
def test_a_wrong_aggregate(text: str) -> None:
    with pytest.raises(PenstockError):
        parse_aggregate(text, SCHEMA)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("10 minutes", 600_000_000),
        ("1.5 Seconds", 1_500_000),
        (".5s", 500_000),
        ("500 Milliseconds", 500_000),
        ("250", 250),
        ("1 hour 30 minutes", 5_400_000_000),
        ("2d", 172_800_000_000),
        ("1 week", 604_800_000_000),
        ("-1 second", -1_000_000),
        ("0", 0),
        ("3 us", 3),
        ("  7 ms ", 7_000),
    ],
)
def test_durations(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "10 fortnights",
        "1 month",
        "0.5",
        "1.5 us",
        "1 2",
        "1 hour 30",
        "minutes",
        "1,000 ms",
        "9" * 30,
        "1e3 s",
        "- -1",
        "1 s,",
    ],
)
def test_no_durations(text: str) -> None:
    with pytest.raises(PenstockError):
        parse_duration(text)


@given(st.integers(0, LONGEST_US // 1000), st.sampled_from(["us", "ms"]))
def test_durations_add_up(number: int, unit: str) -> None:
    size = {"us": 1, "ms": 1000}[unit]
    assert parse_duration(f"{number} {unit}") == number * size
    assert (
        parse_duration(f"1 s {number} {unit}") == 1_000_000 + number * size
        if number * size < LONGEST_US - 1_000_000
        else True
    )


def test_a_parsed_expression_reads_as_it_was_written() -> None:
    assert format_expression(parse_expression("(bytes + 1) % 7 = 3", SCHEMA)) == "((cast(bytes as bigint) + 1) % 7) = 3"
