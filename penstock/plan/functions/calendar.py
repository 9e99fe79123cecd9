"""The proleptic Gregorian calendar in integer arithmetic, so that the same lines serve Python ints and NumPy arrays.

Day 0 is 1970-01-01. Years are counted from 1 March inside an era of 400 years (146,097 days), which puts the leap day
last.
"""

from __future__ import annotations

from typing import Any, Final

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US
_ERA_DAYS: Final = 146_097
_MARCH_1_0000: Final = 719_468


def civil(days: Any) -> tuple[Any, Any, Any]:
    """Year, month and day of a day number.

    >>> civil(19_000), civil(-1)
    ((2022, 1, 8), (1969, 12, 31))
    """
    shifted = days + _MARCH_1_0000
    era = shifted // _ERA_DAYS
    day_of_era = shifted - era * _ERA_DAYS
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    month = (march_month + 2) % 12 + 1
    return year_of_era + era * 400 + (month <= 2), month, day


def day_number(year: Any, month: Any, day: Any) -> Any:
    """The inverse of `civil`; days past the month's end run on into the next.

    >>> day_number(2022, 1, 8)
    19000
    """
    year = year - (month <= 2)
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * _ERA_DAYS + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _MARCH_1_0000


def month_length(year: int, month: int) -> int:
    """Days of a month."""
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return int(day_number(*following, 1) - day_number(year, month, 1))


def valid_date(year: int, month: int, day: int) -> bool:
    """True where there is such a day."""
    return 1 <= month <= 12 and 1 <= day <= month_length(year, month)
