"""Times by a pattern of letters, as Spark's `date_format` and `to_timestamp` take it: the letters that have one meaning
in any language.

`yyyy yy MM M MMM MMMM dd d D HH H hh h mm m ss s S... a E EEEE`, text between quotes, all else for itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.expressions import Expression, Literal
from penstock.plan.functions.arithmetic import in_range, quotient
from penstock.plan.functions.calendar import DAY_US, HOUR_US, MINUTE_US, SECOND_US, civil, day_number, valid_date
from penstock.plan.functions.function import Check, define
from penstock.plan.functions.text import read_date, read_timestamp, show_year
from penstock.plan.functions.times import OF_DAY, weekday
from penstock.plan.types import DATE, TIMESTAMP

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DEFAULT: Final = "yyyy-MM-dd HH:mm:ss"
_TOKEN: Final = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|[^A-Za-z']+")
_LETTERS: Final = {"y": 4, "M": 4, "d": 2, "D": 3, "H": 2, "h": 2, "m": 2, "s": 2, "S": 6, "a": 1, "E": 4}
"""Letters that have a meaning, and how often they may be repeated."""


@lru_cache(maxsize=256)
def tokens(pattern: str) -> tuple[str, ...] | None:
    """Runs of letters, and literal text behind a quote; None for letters without a meaning here.

    >>> tokens("dd 'of' MMM")
    ('dd', "' ", "'of", "' ", 'MMM')
    """
    out, end = [], 0
    for found in _TOKEN.finditer(pattern):
        if found.start() != end or (found[1] and len(found[0]) > _LETTERS.get(found[1], 0)):
            return None
        text = found[2].replace("''", "'") or "'" if found[2] is not None else found[0]
        out.append(text if found[1] else f"'{text}")
        end = found.end()
    return tuple(out) if end == len(pattern) else None


def format_timestamp(us: int, pattern: str = DEFAULT) -> str | None:
    """`us` by `pattern`; None where it is none.

    >>> format_timestamp(0, "E d MMM yyyy, hh:mm a")
    'Thu 1 Jan 1970, 12:00 AM'
    """
    parsed = tokens(pattern)
    return None if parsed is None else "".join(_written(token, us) for token in parsed)


def _written(token: str, us: int) -> str:
    letter, width = token[0], len(token)
    if letter == "'":
        return token[1:]
    days, hour = us // DAY_US, us % DAY_US // HOUR_US
    year, month, _ = civil(days)
    if letter == "y":
        return f"{year % 100:02}" if width == 2 else show_year(year) if width == 4 else str(year)
    if letter == "M" and width > 2:
        return MONTHS[month - 1][: 3 if width == 3 else None]
    if letter == "E":
        return DAYS[weekday(days)][: 3 if width < 4 else None]
    if letter == "a":
        return "AM" if hour < 12 else "PM"
    if letter == "S":
        return f"{us % SECOND_US:06}"[:width]
    return f"{_NUMBERS[letter](us, days):0{width}}"


_NUMBERS: Final[dict[str, Callable[[int, int], int]]] = {
    "M": lambda us, days: civil(days)[1],
    "d": lambda us, days: civil(days)[2],
    "D": lambda us, days: OF_DAY["dayofyear"](days),
    "H": lambda us, days: us % DAY_US // HOUR_US,
    "h": lambda us, days: (us % DAY_US // HOUR_US + 11) % 12 + 1,
    "m": lambda us, days: us % HOUR_US // MINUTE_US,
    "s": lambda us, days: us % MINUTE_US // SECOND_US,
}


@lru_cache(maxsize=256)
def _reader(pattern: str) -> re.Pattern[str] | None:
    parsed = tokens(pattern)
    if parsed is None or any(t[0] in "ED" for t in parsed):
        return None
    seen: set[str] = set()
    out = ""
    for token in parsed:
        letter = token[0]
        if letter == "'":
            out += re.escape(token[1:])
        elif letter in seen:
            return None
        else:
            seen.add(letter)
            out += f"(?P<{letter}>{_shape(token)})"
    return re.compile(out, re.ASCII | re.IGNORECASE)


def _shape(token: str) -> str:
    letter, width = token[0], len(token)
    if letter == "M" and width > 2:
        return "|".join(name[: 3 if width == 3 else None] for name in MONTHS)
    if letter == "a":
        return "AM|PM"
    return f"[0-9]{{{width}}}" if width > 1 or letter == "S" else "[0-9]{1,4}" if letter == "y" else "[0-9]{1,2}"


def parse_timestamp(text: str, pattern: str | None = None) -> int | None:
    """Microseconds of `text` by `pattern`, or by the usual forms; None where it does not follow it.

    >>> parse_timestamp("01/02/1970 10:00 PM", "dd/MM/yyyy hh:mm a") == 31 * DAY_US + 22 * HOUR_US
    True
    """
    if pattern is None:
        us = read_timestamp(text.strip())
    else:
        reader = _reader(pattern)
        found = None if reader is None else reader.fullmatch(text)
        us = None if found is None else _composed(found.groupdict())
    return None if us is None else in_range(us, TIMESTAMP)


def _composed(parts: dict[str, str]) -> int | None:
    year, month, day = _year(parts.get("y", "1970")), _month(parts.get("M", "1")), int(parts.get("d", "1"))
    hour = _hour(parts)
    minute, second = int(parts.get("m", "0")), int(parts.get("s", "0"))
    if not valid_date(year, month, day) or hour is None or minute > 59 or second > 59:
        return None
    fraction = int((parts.get("S", "") + "000000")[:6])
    return (
        int(day_number(year, month, day)) * DAY_US + hour * HOUR_US + minute * MINUTE_US + second * SECOND_US + fraction
    )


def _year(text: str) -> int:
    return 2000 + int(text) if len(text) == 2 else int(text)


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)
    return next(i for i, name in enumerate(MONTHS, 1) if name.lower().startswith(text.lower()))


def _hour(parts: dict[str, str]) -> int | None:
    if "h" not in parts:
        hour = int(parts.get("H", "0"))
        return hour if hour <= 23 else None
    hour = int(parts["h"])
    return hour % 12 + 12 * (parts.get("a", "AM").upper() == "PM") if 1 <= hour <= 12 else None


def _to_date(text: str, pattern: str | None = None) -> int | None:
    if pattern is None:
        days = read_date(text.strip())
        return None if days is None else in_range(days, DATE)
    us = parse_timestamp(text, pattern)
    return None if us is None else _day_of(us)


def _day_of(us: int) -> int | None:
    return in_range(us // DAY_US, DATE)


def _unix(text: str, pattern: str = DEFAULT) -> int | None:
    us = parse_timestamp(text, pattern)
    return None if us is None else us // SECOND_US


def _from_unix(seconds: int, pattern: str = DEFAULT) -> str | None:
    us = in_range(seconds * SECOND_US, TIMESTAMP)
    return None if us is None else format_timestamp(us, pattern)


def _valid(known: Callable[[str], Any]) -> Check:
    def check(arguments: tuple[Expression, ...]) -> None:
        pattern = arguments[1] if len(arguments) > 1 else None
        if isinstance(pattern, Literal) and pattern.value is not None and known(pattern.value) is None:
            raise PenstockError(
                Diagnostic(
                    f"{pattern.value!r} is no pattern for times",
                    notes=(f"its letters are {' '.join(_LETTERS)}",),
                    help="such as 'yyyy-MM-dd HH:mm:ss'; other text stands between quotes",
                )
            )

    return check


FUNCTIONS: Final = (
    define(
        "date_format(timestamp, string) -> string",
        "written by a pattern such as `yyyy-MM-dd HH:mm:ss.SSS`",
        format_timestamp,
        check=_valid(tokens),
    ),
    define(
        "to_timestamp(string [, string]) -> timestamp",
        "read by a pattern, or as a cast reads it; NULL where it does not follow it",
        parse_timestamp,
        check=_valid(_reader),
    ),
    define(
        "to_date(string [, string]) -> date; to_date(timestamp) -> date",
        "read by a pattern, or as a cast reads it; the date of a timestamp",
        bind=lambda arguments, result: _to_date if arguments[0] != TIMESTAMP else _day_of,
        check=_valid(_reader),
    ),
    define(
        "unix_timestamp(timestamp) -> bigint; unix_timestamp(string [, string]) -> bigint",
        "whole seconds since 1970, of a timestamp or of text read by a pattern (`yyyy-MM-dd HH:mm:ss`)",
        bind=lambda arguments, result: _unix if arguments[0] != TIMESTAMP else lambda us: quotient(us, SECOND_US),
        check=_valid(_reader),
        aliases=("to_unix_timestamp",),
    ),
    define(
        "from_unixtime(bigint [, string]) -> string",
        "so many seconds after 1970, written by a pattern (`yyyy-MM-dd HH:mm:ss`)",
        _from_unix,
        check=_valid(tokens),
    ),
)
