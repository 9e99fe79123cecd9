"""Constants: what type a number has, and how a number with a point suits a decimal beside it."""

from __future__ import annotations

import math
from decimal import Decimal

from sqlglot import exp

from penstock.cql.binder.problems import Problems
from penstock.cql.grammar.syntax import span_of
from penstock.plan.expressions import Literal
from penstock.plan.types import BIGINT, DOUBLE, INT, MAX_DECIMAL_PRECISION, STRING, decimal


def literal(node: exp.Literal, problems: Problems) -> Literal | None:
    """A string, or a number: INT, BIGINT or DECIMAL where it is whole, by its size; DOUBLE with a point or an
    exponent."""
    if node.is_string:
        return Literal(node.this, STRING)
    text = node.this
    if not text.isdigit():
        return _double(text, node, problems)
    value = int(text)
    if value < 1 << 63:
        return Literal(value, INT if value < 1 << 31 else BIGINT)
    if len(str(value)) <= MAX_DECIMAL_PRECISION:
        return Literal(Decimal(value), decimal(len(str(value))))
    problems.report("a whole number has 38 digits at most", span_of(node), help="with a point it is a DOUBLE")
    return None


def _double(text: str, node: exp.Literal, problems: Problems) -> Literal | None:
    value = float(text)
    if math.isinf(value):
        problems.report(f"{text} is too large for a DOUBLE", span_of(node))
        return None
    return Literal(value, DOUBLE)


def negated(constant: Literal) -> Literal:
    """A number with its sign: the least BIGINT is one, though its digits alone are none."""
    value = -constant.value
    least = value == -(1 << 63) and constant.type != DOUBLE
    return Literal(int(value), BIGINT) if least else Literal(value, constant.type)


def as_decimal(node: exp.Expr) -> Literal | None:
    """`1.50` as the decimal that it spells, for a place beside a decimal; None where it spells none."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = as_decimal(node.this)
        return None if inner is None else negated(inner)
    if not isinstance(node, exp.Literal) or node.is_string or "." not in node.this or "e" in node.this.lower():
        return None
    value, scale = Decimal(node.this), len(node.this.partition(".")[2])
    precision = max(len(value.as_tuple().digits), scale, 1)
    return Literal(value, decimal(precision, scale)) if precision <= MAX_DECIMAL_PRECISION else None
