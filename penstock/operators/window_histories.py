"""The naive meaning of an aggregate over sliding windows: every window in turn, its rows gathered again for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from penstock.operators.aggregates.naive import grouped
from penstock.operators.axis import Axis, Number, Slides
from penstock.operators.base import Event, Row, Stream, order_key
from penstock.operators.histories import row_key
from penstock.plan.nodes import WindowAggregate
from penstock.plan.windows import SlideRange, SlideRows


class Ended(NamedTuple):
    """A window that has ended: its stamp, its bounds, its rows in order."""

    stamp: int
    start: Any
    end: Any
    rows: list[Row]


def reference(node: WindowAggregate, stream: Stream) -> Stream:
    """An element for each group of each ended window that holds a row."""
    ended = _ended(node, sorted(stream, key=order_key))
    schema = node.input.schema
    elements = [
        Event(w.stamp, 0, (*row, w.start, w.end))
        for w in ended
        for row in grouped(node.keys, node.aggregates, schema, w.rows)
        if w.rows
    ]
    return sorted(elements, key=order_key)


def _ended(node: WindowAggregate, stream: Stream) -> Iterable[Ended]:
    spec = node.window
    if isinstance(spec, SlideRange):
        return _over_attribute(node, spec, stream) if spec.on else _over_time(spec, stream)
    places = [node.input.schema.index(b) for b in spec.by]
    partitions: dict[tuple[Any, ...], list[Event]] = {}
    for event in stream:
        partitions.setdefault(row_key(tuple(event.row[p] for p in places)), []).append(event)
    return [w for events in partitions.values() for w in _over_rows(spec, events)]


def _over_time(spec: SlideRange, stream: Stream) -> Iterable[Ended]:
    origin, slide, size = int(spec.origin), int(spec.slide), int(spec.size)
    covering = {k for e in stream for k in range((e.ts - origin - size) // slide, (e.ts - origin) // slide + 1)}
    for start in (origin + k * slide for k in sorted(covering)):
        yield Ended(start + size, start, start + size, [e.row for e in stream if start <= e.ts < start + size])


def _over_rows(spec: SlideRows, events: Sequence[Event]) -> Iterable[Ended]:
    first = -(spec.count + spec.origin) // spec.slide - 1
    for k in range(first, (len(events) - spec.origin) // spec.slide + 1):
        start = spec.origin + k * spec.slide
        inside = events[max(start, 0) : max(start + spec.count, 0)]
        if inside and start + spec.count <= len(events):
            yield Ended(inside[-1].ts, inside[0].ts, inside[-1].ts, [e.row for e in inside])


def _over_attribute(node: WindowAggregate, spec: SlideRange, stream: Stream) -> Iterable[Ended]:
    """Tuple by tuple: each that carries the attribute past the end of windows ends them, before it is seen itself."""
    on = node.input.schema.index(cast(str, spec.on))
    axis = Axis.over(node.input.schema.types[on], spec.size, spec.slide, spec.origin)
    slides = Slides(*(axis.number(n) for n in (spec.origin, spec.slide, spec.size)))
    seen: list[tuple[Number, Row]] = []
    largest: Number | None = None
    for event in stream:
        place = axis.place(event.row[on])
        if place is None:
            continue
        for k in _between(seen, largest, place, slides):
            start, end = slides.start(k), slides.end(k)
            rows = [row for p, row in seen if start <= p < end]
            yield Ended(event.ts, axis.value(start), axis.value(end), rows)
        largest = place if largest is None else max(largest, place)
        seen.append((place, event.row))


def _between(seen: list[tuple[Number, Row]], largest: Number | None, place: Number, slides: Slides) -> list[int]:
    """The windows with a tuple that end at or before `place`, and after `largest`."""
    if largest is None or place <= largest:
        return []
    steps = _steps(slides)
    near = {int((p - slides.origin - d) // slides.slide) + i for p, _ in seen for d in steps for i in (-1, 0, 1)}
    return sorted(k for k in near if slides.exists(k) and largest < slides.end(k) <= place)


def _steps(slides: Slides) -> list[Number]:
    """Distances at which windows lie that may cover a place."""
    return [i * slides.slide for i in range(int(slides.size // slides.slide) + 2)]
