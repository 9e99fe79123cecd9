"""Window specifications (Babu 2.1.2, and Aurora's slides): which tuples of a stream a relation holds at an instant."""

from __future__ import annotations

from dataclasses import dataclass

BEGIN = -(1 << 62)
"""The instant before all others: rows that were loaded are stamped with it."""
END = 1 << 62
"""The end of time: progress that has reached it closes every time window."""
LAST = END - 1
"""The last instant: what an operator still holds when time ends, and then gives up, is stamped with it."""


@dataclass(frozen=True, slots=True)
class Range:
    """`[Range size]`: at t the tuples stamped in [t - size, t]; `[Now]` is size 0; None is unbounded.

    With `on`, an ordered numeric attribute takes the part of time: at t the tuples whose attribute lies in [m - size,
    m], m being the largest value seen up to t.
    """

    size: int | float | None
    on: str | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """`[Rows count]`: the `count` last tuples in the total order, for each value of the columns `by`; None is
    unbounded."""

    count: int | None
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlideRange:
    """`[Range size Slide slide]`: window k covers [origin + k * slide, origin + k * slide + size), for every integer k.

    It ends at its upper bound, and is stamped with it. With `on`, an attribute takes the part of time: the window ends
    when a tuple carries the attribute to its upper bound or past it, and is stamped with that tuple's timestamp;
    `window_start` and `window_end` are the attribute's values; the end of time does not close it. A tuple whose
    windows have all ended is counted as late. There is no window whose bounds 64 bits do not hold.
    """

    size: int | float
    slide: int | float
    origin: int | float = 0
    on: str | None = None


@dataclass(frozen=True, slots=True)
class SlideRows:
    """`[Rows count Slide slide]`: window k covers the tuples numbered [origin + k * slide, origin + k * slide + count)
    from 0, every integer k.

    It ends with its last tuple, and is stamped with that tuple's timestamp, which is also `window_end`; `window_start`
    is its first tuple's. Windows that reach back before the first tuple hold what there is. With `by`, tuples are
    numbered for each value of these columns.
    """

    count: int
    slide: int
    origin: int = 0
    by: tuple[str, ...] = ()


Sliding = SlideRange | SlideRows
WindowSpec = Range | Rows | SlideRange | SlideRows


UNITS = (
    ("Day", 86_400_000_000),
    ("Hour", 3_600_000_000),
    ("Minute", 60_000_000),
    ("Second", 1_000_000),
    ("Millisecond", 1000),
)


def format_duration(microseconds: int) -> str:
    """A duration in the largest unit that divides it.

    >>> format_duration(120_000_000), format_duration(1_500_000), format_duration(7)
    ('2 Minutes', '1500 Milliseconds', '7')
    """
    for name, size in UNITS:
        if microseconds and microseconds % size == 0:
            count = microseconds // size
            return f"{count} {name}{'' if count == 1 else 's'}"
    return str(microseconds)


def format_window(spec: WindowSpec) -> str:
    """`spec` as CQL writes it.

    >>> format_window(Rows(5, ("a",))), format_window(SlideRange(10_000_000, 2_000_000))
    ('[Partition By a Rows 5]', '[Range 10 Seconds Slide 2 Seconds]')
    """
    if isinstance(spec, Range) and spec.size == 0 and not spec.on:
        return "[Now]"
    size: int | float | None
    if isinstance(spec, Rows | SlideRows):
        show, size, word, on = _plain, spec.count, "Rows", ""
        by = f"Partition By {', '.join(spec.by)} " if spec.by else ""
    else:
        show, size, word, by = (_plain if spec.on else _duration), spec.size, "Range", ""
        on = f" On {spec.on}" if spec.on else ""
    slide = f" Slide {show(spec.slide)}" if isinstance(spec, Sliding) else ""
    origin = f" Origin {show(spec.origin)}" if isinstance(spec, Sliding) and spec.origin else ""
    return f"[{by}{word} {'Unbounded' if size is None else show(size)}{slide}{origin}{on}]"


def _plain(value: int | float) -> str:
    return str(value)


def _duration(value: int | float) -> str:
    return format_duration(int(value))
