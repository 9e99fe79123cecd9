"""The page `docs/functions.md`, from the functions themselves."""

from __future__ import annotations

from penstock.plan.functions.function import Function
from penstock.plan.functions.registry import GROUPS

_HEADER = """\
# Functions

Every scalar function, from `penstock/plan/functions`. Written by `./penstockw python -m penstock.plan.functions.page
> docs/functions.md`.

In a signature `T` stands for any type, the same wherever it occurs in one call; `N` for a number, `I` for an int or a
bigint, `D` for a date or a timestamp, `E` for the type of an array's elements, `any` for anything, `text` for
anything written as a string. `[...]` may be left out, `T...` is one or more. Arguments widen by themselves: int,
bigint, decimal, double; date, timestamp; NULL to anything; a string constant to a number, a boolean, a date, a
timestamp or an interval. Functions are deterministic, and all times are UTC.

## What holds for all of them

- A NULL argument gives NULL, unless the text says otherwise.
- No value makes a function fail. What the result cannot hold is NULL: more than 64 bits (32 for an int), a date
  before year 1 or after 9999, more digits than a decimal has, anything divided by zero, text that a cast cannot read,
  an argument outside a function's domain (`sqrt(-1)`, `ln(0)`, `asin(2)`, `sin` of infinity). In doubles too large is
  infinity. Strings of more than 2^24 characters are NULL.
- NaN equals NaN and is above all numbers; -0.0 equals 0.0. Strings compare by code point.
- `and`, `or`, `case`, `coalesce`, and what is written with them (`if`, `nullif`), look at their arguments in order,
  and only as far as needed.

## Types of results

- `+ - *` and unary minus of integers give BIGINT, `/` of integers is a DOUBLE; with a double, a DOUBLE. `%` of two
  ints is an INT.
- Decimals follow Spark: of `decimal(p1,s1)` and `decimal(p2,s2)`, with s the larger scale and i the larger number of
  digits before the point, `+ -` give `decimal(i + s + 1, s)`, `*` `decimal(p1 + p2 + 1, s1 + s2)`, `/` a scale of
  max(6, s1 + p2 + 1) and p1 - s1 + s2 digits before it, `%` the smaller number of digits before the point. Results
  are rounded half up. Where more than 38 digits would be needed, digits after the point go first, down to 6. An int
  counts as `decimal(10,0)`, a bigint as `decimal(20,0)`, a whole constant as the digits that it has.
- timestamp - timestamp and date - date give an interval; date + number is the date so many days later; date +
  interval is a timestamp. Intervals have no months: `add_months` moves by months.

## Where Spark and DuckDB differ

Spark's meaning is taken: `log(x)` is the natural logarithm; `get` counts from 0, `element_at` from 1;
`dayofweek` is 1 for Sunday; `concat` and `||` of NULL are NULL; `ceil`, `floor` give BIGINT, `sign` DOUBLE; `split`
takes a regular expression; `regexp_replace` replaces all matches and writes groups as `$1`; `regexp_extract` gives
group 1 unless told otherwise; `chr` stops at 255; `cast(12.7 as int)` is 12; a cast between a timestamp and a number
counts seconds (`epoch_us` and `timestamp_us` count microseconds); `cast(1e7 as string)` is `1.0E7`.

Unlike Spark: what Spark refuses with an error, or wraps, is NULL; `sqrt`, `asin`, `acos` and the like are NULL
outside their domain, not NaN; `date + interval` is always a timestamp; `extract(second FROM t)` is a whole
number (`second_of_minute` has the fraction); regular expressions are Python's `re`;
patterns of times take the letters `y M d D H h m s S a E`.
"""


def page() -> str:
    """The whole page.

    >>> "### Strings" in page(), "`lower(string) -> string`" in page()
    (True, True)
    """
    return "\n".join([_HEADER, *(part for title, functions in GROUPS for part in _group(title, functions))]) + "\n"


def _group(title: str, functions: tuple[Function, ...]) -> list[str]:
    return [f"### {title}", "", "| signature | meaning | also |", "|---|---|---|", *map(_row, functions), ""]


def _row(function: Function) -> str:
    shown = "<br>".join(f"`{s.text}`" for s in function.signatures)
    also = ", ".join(f"`{a}`" for a in function.aliases)
    return "| " + " | ".join(_cell(text) for text in (shown, function.about, also)) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
