"""Constant folding keeps the meaning, users' functions and their order included."""

from __future__ import annotations

import pytest

from penstock.plan.expressions import Call, Column, Expression, Literal, format_expression
from penstock.plan.fold import fold
from penstock.plan.functions import call
from penstock.plan.types import BIGINT, BOOLEAN, INT, NULL, STRING, Type

A, B = Column("a", BOOLEAN), Column("b", BOOLEAN)
X, S = Column("x", BIGINT), Column("s", STRING)
TRUE, FALSE, UNKNOWN = (Literal(v, BOOLEAN) for v in (True, False, None))
RAISING = Call("somebodys", (X,), BOOLEAN)


def whole(value: int | None, t: Type = INT) -> Literal:
    return Literal(value, t)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (call("+", whole(1), whole(2)), "3"),
        (call("+", X, call("*", whole(2), whole(3))), "x + 6"),
        (call("+", X, Literal(None, NULL)), "NULL"),
        (call("upper", Literal("a", STRING)), "'A'"),
        (call("and", A, TRUE, B), "a AND b"),
        (call("and", A, FALSE, B), "False"),
        (call("and", A, UNKNOWN), "a AND NULL"),
        (call("and", TRUE, TRUE), "True"),
        (call("and", UNKNOWN, TRUE), "NULL"),
        (call("or", A, FALSE), "a"),
        (call("or", A, TRUE), "True"),
        (call("or", UNKNOWN, FALSE), "NULL"),
        (call("and", A, call("and", TRUE, call("<", whole(1), whole(2)))), "a"),
        (call("case", FALSE, whole(1), A, whole(2), TRUE, whole(3), B, whole(4)), "case(a, 2, 3)"),
        (call("case", UNKNOWN, whole(1)), "NULL"),
        (call("case", TRUE, X), "x"),
        (call("coalesce", Literal(None, BIGINT), X, whole(1), X), "coalesce(x, 1)"),
        (call("coalesce", Literal(None, BIGINT), X), "x"),
        (call("is_null", whole(None)), "True"),
        (call("in", whole(1), whole(1), X), "in(1, 1, x)"),
        (Call("and", (RAISING, FALSE, A), BOOLEAN), "somebodys(x) AND False"),
        (Call("and", (A, RAISING, B, FALSE), BOOLEAN), "a AND somebodys(x) AND False"),
        (Call("and", (FALSE, RAISING), BOOLEAN), "False"),
        (Call("=", (RAISING, UNKNOWN), BOOLEAN), "somebodys(x) = NULL"),
        (Call("somebodys", (whole(1),), BOOLEAN), "somebodys(1)"),
    ],
    ids=lambda e: e if isinstance(e, str) else format_expression(e),
)
def test_before_and_after(before: Expression, after: str) -> None:
    folded = fold(before)
    assert format_expression(folded) == after
    assert folded.type == before.type
    assert fold(folded) == folded
