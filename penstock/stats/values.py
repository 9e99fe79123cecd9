"""What the watched columns held lately: histograms that forget at the pace of the other statistics.

Drops spoil what is counted: values that a drop takes are no longer seen. At a source the rows that its drops took are
put back where, by what is remembered, rows are missing (`Histogram.with_dropped`). Behind an operator only how much of
each bin passes counts, and that does not change when a bin is dropped further up.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.node import Node
from penstock.plan.nodes import Source
from penstock.plan.watched import Watched
from penstock.stats.histograms import Histogram
from penstock.stats.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Seen:
    """A watched column: as it was `observed`, drops included, and `whole`, as it would be without drops at its place
    (the same, but behind a source)."""

    observed: Histogram
    whole: Histogram


class Values:
    """Remembers histograms from snapshot to snapshot."""

    def __init__(self) -> None:
        self._before: dict[Watched, Histogram] = {}
        self._observed: dict[Watched, Histogram] = {}
        self._whole: dict[Watched, Histogram] = {}
        self._dropped: dict[Node, int] = {}

    def see(self, snapshot: Snapshot, keep: float) -> None:
        """Adds what was counted since the last snapshot; of what was known before, `keep` is left."""
        dropped = self._dropped_since(snapshot)
        for now in _united(snapshot.values):
            key = now.watched
            did = now.since(self._before.get(key))
            self._before[key] = now
            known = self._whole.get(key)
            more = did
            if isinstance(key.node, Source) and known is not None:
                more = did.with_dropped(dropped.get(key.node, 0), known.parts)
            self._whole[key] = more if known is None else known.times(keep) + more
            seen = self._observed.get(key)
            self._observed[key] = did if seen is None else seen.times(keep) + did

    def _dropped_since(self, snapshot: Snapshot) -> dict[Node, int]:
        now: dict[Node, int] = {}
        for drop in snapshot.drops:
            if isinstance(drop.location.node, Source) and drop.location.consumer is None:
                now[drop.location.node] = now.get(drop.location.node, 0) + drop.dropped
        before, self._dropped = self._dropped, now
        return {node: max(0, count - before.get(node, 0)) for node, count in now.items()}

    def seen(self) -> dict[tuple[Node, str], Seen]:
        """What is known, by node and column."""
        return {(w.node, w.column): Seen(h, self._whole[w]) for w, h in self._observed.items()}


def _united(values: tuple[Histogram, ...]) -> tuple[Histogram, ...]:
    """Histograms of one column that several lanes counted as one."""
    found: dict[Watched, Histogram] = {}
    for each in values:
        found[each.watched] = found[each.watched] + each if each.watched in found else each
    return tuple(found.values())
