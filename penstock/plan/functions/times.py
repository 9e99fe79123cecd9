"""Dates, timestamps and intervals, all in UTC: a timestamp and an interval are microseconds, a date is a day number.

The parts and the starts of units are integer arithmetic that serves Python ints and NumPy arrays alike.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from penstock.errors import PenstockError, unknown
from penstock.plan.expressions import Expression, Literal
from penstock.plan.functions.arithmetic import half_up, in_range
from penstock.plan.functions.calendar import (
    DAY_US,
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    civil,
    day_number,
    month_length,
    valid_date,
)
from penstock.plan.functions.function import Bind, Check, Function, Meaning, Shape, define
from penstock.plan.functions.numeric import round_rule, rounder
from penstock.plan.functions.signature import coercible
from penstock.plan.functions.text import UNITS_US
from penstock.plan.types import DATE, INTERVAL, STRING, TIMESTAMP, Type

_JANUARY_4_WEEKDAY: Final = 3
"""Day 0, 1 January 1970, was a Thursday: weekday 3 when Monday is 0."""


def weekday(days: Any) -> Any:
    """0 for Monday to 6 for Sunday."""
    return (days + _JANUARY_4_WEEKDAY) % 7


def _iso_week(days: Any) -> Any:
    """The week of the ISO year, to which the week's Thursday belongs."""
    thursday = days - weekday(days) + 3
    year, _, _ = civil(thursday)
    return (thursday - day_number(year, 1, 1)) // 7 + 1


def _day_of_year(days: Any) -> Any:
    year, _, _ = civil(days)
    return days - day_number(year, 1, 1) + 1


def _iso_year(days: Any) -> Any:
    return civil(days - weekday(days) + 3)[0]


