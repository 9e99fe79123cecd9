"""Window drops on all inputs of a join that drop the same windows (Tatbul 7.1.4).

A drop before one input of a join spares what the other inputs' tuples cost nothing, though nothing is left for them to
meet. Drops of one link decide together: on every input they keep what a kept window needs, [T - the longest join
window, T + size), and drop the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from penstock.plan.drops import Location
from penstock.plan.node import Node
from penstock.plan.nodes import Join, Source
from penstock.plan.window_reach import Needs, Reach


class Place(NamedTuple):
    """Where one of the drops stands, and the columns there by which groups are told."""

    location: Location
    keys: tuple[str, ...]


class Together(NamedTuple):
    """Places whose drops drop the same windows, and what all of them reach."""

    places: tuple[Place, ...]
    found: Reach


def alone(location: Location, found: Reach) -> Together:
    """One place by itself."""
    return Together((Place(location, found.keys),), found)


def linked(reached: Iterable[tuple[Location, Reach]]) -> Iterator[Together]:
    """For each set of queries whose results are joins' the places behind streams from which windows can go together."""
    sets: dict[tuple[str, ...], list[tuple[Location, Reach]]] = {}
    for location, found in reached:
        if isinstance(location.node, Source) and not found.rows and _joined(found):
            sets.setdefault(tuple(n.query for n in found.needs), []).append((location, found))
    for listed in sets.values():
        chosen = _earliest(listed)
        if len(chosen) > 1:
            yield _together(chosen)


def _joined(found: Reach) -> bool:
    return all(any(isinstance(n, Join) for n, _ in way.steps) for needs in found.needs for way in needs.ways)


def _earliest(listed: Sequence[tuple[Location, Reach]]) -> list[tuple[Location, Reach]]:
    """The streams themselves, and the arcs of those that others read too."""
    whole: set[Node] = {at.node for at, _ in listed if at.consumer is None}
    return [(at, found) for at, found in listed if at.consumer is None or at.node not in whole]


def _together(chosen: Sequence[tuple[Location, Reach]]) -> Together:
    places = tuple(Place(at, tuple(dict.fromkeys(found.needs[0].keys))) for at, found in chosen)
    sides = zip(*(found.needs for _, found in chosen), strict=True)
    below = tuple(b for _, found in chosen for b in found.below)
    return Together(places, replace(chosen[0][1], needs=tuple(map(_of_all, sides)), below=below))


def _of_all(sides: Sequence[Needs]) -> Needs:
    """What a query needs of each place, so that it is enough for all."""
    origin = min(n.origin for n in sides)
    size = max(n.origin + n.size for n in sides) - origin
    return replace(sides[0], origin=origin, size=size, ways=tuple(w for n in sides for w in n.ways))
