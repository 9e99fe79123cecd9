"""Values as text, and text as values: the two halves of casts to and from string. Text that spells no value of the type
gives None.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, Final

from penstock.plan.functions.calendar import DAY_US, HOUR_US, MINUTE_US, SECOND_US, civil, day_number, valid_date
from penstock.plan.types import Type

_TRUE: Final = frozenset(("t", "true", "y", "yes", "1"))
_FALSE: Final = frozenset(("f", "false", "n", "no", "0"))
_WHOLE: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?", re.ASCII)
_SPECIAL: Final = re.compile(r"(?P<sign>[+-]?)(?P<word>inf|infinity|nan)", re.IGNORECASE)
_DATE: Final = re.compile(r"([+-]?[0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?", re.ASCII)
_CLOCK: Final = re.compile(
    r"([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?\s*"
    r"(Z|UTC|GMT|[+-][0-9]{1,2}(?::?[0-9]{2})?)?",
    re.ASCII | re.IGNORECASE,
)
_PIECE: Final = re.compile(r"\s*([+-]?)\s*([0-9]+)(?:\.([0-9]{1,6}))?\s*([a-z]+)\s*", re.ASCII | re.IGNORECASE)
_CLOCKED: Final = re.compile(r"\s*([+-]?)([0-9]+) ([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?\s*", re.ASCII)
UNITS_US: Final = {
    "microsecond": 1,
    "us": 1,
    "millisecond": 1000,
    "ms": 1000,
    "second": SECOND_US,
    "sec": SECOND_US,
    "s": SECOND_US,
    "minute": MINUTE_US,
    "min": MINUTE_US,
    "hour": HOUR_US,
    "h": HOUR_US,
    "day": DAY_US,
    "week": 7 * DAY_US,
}
"""Microseconds of a unit of time; an `s` may follow."""


def show(value: Any, t: Type) -> str:
    """`value` (not NULL) as a cast to string writes it."""
    if t.element is not None:
        element = t.element
        return f"[{', '.join('null' if v is None else show(v, element) for v in value)}]"
    return str(_SHOWN.get(t.name, str)(value))


def read(text: str, t: Type) -> Any:
    """The value of `t` that `text` spells, spaces around it aside; None where it spells none."""
    return _READERS[t.name](text.strip())


def show_double(value: float) -> str:
    """The fewest digits that mean `value`, with a point always and an exponent below 1e-3 and from 1e7 on, as Java
    writes it.

    >>> show_double(1e7), show_double(0.1), show_double(-12345.0)
    ('1.0E7', '0.1', '-12345.0')
    """
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{Decimal(repr(value)):f}" if "e" in repr(value) else repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    shown = "".join(map(str, digits)).rstrip("0") or "0"
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}E{power}"


def show_date(days: int) -> str:
    """`yyyy-MM-dd`.

    >>> show_date(19_000)
    '2022-01-08'
    """
    year, month, day = civil(days)
    return f"{show_year(year)}-{month:02}-{day:02}"


def show_year(year: int) -> str:
    """Four digits at least; a sign where there are more, or where it is negative."""
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"


def show_timestamp(us: int) -> str:
    """`yyyy-MM-dd HH:mm:ss`, and the fraction of the second where there is one.

    >>> show_timestamp(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    days, rest = divmod(us, DAY_US)
    return f"{show_date(days)} {_clock(rest)}"


def show_interval(us: int) -> str:
    """As Spark writes an interval of days and seconds."""
    days, rest = divmod(abs(us), DAY_US)
    return f"INTERVAL '{'-' if us < 0 else ''}{days} {_clock(rest)}' DAY TO SECOND"


def _clock(us: int) -> str:
    seconds, fraction = divmod(us, SECOND_US)
    tail = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{tail}"


def _read_boolean(text: str) -> bool | None:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _read_integer(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) and len(text) < 25 else None


def _read_double(text: str) -> float | None:
    special = _SPECIAL.fullmatch(text)
    if special is not None:
        return (
            float(special["sign"] + special["word"])
            if special["word"].lower() != "nan" or not special["sign"]
            else None
        )
    return float(text) if _NUMBER.fullmatch(text) else None


def _read_decimal(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def read_date(text: str) -> int | None:
    """The day number of `yyyy`, `yyyy-MM` or `yyyy-MM-dd`; what follows a space or a T does not matter."""
    found = _DATE.fullmatch(text.split("T")[0].split(" ")[0])
    if found is None:
        return None
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    return int(day_number(year, month, day)) if valid_date(year, month, day) else None


def read_timestamp(text: str) -> int | None:
    """Microseconds of a date, with a time of day after a space or a T where it has one, and a zone (`Z`, `+02:00`)
    after that.
    """
    head, _, tail = text.replace("T", " ", 1).partition(" ")
    days = read_date(head)
    if days is None or not tail.strip():
        return None if days is None else days * DAY_US
    found = _CLOCK.fullmatch(tail.strip())
    if found is None:
        return None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    zone = _zone_us(found[5] or "Z")
    if hour > 23 or minute > 59 or second > 59 or zone is None:
        return None
    fraction = int(((found[4] or "") + "000000")[:6])
    return days * DAY_US + hour * HOUR_US + minute * MINUTE_US + second * SECOND_US + fraction - zone


def _zone_us(zone: str) -> int | None:
    if zone.upper() in ("Z", "UTC", "GMT"):
        return 0
    digits = zone[1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    if hours > 18 or minutes > 59:
        return None
    return (-1 if zone[0] == "-" else 1) * (hours * HOUR_US + minutes * MINUTE_US)


def read_interval(text: str) -> int | None:
    """Microseconds of `10 minutes`, `1 day 2 hours`, `-1.5 seconds` or `1 02:03:04`; months have no fixed length and
    give None.

    >>> read_interval("1 minute 30 seconds"), read_interval("2 months")
    (90000000, None)
    """
    body = re.sub(r"(?i)^interval\s+|\s+day to second$", "", text.strip()).strip("' ")
    clocked = _CLOCKED.fullmatch(body)
    if clocked is not None:
        hours, minutes, seconds = (int(clocked[i]) for i in (3, 4, 5))
        us = (
            int(clocked[2]) * DAY_US + hours * HOUR_US + minutes * MINUTE_US + seconds * SECOND_US + _micros(clocked[6])
        )
        return -us if clocked[1] == "-" else us
    return _pieces(body)


def _pieces(body: str) -> int | None:
    total, at = 0, 0
    while at < len(body):
        piece = _PIECE.match(body, at)
        unit = (
            None
            if piece is None
            else UNITS_US.get(piece[4].lower()) or UNITS_US.get(piece[4].lower().removesuffix("s"))
        )
        if piece is None or unit is None:
            return None
        us = int(piece[2]) * unit + _micros(piece[3]) * unit // SECOND_US
        total += -us if piece[1] == "-" else us
        at = piece.end()
    return total if body else None


def _micros(fraction: str | None) -> int:
    return int(((fraction or "") + "000000")[:6])


_SHOWN: Final[dict[str, Any]] = {
    "boolean": lambda v: "true" if v else "false",
    "double": show_double,
    "decimal": lambda v: f"{v:f}",
    "date": show_date,
    "timestamp": show_timestamp,
    "interval": show_interval,
}
_READERS: Final[dict[str, Any]] = {
    "boolean": _read_boolean,
    "int": _read_integer,
    "bigint": _read_integer,
    "double": _read_double,
    "decimal": _read_decimal,
    "date": read_date,
    "timestamp": read_timestamp,
    "interval": read_interval,
}