OF_DAY: Final[dict[str, Callable[[Any], Any]]] = {
    "year": lambda days: civil(days)[0],
    "quarter": lambda days: (civil(days)[1] + 2) // 3,
    "month": lambda days: civil(days)[1],
    "day": lambda days: civil(days)[2],
    "dayofweek": lambda days: (weekday(days) + 1) % 7 + 1,
    "weekday": weekday,
    "dayofyear": _day_of_year,
    "week": _iso_week,
    "yearofweek": _iso_year,
}
"""Parts of a date, from its day number."""
OF_TIME: Final[dict[str, Callable[[Any], Any]]] = {
    "hour": lambda us: us % DAY_US // HOUR_US,
    "minute": lambda us: us % HOUR_US // MINUTE_US,
    "second": lambda us: us % MINUTE_US // SECOND_US,
    "millisecond": lambda us: us % SECOND_US // 1000,
    "microsecond": lambda us: us % SECOND_US,
}
"""Parts of a time of day, from a timestamp."""
STARTS: Final[dict[str, Callable[[Any], Any]]] = {
    "microsecond": lambda us: us,
    "millisecond": lambda us: us - us % 1000,
    "second": lambda us: us - us % SECOND_US,
    "minute": lambda us: us - us % MINUTE_US,
    "hour": lambda us: us - us % HOUR_US,
    "day": lambda us: us - us % DAY_US,
    "week": lambda us: (us // DAY_US - weekday(us // DAY_US)) * DAY_US,
    "month": lambda us: day_number(*civil(us // DAY_US)[:2], 1) * DAY_US,
    "quarter": lambda us: _quarter_start(us // DAY_US) * DAY_US,
    "year": lambda us: day_number(civil(us // DAY_US)[0], 1, 1) * DAY_US,
}
"""The start of the unit of time in which a timestamp lies."""
_UNIT_ALIASES: Final = {
    "yyyy": "year",
    "yy": "year",
    "mon": "month",
    "mm": "month",
    "dd": "day",
    "doy": "dayofyear",
    "dow": "dayofweek",
    "dayofmonth": "day",
    "weekofyear": "week",
    "ms": "millisecond",
    "us": "microsecond",
    "minutes": "minute",
}


def unit_name(text: str) -> str:
    """The unit that `text` names, in the form used here.

    >>> unit_name("YEARS"), unit_name("doy")
    ('year', 'dayofyear')
    """
    word = text.strip().lower()
    word = _UNIT_ALIASES.get(word, word)
    return word if word in OF_DAY or word in OF_TIME else word.removesuffix("s")


def _quarter_start(days: Any) -> Any:
    year, month, _ = civil(days)
    return day_number(year, (month - 1) // 3 * 3 + 1, 1)


def _part_of_day(name: str) -> Bind:
    def bind(arguments: tuple[Type, ...], result: Type) -> Meaning:
        part = OF_DAY[name]
        return (lambda us: int(part(us // DAY_US))) if arguments[0] == TIMESTAMP else lambda days: int(part(days))

    return bind


def _date_trunc(unit: str, us: int) -> int | None:
    start = STARTS.get(unit_name(unit))
    return None if start is None else in_range(int(start(us)), TIMESTAMP)


def trunc_date(days: int, unit: str) -> int | None:
    """The day on which the unit began; NULL for units shorter than a week."""
    name = unit_name(unit)
    return int(STARTS[name](days * DAY_US)) // DAY_US if name in ("week", "month", "quarter", "year") else None


def add_months(days: int, months: int) -> int | None:
    """The same day so many months later, or the month's last where it has no such day.

    >>> add_months(day_number(2026, 1, 31), 1) == day_number(2026, 2, 28)
    True
    """
    year, month, day = civil(days)
    count = year * 12 + month - 1 + months
    year, month = count // 12, count % 12 + 1
    return in_range(day_number(year, month, min(day, month_length(year, month))), DATE)


def _last_day(days: int) -> int:
    year, month, _ = civil(days)
    return int(day_number(year, month, month_length(year, month)))


def _make_date(year: int, month: int, day: int) -> int | None:
    return in_range(int(day_number(year, month, day)), DATE) if valid_date(year, month, day) else None


def _make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: float) -> int | None:
    days = _make_date(year, month, day)
    if days is None or not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second < 60):
        return None
    fraction = half_up(second * SECOND_US)
    return (
        None
        if fraction is None
        else in_range(days * DAY_US + hour * HOUR_US + minute * MINUTE_US + fraction, TIMESTAMP)
    )


def _make_interval(days: int, hours: int = 0, minutes: int = 0, seconds: float = 0.0) -> int | None:
    fraction = half_up(seconds * SECOND_US) if seconds == seconds else None
    if fraction is None:
        return None
    return in_range(days * DAY_US + hours * HOUR_US + minutes * MINUTE_US + fraction, INTERVAL)


def _extract(call: Callable[..., Expression], arguments: tuple[Expression, ...]) -> Expression:
    unit, value = arguments
    assert isinstance(unit, Literal)
    return call(unit_name(unit.value), value)


def _known_unit(names: tuple[str, ...]) -> Check:
    def check(arguments: tuple[Expression, ...]) -> None:
        unit = arguments[0]
        if isinstance(unit, Literal) and unit.value is not None:
            if unit_name(unit.value) not in names:
                raise PenstockError(unknown("unit", unit.value, names))
        elif names is EXTRACTABLE:
            raise PenstockError("extract needs a constant unit, such as extract(hour FROM ts)")

    return check


def _days_after(sign: int) -> Meaning:
    return lambda days, count: in_range(days + sign * count, DATE)


def _in_units(us: int) -> Meaning:
    """From a count of units of `us` microseconds to microseconds."""
    return lambda count: in_range(count * us, TIMESTAMP)


def _from_seconds(seconds: float) -> int | None:
    whole = half_up(seconds * SECOND_US)
    return None if whole is None else in_range(whole, TIMESTAMP)


def _trunc_rule(arguments: tuple[Expression, ...]) -> Shape | None:
    """A date and a unit, or a number and perhaps its digits."""
    if (
        len(arguments) == 2
        and coercible(arguments[1], STRING)
        and arguments[0].type.name in ("date", "timestamp", "string")
    ):
        return Shape((DATE, STRING), DATE)
    return round_rule(False)(arguments)


def _trunc_bind(arguments: tuple[Type, ...], result: Type) -> Meaning:
    return trunc_date if result == DATE else rounder("ROUND_DOWN")(arguments, result)


def _trunc_check(arguments: tuple[Expression, ...]) -> None:
    if arguments[0].type == DATE:
        _known_unit(("week", "month", "quarter", "year"))(arguments[1:])


EXTRACTABLE: Final = (*OF_DAY, *OF_TIME, "epoch")
_DAY_ABOUT: Final = {
    "year": "the year",
    "quarter": "the quarter, 1 to 4",
    "month": "the month, 1 to 12",
    "day": "the day of the month",
    "dayofweek": "1 for Sunday to 7 for Saturday",
    "weekday": "0 for Monday to 6 for Sunday",
    "dayofyear": "the day of the year, from 1",
    "week": "the ISO week, which begins on Monday",
    "yearofweek": "the year that the ISO week belongs to",
}
_DAY_ALIASES: Final = {"day": ("dayofmonth",), "dayofweek": ("dow",), "dayofyear": ("doy",), "week": ("weekofyear",)}


def _part(name: str) -> Function:
    return define(f"{name}(D) -> int", _DAY_ABOUT[name], bind=_part_of_day(name), aliases=_DAY_ALIASES.get(name, ()))


FUNCTIONS: Final = (
    *map(_part, OF_DAY),
    *(define(f"{name}(timestamp) -> int", f"the {name} of the time of day", OF_TIME[name]) for name in OF_TIME),
    define(
        "second_of_minute(timestamp) -> decimal(8,6)",
        "the second with its fraction",
        lambda us: Decimal(us % MINUTE_US).scaleb(-6),
    ),
    define("epoch(timestamp) -> double", "seconds since 1970 with their fraction", lambda us: float(us) / SECOND_US),
    define(
        "extract(string, timestamp) -> int",
        "`extract(unit FROM x)`: a part of a date or time, by the function of that name",
        rewrite=_extract,
        check=_known_unit(EXTRACTABLE),
        aliases=("date_part", "datepart"),
    ),
    define(
        "date_trunc(string, timestamp) -> timestamp",
        "when the microsecond, second, minute, hour, day, week, month, quarter or year began",
        _date_trunc,
        check=_known_unit(tuple(STARTS)),
    ),
    define(
        "trunc(N [, bigint]) -> N; trunc(date, string) -> date",
        "a number cut off after so many digits (0); the day on which the week, month, quarter or year began",
        bind=_trunc_bind,
        rule=_trunc_rule,
        check=_trunc_check,
        aliases=("truncate",),
    ),
    define("date_add(date, bigint) -> date", "so many days later", _days_after(1), aliases=("dateadd",)),
    define("date_sub(date, bigint) -> date", "so many days earlier", _days_after(-1)),
    define(
        "datediff(date, date) -> int",
        "days from the second to the first",
        lambda end, start: end - start,
        aliases=("date_diff",),
    ),
    define(
        "add_months(date, bigint) -> date",
        "the same day so many months later, or the last of a shorter month",
        add_months,
    ),
    define("last_day(date) -> date", "the last day of the month", _last_day),
    define(
        "make_date(bigint, bigint, bigint) -> date",
        "from year, month and day; NULL where there is no such day",
        _make_date,
    ),
    define(
        "make_timestamp(bigint, bigint, bigint, bigint, bigint, double) -> timestamp",
        "from year, month, day, hour, minute and second",
        _make_timestamp,
    ),
    define(
        "make_dt_interval(bigint [, bigint [, bigint [, double]]]) -> interval",
        "from days, hours, minutes and seconds",
        _make_interval,
    ),
    *(
        define(f"to_{unit}s(bigint) -> interval", f"so many {unit}s", _in_units(UNITS_US[unit]))
        for unit in ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")
    ),
    define(
        "epoch_us(timestamp) -> bigint; epoch_us(interval) -> bigint",
        "microseconds since 1970, or in an interval",
        lambda us: us,
        aliases=("unix_micros",),
    ),
    define(
        "epoch_ms(timestamp) -> bigint",
        "whole milliseconds since 1970",
        lambda us: us // 1000,
        aliases=("unix_millis",),
    ),
    define(
        "epoch_s(timestamp) -> bigint",
        "whole seconds since 1970",
        lambda us: us // SECOND_US,
        aliases=("unix_seconds",),
    ),
    define(
        "timestamp_us(bigint) -> timestamp",
        "so many microseconds after 1970",
        lambda us: us,
        aliases=("timestamp_micros", "make_timestamp_us"),
    ),
    define(
        "timestamp_ms(bigint) -> timestamp",
        "so many milliseconds after 1970",
        _in_units(1000),
        aliases=("timestamp_millis",),
    ),
    define(
        "timestamp_s(bigint) -> timestamp; timestamp_s(double) -> timestamp",
        "so many seconds after 1970",
        _from_seconds,
        aliases=("timestamp_seconds",),
    ),
)
