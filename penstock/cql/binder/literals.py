"""Constants: what type a number has, and how a number with a point suits a decimal beside it."""

from __future__ import annotations

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
        return Literal(float(text), DOUBLE)
    value = int(text)
    if value < 1 << 63:
        return Literal(value, INT if value < 1 << 31 else BIGINT)
    if len(str(value)) <= MAX_DECIMAL_PRECISION:
        return Literal(Decimal(value), decimal(len(str(value))))
    problems.report("a whole number has 38 digits at most", span_of(node), help="with a point it is a DOUBLE")
    return None


def as_decimal(node: exp.Expr) -> Literal | None:
    """`1.50` as the decimal that it spells, for a place beside a decimal; None where it spells none."""
    sign = ""
    while isinstance(node, exp.Neg | exp.Paren):
        sign = "-" if isinstance(node, exp.Neg) and not sign else "" if isinstance(node, exp.Neg) else sign
        node = node.this
    if not isinstance(node, exp.Literal) or node.is_string or "." not in node.this or "e" in node.this.lower():
        return None
    value = Decimal(sign + node.this)
    scale = len(node.this.partition(".")[2])
    precision = max(len(value.as_tuple().digits), scale, 1)
    return Literal(value, decimal(precision, scale)) if precision <= MAX_DECIMAL_PRECISION else None
