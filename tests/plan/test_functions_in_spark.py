"""Functions give what Spark gives: `functions_in_spark.txt` holds the answers of Spark 4.3 (UTC, without ANSI mode).

`pytest -m slow` asks Spark again.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from penstock.cql import parse_expression
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.vector_eval import compiled, to_values
from penstock.plan.functions import evaluate
from penstock.plan.schema import Schema
from penstock.plan.types import EPOCH, MICROSECOND, to_python

NAMES = {"Decimal": Decimal, "datetime": dt, "nan": math.nan, "inf": math.inf}


class Answer(NamedTuple):
    """An expression, the value that Spark gives it, and the name of its type."""

    sql: str
    value: Any
    type: str


def answers() -> list[Answer]:
    lines = (Path(__file__).parent / "functions_in_spark.txt").read_text("utf-8").splitlines()
    parts = (line.rsplit(" -> ", 1) for line in lines)
    return [Answer(sql, eval(rest.rsplit(" : ", 1)[0], NAMES), rest.rsplit(" : ", 1)[1]) for sql, rest in parts]


ANSWERS = answers()


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: a.sql)
def test_a_function_gives_what_spark_gives(answer: Answer) -> None:
    expression = parse_expression(answer.sql, Schema(()))
    assert shown(to_python(evaluate(expression, {}), expression.type)) == shown(answer.value)
    assert str(expression.type) == answer.type


@pytest.mark.parametrize("answer", ANSWERS[::7], ids=lambda a: a.sql)
def test_so_it_does_on_a_train(answer: Answer) -> None:
    expression, context = parse_expression(answer.sql, Schema(())), Context()
    train = Train([], np.arange(2))
    got = to_values(compiled(expression, Schema(()), context)(train), expression.type, context)
    assert [shown(to_python(v, expression.type)) for v in got] == [shown(answer.value)] * 2


def shown(value: Any) -> str:
    """Text that tells values and their types apart: 1 from 1.0, 0.0 from -0.0, 1.5 from 1.50."""
    return repr(value)


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.ansi.enabled", "false").getOrCreate()
    )
    yield session
    session.stop()
    monkeypatch.undo()
    time.tzset()


@pytest.mark.slow
def test_spark_still_says_so(spark: Any) -> None:
    for start in range(0, len(ANSWERS), 50):
        some = ANSWERS[start : start + 50]
        result = spark.sql("select " + ", ".join(f"{a.sql} as a{i}" for i, a in enumerate(some)))
        for answer, value, field in zip(some, result.collect()[0], result.schema, strict=True):
            assert shown(plain(value)) == shown(answer.value), answer.sql
            assert field.dataType.simpleString().partition(" day")[0] == answer.type, answer.sql


def plain(value: Any) -> Any:
    """Spark's Python value as a user of Penstock sees it."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=dt.UTC) - EPOCH) // MICROSECOND
    if isinstance(value, dt.timedelta):
        return value // MICROSECOND
    return [plain(v) for v in value] if isinstance(value, list) else value
