"""Durations: `10 Minutes`, `1.5 seconds`, `1 hour 30 minutes`; a number without a unit is microseconds."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from penstock.errors import Diagnostic, PenstockError, unknown

_UNITS: Final = {
    ("microsecond", "microseconds", "us"): 1,
    ("millisecond", "milliseconds", "ms"): 1_000,
    ("second", "seconds", "sec", "secs", "s"): 1_000_000,
    ("minute", "minutes", "min", "mins"): 60_000_000,
    ("hour", "hours", "h"): 3_600_000_000,
    ("day", "days", "d"): 86_400_000_000,
    ("week", "weeks"): 604_800_000_000,
}
UNITS: Final = {name: size for names, size in _UNITS.items() for name in names}
_SHOWN: Final = [names[1] for names in _UNITS]
_CALENDAR: Final = ("month", "months", "quarter", "quarters", "year", "years")
LONGEST_US: Final = 1 << 61
"""Past this, a timestamp plus a duration could leave 64 bits."""
_PLAIN: Final = re.compile(r"[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}")
_PIECE: Final = re.compile(rf"\s*({_PLAIN.pattern})\s*([A-Za-z]*)\s*")


def in_microseconds(number: str, unit: str) -> int:
    """`number` of `unit` as whole microseconds; raises PenstockError.

    >>> in_microseconds("1.5", "Seconds")
    1500000
    """
    size = UNITS.get(unit.lower())
    if size is None:
        raise PenstockError(_no_unit(unit))
    if not _PLAIN.fullmatch(number):
        raise PenstockError(Diagnostic(f"'{number}' is no number of {unit}", help="such as 10 Minutes"))
    exact = Fraction(number) * size
    if exact.denominator != 1:
        raise PenstockError(f"{number} {unit} is not a whole number of microseconds")
    if abs(exact) > LONGEST_US:
        raise PenstockError(f"{number} {unit} is longer than time itself here: at most {LONGEST_US} microseconds")
    return int(exact)


def _no_unit(unit: str) -> Diagnostic:
    if unit.lower() in _CALENDAR:
        return Diagnostic(f"a duration in {unit} has no fixed length", help="say it in days or weeks")
    found = unknown("unit of time", unit, list(UNITS))
    return Diagnostic(found.message, None, (f"known: {', '.join(_SHOWN)}",), found.help)


def parse_duration(text: str) -> int:
    """The microseconds that `text` says: numbers with units, added up; one number without a unit is microseconds
    already.

    >>> parse_duration("10 minutes"), parse_duration("1 hour 30 min"), parse_duration("250")
    (600000000, 5400000000, 250)
    """
    pieces, offset = [], 0
    negative = text.lstrip().startswith("-")
    text = text.replace("-", " ", 1) if negative else text
    while offset < len(text) and (match := _PIECE.match(text, offset)):
        pieces.append(match.groups())
        offset = match.end()
    if not pieces or offset < len(text) or (len(pieces) > 1 and not all(unit for _, unit in pieces)):
        raise PenstockError(
            Diagnostic(f"'{text.strip()}' is no duration", help="such as '10 minutes', '1.5 seconds', '250 ms'")
        )
    total = sum(in_microseconds(number, unit or "us") for number, unit in pieces)
    if total > LONGEST_US:
        raise PenstockError(f"'{text.strip()}' is longer than time itself here: at most {LONGEST_US} microseconds")
    return -total if negative else total
