"""Arrays: tuples of values, NULL among them."""

from __future__ import annotations

from typing import Any, Final

from penstock.plan.functions.comparison import contains, equal, less
from penstock.plan.functions.function import Meaning, define
from penstock.plan.functions.strings import LONGEST
from penstock.plan.functions.text import show
from penstock.plan.types import Type

Values = tuple[Any, ...]


def _get(values: Values, index: int) -> Any:
    return values[index] if 0 <= index < len(values) else None


def _element_at(values: Values, place: int) -> Any:
    if place == 0 or abs(place) > len(values):
        return None
    return values[place - 1 if place > 0 else place]


def _position(values: Values, item: Any) -> int:
    return next((i for i, v in enumerate(values, 1) if v is not None and equal(v, item)), 0)


def _join(arguments: tuple[Type, ...], result: Type) -> Meaning:
    element = arguments[0].element
    assert element is not None

    def join(values: Values, separator: str, null: str | None = None) -> str | None:
        shown = [null if v is None else show(v, element) for v in values]
        text = separator.join(s for s in shown if s is not None)
        return text if len(text) <= LONGEST else None

    return join


def _distinct(values: Values) -> Values:
    kept: list[Any] = []
    for value in values:
        if not any(value is k if value is None or k is None else equal(value, k) for k in kept):
            kept.append(value)
    return tuple(kept)


def _extreme(least: bool) -> Meaning:
    def chosen(values: Values) -> Any:
        best = None
        for value in values:
            if value is not None and (best is None or (less(value, best) if least else less(best, value))):
                best = value
        return best

    return chosen


def _slice(values: Values, start: int, length: int) -> Values | None:
    if start == 0 or length < 0:
        return None
    first = start - 1 if start > 0 else len(values) + start
    return values[first : first + length] if first >= 0 else ()


FUNCTIONS: Final = (
    define(
        "array(T...) -> array<T>",
        "an array of the arguments",
        lambda *values: values,
        strict=False,
        aliases=("make_array",),
    ),
    define("get(array<E>, bigint) -> E", "the element at a place counted from 0; NULL outside the array", _get),
    define(
        "element_at(array<E>, bigint) -> E",
        "the element at a place counted from 1, or from the end if negative; NULL outside the array",
        _element_at,
    ),
    define(
        "size(array<E>) -> int", "the number of elements", len, aliases=("cardinality", "array_size", "array_length")
    ),
    define(
        "array_contains(array<E>, E) -> boolean",
        "true where an element is equal; NULL where none is and one is NULL",
        lambda values, item: contains(item, values),
        aliases=("list_contains", "array_has"),
    ),
    define(
        "array_position(array<E>, E) -> bigint",
        "the place of the first equal element, counted from 1; 0 where there is none",
        _position,
    ),
    define(
        "array_join(array<E>, string [, string]) -> string",
        "the elements as text, separated; NULLs left out or replaced",
        bind=_join,
    ),
    define("array_distinct(array<E>) -> array<E>", "each value once", _distinct),
    define("array_min(array<E>) -> E", "the least element that is not NULL", _extreme(True)),
    define("array_max(array<E>) -> E", "the greatest element that is not NULL", _extreme(False)),
    define(
        "array_slice(array<E>, bigint, bigint) -> array<E>",
        "so many elements from a place on, counted from 1, or from the end if negative; NULL for place 0",
        _slice,
    ),
    define(
        "array_concat(array<E>, array<E>) -> array<E>",
        "the elements of the first, then of the second",
        lambda a, b: a + b,
    ),
)
