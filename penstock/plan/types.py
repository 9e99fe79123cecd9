"""The types of columns, and what their values are inside Penstock.

Inside, a value is plain Python: bool, int, float, Decimal, str, a tuple for an array, None for NULL. A timestamp and
an interval are int microseconds, a date is int days since the epoch. `to_internal` and `to_python` convert at the
border.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.durations import parse_duration

EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND: Final = dt.timedelta(microseconds=1)
FIRST_DAY: Final = dt.date.min.toordinal() - EPOCH.toordinal()
"""The least DATE, 0001-01-01; the greatest is 9999-12-31: each is a `datetime.date`."""
LAST_DAY: Final = dt.date.max.toordinal() - EPOCH.toordinal()


@dataclass(frozen=True, slots=True)
class Type:
    """A column's type; `precision` and `scale` belong to decimal, `element` to array."""

    name: str
    precision: int = 0
    scale: int = 0
    element: Type | None = None

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        return f"array<{self.element}>" if self.element else self.name

    @property
    def numeric(self) -> bool:
        """True for the types that arithmetic takes."""
        return self.name in NUMERIC

    @property
    def ordered_numeric(self) -> bool:
        """True for the types a window may run over."""
        return self.numeric or self.name in ("timestamp", "date", "interval")


BOOLEAN: Final = Type("boolean")
INT: Final = Type("int")
BIGINT: Final = Type("bigint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
TIMESTAMP: Final = Type("timestamp")
DATE: Final = Type("date")
INTERVAL: Final = Type("interval")
NULL: Final = Type("null")
NUMERIC: Final = ("int", "bigint", "decimal", "double")
MAX_DECIMAL_PRECISION: Final = 38
SPELLINGS: Final = {
    "boolean": BOOLEAN, "bool": BOOLEAN, "int": INT, "integer": INT, "smallint": INT, "tinyint": INT,
    "bigint": BIGINT, "long": BIGINT, "double": DOUBLE, "float": DOUBLE, "real": DOUBLE,
    "string": STRING, "text": STRING, "varchar": STRING, "char": STRING,
    "timestamp": TIMESTAMP, "datetime": TIMESTAMP, "date": DATE, "interval": INTERVAL,
}  # fmt: skip


def decimal(precision: int = 10, scale: int = 0) -> Type:
    """The decimal type with `precision` digits, `scale` of them after the point."""
    if not 0 <= scale <= precision <= MAX_DECIMAL_PRECISION or precision == 0:
        message = f"decimal({precision},{scale}) is out of range"
        raise PenstockError(
            Diagnostic(message, help=f"1 <= precision <= {MAX_DECIMAL_PRECISION}, 0 <= scale <= precision")
        )
    return Type("decimal", precision, scale)


def array(element: Type) -> Type:
    """The type of arrays of `element`."""
    return Type("array", element=element)


def parse_type(text: str) -> Type:
    """The type that `text` spells.

    >>> parse_type("decimal(12, 2)"), parse_type("array<int>"), parse_type("VARCHAR(20)")
    (Type(name='decimal', precision=12, scale=2, element=None), Type(name='array', precision=0, scale=0, \
element=Type(name='int', precision=0, scale=0, element=None)), Type(name='string', precision=0, scale=0, element=None))
    """
    word = text.strip().lower()
    if word.startswith("array<") and word.endswith(">"):
        return array(parse_type(word[6:-1]))
    name, _, arguments = word.partition("(")
    name = name.strip()
    if name in ("decimal", "numeric"):
        return decimal(*(int(a) for a in arguments.rstrip(") ").split(",") if a.strip()))
    if name not in SPELLINGS:
        raise PenstockError(unknown("type", text.strip(), [*SPELLINGS, "decimal", "array<...>"]))
    return SPELLINGS[name]


def common_type(types: Sequence[Type]) -> Type | None:
    """The narrowest type that all `types` widen to, or None where there is none; NULL widens to anything."""
    result = NULL
    for t in types:
        merged = _wider(result, t)
        if merged is None:
            return None
        result = merged
    return result


def _wider(a: Type, b: Type) -> Type | None:
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    if a.numeric and b.numeric:
        return _wider_number(a, b)
    if {a.name, b.name} == {"date", "timestamp"}:
        return TIMESTAMP
    if a.element and b.element:
        element = _wider(a.element, b.element)
        return array(element) if element else None
    return None


def _wider_number(a: Type, b: Type) -> Type:
    if "double" in (a.name, b.name):
        return DOUBLE
    if "decimal" in (a.name, b.name):
        (p, s), (q, r) = digits(a), digits(b)
        scale = max(s, r)
        return decimal(min(MAX_DECIMAL_PRECISION, max(p - s, q - r) + scale), scale)
    return BIGINT


def digits(t: Type) -> tuple[int, int]:
    """Precision and scale that hold every value of the exact numeric type `t`."""
    return {"int": (10, 0), "bigint": (20, 0)}.get(t.name, (t.precision, t.scale))


def to_internal(value: Any, t: Type) -> Any:
    """`value`, as a user or a file gave it, in the form that Penstock keeps (see the top of this page); raises
    PenstockError."""
    if value is None:
        return None
    try:
        return _INTERNAL[t.name](value, t)
    except (TypeError, ValueError, ArithmeticError):
        raise PenstockError(f"{value!r} is not {'an' if str(t)[0] in 'aeiou' else 'a'} {t}") from None


def to_python(value: Any, t: Type) -> Any:
    """The inverse of `to_internal`, as a user sees a value: dates as `datetime.date`, arrays as lists, timestamps as
    microseconds."""
    if value is None:
        return None
    if t.name == "date":
        return EPOCH.date() + dt.timedelta(days=value)
    if t.element:
        return [to_python(v, t.element) for v in value]
    return value


def _integer(value: Any, t: Type) -> int:
    number = int(value) if not isinstance(value, float) or value.is_integer() else _refuse(value)
    bits = 31 if t.name == "int" else 63
    return number if -(1 << bits) <= number < (1 << bits) else int(_refuse(value))


def _refuse(value: Any) -> Any:
    raise ValueError(value)


def _boolean(value: Any, _: Type) -> bool:
    words = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    return (
        value
        if isinstance(value, bool)
        else words[str(value).strip().lower()]
        if str(value).strip().lower() in words
        else _refuse(value)
    )


def _double(value: Any, _: Type) -> float:
    return float(value)


_WIDE: Final = Context(prec=2 * MAX_DECIMAL_PRECISION, rounding=ROUND_HALF_UP)


def _decimal(value: Any, t: Type) -> Decimal:
    number = Decimal(str(value)).quantize(Decimal(1).scaleb(-t.scale), context=_WIDE)
    fits = number.is_finite() and (not number or number.adjusted() < t.precision - t.scale)
    return number if fits else _refuse(value)


def _string(value: Any, _: Type) -> str:
    if isinstance(value, bytes | bytearray):
        raise TypeError(value)
    return value if isinstance(value, str) else str(value)


def _timestamp(value: Any, _: Type) -> int:
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value.strip()) if not value.strip().lstrip("-").isdigit() else int(value)
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return (aware - EPOCH) // MICROSECOND
    return _integer(value, BIGINT)


def _date(value: Any, _: Type) -> int:
    if isinstance(value, str):
        value = dt.date.fromisoformat(value.strip())
    if isinstance(value, dt.datetime):
        value = value.date()
    if isinstance(value, dt.date):
        return value.toordinal() - EPOCH.toordinal()
    days = int(value)
    return days if FIRST_DAY <= days <= LAST_DAY else int(_refuse(value))


def _interval(value: Any, _: Type) -> int:
    if isinstance(value, str):
        return parse_duration(value)
    return value // MICROSECOND if isinstance(value, dt.timedelta) else _integer(value, BIGINT)


def _array(value: Any, t: Type) -> tuple[Any, ...]:
    assert t.element is not None
    return tuple(to_internal(v, t.element) for v in value)


_INTERNAL: Final[dict[str, Callable[[Any, Type], Any]]] = {
    "boolean": _boolean, "int": _integer, "bigint": _integer, "double": _double, "decimal": _decimal, "string": _string,
    "timestamp": _timestamp, "date": _date, "interval": _interval, "array": _array, "null": lambda value, _: value,
}  # fmt: skip
