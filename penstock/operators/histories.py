"""What the references share: relations over time and bags of rows, in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from penstock.operators.base import Event, Row, Snapshot, Stream, Timeline, instants, order_key, value_key


def row_key(row: Row) -> tuple[Any, ...]:
    """Equal exactly for rows that DISTINCT takes as one: NULL is NULL, NaN is NaN, -0.0 is 0.0."""
    return tuple(value_key(v) for v in row)


def pointwise(function: Callable[..., list[Row]], *relations: Timeline) -> Timeline:
    """A relation that is at every instant `function` of the contents of `relations`."""
    places = [0] * len(relations)
    timeline = []
    for t in instants(*relations):
        for i, relation in enumerate(relations):
            while places[i] < len(relation) and relation[places[i]].ts <= t:
                places[i] += 1
        contents = [r[p - 1].rows if p else [] for r, p in zip(relations, places, strict=True)]
        timeline.append(Snapshot(t, function(*contents)))
    return timeline


def changes(relation: Timeline, entering: bool) -> Stream:
    """The rows that each instant adds to the content of the instant before (or, not `entering`, takes from it)."""
    before: list[Row] = []
    events: Stream = []
    for t, rows in relation:
        events += derived(t, minus(rows, before) if entering else minus(before, rows))
        before = rows
    return events


def derived(ts: int, rows: Iterable[Row]) -> Stream:
    """The elements of a derived stream at one instant: they have no place of their own, the rows' values order them."""
    return sorted((Event(ts, 0, row) for row in rows), key=order_key)


def minus(left: list[Row], right: list[Row]) -> list[Row]:
    """The bag difference."""
    spare = Counter(map(row_key, right))
    return [row for row in left if not _taken(spare, row)]


def common(left: list[Row], right: list[Row]) -> list[Row]:
    """The bag intersection."""
    spare = Counter(map(row_key, right))
    return [row for row in left if _taken(spare, row)]


def distinct(rows: list[Row]) -> list[Row]:
    """Each distinct row once."""
    return list({row_key(row): row for row in rows}.values())


def _taken(spare: Counter[tuple[Any, ...]], row: Row) -> bool:
    key = row_key(row)
    spare[key] -= 1
    return spare[key] >= 0
