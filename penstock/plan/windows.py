"""Window specifications (Babu 2.1.2, and Aurora's slides): which tuples of a stream a relation holds at an instant."""

from __future__ import annotations

from dataclasses import dataclass

BEGIN = -(1 << 62)
"""The instant before all others: rows that were loaded are stamped with it."""
END = 1 << 62
"""The end of time: progress that has reached it closes every time window."""


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
    windows have all ended is counted as late.
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


def format_window(spec: WindowSpec) -> str:
    """`spec` as CQL writes it.

    >>> format_window(Rows(5, ("a",))), format_window(SlideRange(10, 2))
    ('[Partition By a Rows 5]', '[Range 10 Slide 2]')
    """
    by = f"Partition By {', '.join(spec.by)} " if isinstance(spec, Rows | SlideRows) and spec.by else ""
    on = f" On {spec.on}" if isinstance(spec, Range | SlideRange) and spec.on else ""
    slide = f" Slide {spec.slide}" if isinstance(spec, Sliding) else ""
    origin = f" Origin {spec.origin}" if isinstance(spec, Sliding) and spec.origin else ""
    if isinstance(spec, Range) and spec.size == 0 and not spec.on:
        return "[Now]"
    size = spec.size if isinstance(spec, Range | SlideRange) else spec.count
    word = "Range" if isinstance(spec, Range | SlideRange) else "Rows"
    return f"[{by}{word} {'Unbounded' if size is None else size}{slide}{origin}{on}]"
