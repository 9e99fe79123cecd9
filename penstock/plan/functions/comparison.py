"""Comparisons in one total order of values: NaN equals NaN and is above all numbers, -0.0 equals 0.0, strings go by
code point.

Inside arrays NULL equals NULL and comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.plan.functions.function import define

_KEYED: Final = (float, tuple)


def order(value: Any) -> Any:
    """A key under which values of one type compare as SQL compares them.

    >>> order(float("nan")) > order(float("inf")), order(-0.0) == order(0.0)
    (True, True)
    """
    if value is None:
        return (0,)
    if isinstance(value, tuple):
        return (1, tuple(order(v) for v in value))
    return (2,) if value != value else (1, value)


def equal(a: Any, b: Any) -> bool:
    """a = b for values that are not NULL."""
    return bool(order(a) == order(b)) if isinstance(a, _KEYED) else bool(a == b)


def less(a: Any, b: Any) -> bool:
    """a < b for values that are not NULL."""
    return bool(order(a) < order(b)) if isinstance(a, _KEYED) else bool(a < b)


def _same(a: Any, b: Any) -> bool:
    return a is b if a is None or b is None else equal(a, b)


def contains(value: Any, items: tuple[Any, ...]) -> bool | None:
    """`value` IN `items`: NULL where it is none of them and one of them, or it, is NULL."""
    if value is None:
        return None
    if any(i is not None and equal(value, i) for i in items):
        return True
    return None if any(i is None for i in items) else False


def _most(better: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def chosen(*values: Any) -> Any:
        best = None
        for value in values:
            if value is not None and (best is None or better(value, best)):
                best = value
        return best

    return chosen


FUNCTIONS: Final = (
    define("=(T, T) -> boolean", "equal; NaN equals NaN, -0.0 equals 0.0", equal, aliases=("==",)),
    define("<>(T, T) -> boolean", "not equal", lambda a, b: not equal(a, b), aliases=("!=",)),
    define("<(T, T) -> boolean", "less; NaN is above all numbers", less),
    define("<=(T, T) -> boolean", "less or equal", lambda a, b: not less(b, a)),
    define(">(T, T) -> boolean", "greater", lambda a, b: less(b, a)),
    define(">=(T, T) -> boolean", "greater or equal", lambda a, b: not less(a, b)),
    define(
        "<=>(T, T) -> boolean",
        "equal, where NULL equals NULL (IS NOT DISTINCT FROM)",
        _same,
        strict=False,
        aliases=("is_not_distinct_from",),
    ),
    define(
        "in(T, T...) -> boolean",
        "equal to one of the others",
        lambda value, *items: contains(value, items),
        strict=False,
    ),
    define("greatest(T...) -> T", "the greatest that is not NULL", _most(lambda a, b: less(b, a)), strict=False),
    define("least(T...) -> T", "the least that is not NULL", _most(less), strict=False),
)
