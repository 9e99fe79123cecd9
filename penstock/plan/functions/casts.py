"""`cast(x as type)`: which casts there are and what they give. A value that the target type cannot hold gives NULL."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.expressions import Call, Expression, Literal, format_expression
from penstock.plan.functions.arithmetic import in_range
from penstock.plan.functions.calendar import DAY_US, SECOND_US
from penstock.plan.functions.decimals import EXACT, fitted
from penstock.plan.functions.function import Meaning
from penstock.plan.functions.text import read, show
from penstock.plan.types import DATE, NULL, STRING, TIMESTAMP, Type

_NUMBERS: Final = ("int", "bigint", "decimal", "double")
_POSSIBLE: Final = {
    "boolean": ("boolean", *_NUMBERS, "string"),
    **dict.fromkeys(_NUMBERS, ("boolean", *_NUMBERS, "string", "timestamp")),
    "string": ("boolean", *_NUMBERS, "string", "timestamp", "date", "interval"),
    "timestamp": ("timestamp", "date", "int", "bigint", "double", "string"),
    "date": ("timestamp", "date", "string"),
    "interval": ("interval", "string"),
    "array": ("array", "string"),
}


def possible(source: Type, target: Type) -> bool:
    """True where there is a cast from `source` to `target`."""
    if source == NULL:
        return True
    if source.element and target.element:
        return possible(source.element, target.element)
    return target.name in _POSSIBLE.get(source.name, ()) and (source.name, target.name) != ("decimal", "timestamp")


def cast(expression: Expression, target: Type) -> Expression:
    """`expression` as `target`; raises PenstockError where there is no such cast. Constants are cast at once."""
    if expression.type == target:
        return expression
    if not possible(expression.type, target):
        raise PenstockError(
            Diagnostic(
                f"cannot cast {format_expression(expression)} ({expression.type}) to {target}",
                help=_hint(expression.type, target),
            )
        )
    if isinstance(expression, Literal):
        value = None if expression.value is None else cast_meaning(expression.type, target)(expression.value)
        return Literal(value, target)
    return Call("cast", (expression,), target)


def _hint(source: Type, target: Type) -> str | None:
    if "interval" in (source.name, target.name) or {source.name, target.name} <= {"timestamp", "decimal"}:
        return "epoch_us(x) is the number of microseconds of a timestamp or an interval, timestamp_us(n) the way back"
    return "datediff(d, date '1970-01-01') is the number of a day" if source.name == "date" else None


def cast_meaning(source: Type, target: Type) -> Meaning:
    """What a cast from `source` to `target` does to a value that is not NULL."""
    if source in (target, NULL):
        return lambda value: value
    if target == STRING:
        return lambda value: show(value, source)
    if source == STRING:
        return lambda text: _limited(read(text, target), target)
    if source.element and target.element:
        element = cast_meaning(source.element, target.element)
        return lambda values: tuple(None if v is None else element(v) for v in values)
    if source.name == "timestamp" or target.name in ("timestamp", "date"):
        return _temporal(source, target)
    return lambda number: _limited(_NUMERIC[target.name](number), target)


def _limited(value: Any, t: Type) -> Any:
    if isinstance(value, Decimal):
        return fitted(value, t)
    return in_range(value, t) if isinstance(value, int) and not isinstance(value, bool) else value


def _truncated(number: Any) -> int | None:
    return None if isinstance(number, float) and not math.isfinite(number) else int(number)


def _as_decimal(number: Any) -> Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else EXACT.create_decimal(number)


_NUMERIC: Final[dict[str, Callable[[Any], Any]]] = {
    "boolean": bool,
    "int": _truncated,
    "bigint": _truncated,
    "double": float,
    "decimal": _as_decimal,
}


def _temporal(source: Type, target: Type) -> Meaning:
    """Between timestamps, dates, and numbers of seconds since the epoch."""
    if source == TIMESTAMP and target == DATE:
        return lambda us: in_range(us // DAY_US, DATE)
    if source == TIMESTAMP:
        return (
            (lambda us: float(us) / SECOND_US)
            if target.name == "double"
            else lambda us: in_range(us // SECOND_US, target)
        )
    if source == DATE:
        return lambda days: in_range(days * DAY_US, TIMESTAMP)
    return _from_seconds


def _from_seconds(seconds: float) -> int | None:
    if isinstance(seconds, float) and not abs(seconds) < 1e15:
        return None
    return in_range(int(seconds * SECOND_US), TIMESTAMP)
