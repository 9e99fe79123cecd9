"""Reads the texts in which a query declares its quality of service (see `penstock.shed.qos`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.pairs import NUMBER, number, pairs, utility
from penstock.plan.schema import Schema
from penstock.plan.types import STRING, Type, to_internal
from penstock.shed.graph import Graph
from penstock.shed.values import Interval, Value

_RANGE: Final = re.compile(rf"[\[(]?\s*({NUMBER})?\s*(?:\.\.|-|,|to)\s*({NUMBER})?\s*[)\]]?")
_BOUND: Final = re.compile(rf"(<|>=)\s*({NUMBER})")
_UTILITY: Final = re.compile(rf"({NUMBER})(?:\s*\.\.\s*({NUMBER}))?")
_NAME: Final = r"(?:<|>=)\s*[^=,]+?|(?:'(?:[^']|'')*'|\[[^\])]*[\])]|[^',=\[])+?"
_ITEM: Final = re.compile(rf"\s*({_NAME})\s*[=:]\s*([^,=']+?)\s*(?:,|$)")
_LOSS: Final = "such as '100: 1.0, 50: 0.7, 0: 0'"
_VALUE: Final = "such as \"src: '10.0.0.1' = 1.0, else = 0.2\" or 'x: 0..50 = 0.2, 50..101 = 1.0'"


def loss_graph(text: str) -> Graph:
    """The loss-tolerance function, as it is written. All results are worth 1 and none 0 unless said otherwise.

    >>> loss_graph("100: 1.0, 50: 0.7").points
    ((0.0, 0.0), (0.5, 0.7), (1.0, 1.0))
    """
    points = {0.0: 0.0, 1.0: 1.0}
    said: set[float] = set()
    for left, right in pairs(text, "loss", _LOSS):
        percent = number(left.removesuffix("%").strip(), "loss", _LOSS)
        if not 0 <= percent <= 100:
            raise PenstockError(Diagnostic(f"loss: {left} is no percentage", help=_LOSS))
        if percent in said:
            raise PenstockError(Diagnostic(f"loss: {left} percent is given twice", help=_LOSS))
        said.add(percent)
        points[percent / 100] = utility(right, "loss", _LOSS)
    listed = tuple(sorted(points.items()))
    fall = next((b for a, b in pairwise(listed) if b[1] < a[1]), None)
    if fall is not None:
        message = f"loss: {fall[0] * 100:g} percent of the results cannot be worth less than fewer of them"
        raise PenstockError(Diagnostic(message, help=_LOSS))
    return Graph(listed)


def value_graph(text: str, schema: Schema, notes: list[str]) -> Value:
    """The value-based function over a column of `schema`; what the reader should know goes to `notes`."""
    column, colon, rest = text.partition(":")
    name = next((n for n in schema.names if n.lower() == column.strip().lower()), None)
    if not colon:
        raise PenstockError(Diagnostic(f"value: '{text}' names no column", help=_VALUE))
    if name is None:
        raise PenstockError(unknown("output column", column.strip(), schema.names))
    intervals: list[Interval] = []
    categories: list[tuple[Any, float]] = []
    other: float | None = None
    for left, right in _items(rest):
        if left.lower() in ("else", "other"):
            other = utility(right, "value", _VALUE)
        elif (found := _interval(left, right)) is not None:
            intervals.append(found)
        else:
            categories.append((_constant(left, schema.type_of(name)), utility(right, "value", _VALUE)))
    _check(intervals, categories, schema.type_of(name), name)
    if other is None:
        notes.append(f"value: other values of {name} are worth 0, unless 'else = ...' says more")
    intervals.sort(key=lambda i: float("-inf") if i.low is None else i.low)
    return Value(name, tuple(intervals), tuple(categories), other or 0.0)


def _check(intervals: list[Interval], categories: list[tuple[Any, float]], t: Type, name: str) -> None:
    if not intervals and not categories:
        raise PenstockError(Diagnostic("value: no interval and no category is given", help=_VALUE))
    if intervals and categories:
        raise PenstockError(Diagnostic("value: intervals and categories do not go together", help=_VALUE))
    if intervals and not (t.numeric or t.ordered_numeric):
        raise PenstockError(Diagnostic(f"value: '{name}' is a {t} and has no intervals", help=_VALUE))
    ordered = sorted(intervals, key=lambda i: float("-inf") if i.low is None else i.low)
    for a, b in pairwise(ordered):
        if a.high is None or b.low is None or a.high > b.low:
            raise PenstockError(Diagnostic(f"value: two intervals of {name} overlap (they are half-open)", help=_VALUE))


def _interval(left: str, right: str) -> Interval | None:
    """The interval that `left` names, None for a category."""
    bound, ends = _BOUND.fullmatch(left), _RANGE.fullmatch(left)
    if bound is not None:
        at = float(bound[2])
        low, high = (None, at) if bound[1] == "<" else (at, None)
    elif ends is not None:
        low, high = (None if e is None else float(e) for e in ends.groups())
    else:
        return None
    if low is not None and high is not None and low >= high:
        raise PenstockError(Diagnostic(f"value: the interval {left} is empty", help=_VALUE))
    first, last = _utilities(right)
    return Interval(low, high, first, last)


def _utilities(text: str) -> tuple[float, float]:
    match = _UTILITY.fullmatch(text)
    if match is None:
        raise PenstockError(Diagnostic(f"value: '{text}' is no utility", help=_VALUE))
    return utility(match[1], "value", _VALUE), utility(match[2] or match[1], "value", _VALUE)


def _constant(text: str, t: Type) -> Any:
    """The category that `text` names, as a value of the column's type."""
    quoted = len(text) > 1 and text[0] == text[-1] == "'"
    plain = text[1:-1].replace("''", "'") if quoted else text
    if not quoted and t == STRING:
        raise PenstockError(Diagnostic(f"value: the text {plain} needs quotes", help=_VALUE))
    try:
        return to_internal(plain if t == STRING else _plain(plain), t)
    except (ValueError, TypeError, PenstockError):
        raise PenstockError(Diagnostic(f"value: {text} is no {t}", help=_VALUE)) from None


def _plain(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return float(text) if "." in text or "e" in text.lower() else int(text)


def _items(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text.rstrip()):
        match = _ITEM.match(text, place)
        if match is None:
            raise PenstockError(Diagnostic(f"value: '{text[place:].strip()}' cannot be read", help=_VALUE))
        yield match[1].strip(), match[2].strip()
        place = match.end()
