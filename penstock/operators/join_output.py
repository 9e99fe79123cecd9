"""From the candidates that all steps have passed to the elements of a result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.operators.columns.vector import Array
from penstock.operators.join_gathered import Gathered
from penstock.operators.join_pipeline import Candidates, JoinedSide, gathered
from penstock.operators.kernels.join_gather import arrange, count_events, keep_least, scatter, taken


def in_event_order(found: Sequence[Candidates], total: int) -> Candidates:
    """The results of all pipelines in the order of their events, of which there are `total`."""
    if len(found) == 1:
        return found[0]
    offsets = np.zeros(total + 1, np.int64)
    for part in found:
        count_events(part.events, offsets)
    np.cumsum(offsets, out=offsets)
    count = int(offsets[-1])
    events = np.empty(count, np.int32)
    sides = [np.empty(count, np.int32) for _ in found[0].places]
    for part in found:
        places = np.empty(len(part), np.int64)
        arrange(part.events, offsets, places)
        scatter(part.events, places, events)
        for side, rows in zip(sides, part.places, strict=True):
            assert rows is not None
            scatter(rows, places, side)
    return Candidates(events, tuple(sides))


def columns(sides: Sequence[JoinedSide], found: Candidates) -> Gathered:
    """The columns of the result. What lives in windows is gathered when it is read; other rows may be gone by then."""
    result = gathered(sides, found)
    lasting = [side.rows.borrowed for side in sides for _ in side.schema]
    for i, lasts in enumerate(lasting):
        if not lasts:
            result[i]
    return result


def headers(sides: Sequence[JoinedSide], found: Candidates) -> tuple[Array, Array | None]:
    """The earliest arrival and the product of the weights."""
    arrival: Array | None = None
    weight: Array | None = None
    for side, places in zip(sides, found.places, strict=True):
        assert places is not None
        if arrival is None:
            arrival = taken(side.rows.arrival, places)
        else:
            keep_least(arrival, side.rows.arrival, places)
        if side.rows.weight is not None:
            own = taken(side.rows.weight, places)
            weight = own if weight is None else weight * own
    assert arrival is not None
    return arrival, weight
