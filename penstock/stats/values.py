"""What the watched columns held lately: histograms that forget at the pace of the other statistics.

Drops spoil what is counted: values that a drop takes are no longer seen. At a source the rows that its drops took are
put back where, by what is remembered, rows are missing (`Histogram.with_dropped`). Behind an operator it is learnt how
much of each bin passes, while no drop stands right before it; that does not change when a bin is dropped further up.
So what would be there without drops is worked out from the sources down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.plan.drops import Location
from penstock.plan.node import Node
from penstock.plan.nodes import Source
from penstock.plan.watched import Watched
from penstock.stats.histograms import Histogram
from penstock.stats.snapshot import Snapshot

Known = Mapping[Watched, Histogram]


@dataclass(frozen=True, slots=True)
class Seen:
    """A watched column: as it was `observed`, drops included, and `whole`, as it would be without drops."""

    observed: Histogram
    whole: Histogram


class Values:
    """Remembers histograms from snapshot to snapshot."""

    def __init__(self) -> None:
        self._before: dict[Watched, Histogram] = {}
        self._observed: dict[Watched, Histogram] = {}
        self._sources: dict[Watched, Histogram] = {}
        self._passing: dict[Watched, Known] = {}
        self._dropped: dict[tuple[Location, str], int] = {}
        self._owed: dict[Watched, float] = {}
        self._put_back: dict[Watched, float] = {}
        self._by_value = False

    def see(self, snapshot: Snapshot, keep: float) -> None:
        """Adds what was counted since the last snapshot; of what was known before, `keep` is left."""
        dropped = self._dropped_since(snapshot)
        rows = {s.name: s.rows for s in snapshot.streams}
        for now in _united(snapshot.values):
            gone = sum(count for at, count in dropped.items() if at.node == now.watched.node)
            self._owed[now.watched] = self._owed.get(now.watched, 0.0) + gone
            self._add(now, keep, rows)
        together = dict(self._observed)
        for watched in together:
            if watched not in self._passing or not _spoiled(watched.node, dropped):
                self._passing[watched] = together

    def know(self, seen: Mapping[tuple[Node, str], Seen]) -> None:
        """What was seen before the run: until there is better, operators pass what they passed then."""
        together = {s.observed.watched: s.observed for s in seen.values()}
        self._passing = dict.fromkeys(together, together)

    def _add(self, now: Histogram, keep: float, rows: Mapping[str, int]) -> None:
        key = now.watched
        did = now.since(self._before.get(key))
        self._before[key] = now
        seen = self._observed.get(key)
        self._observed[key] = did if seen is None else seen.times(keep) + did
        if isinstance(key.node, Source):
            known = self._sources.get(key)
            if known is not None and did.rows:
                missing = min(self._owed.pop(key), self._unseen(now, rows.get(key.node.name, 0)))
                self._put_back[key] = self._put_back.get(key, 0.0) + missing
                did = did.with_dropped(missing, known.parts)
            self._sources[key] = did if known is None else known.times(keep) + did

    def _unseen(self, now: Histogram, rows: int) -> float:
        """Rows of a stream so far that were neither counted where it is read, once or several times, nor put back."""
        times = max(1, round(now.rows / rows)) if rows else 0
        return max(0.0, times * rows - now.rows - self._put_back.get(now.watched, 0.0))

    def _dropped_since(self, snapshot: Snapshot) -> dict[Location, int]:
        now: dict[tuple[Location, str], int] = {}
        for d in snapshot.drops:
            now[d.location, d.reason] = now.get((d.location, d.reason), 0) + d.dropped
        before, self._dropped = self._dropped, now
        found: dict[Location, int] = {}
        for key, count in now.items():
            if count > before.get(key, 0):
                found[key[0]] = found.get(key[0], 0) + count - before.get(key, 0)
        self._by_value = any(reason == "semantic" and found.get(at) for at, reason in now)
        return found

    def seen(self) -> dict[tuple[Node, str], Seen]:
        """What is known, by node and column."""
        whole = self._whole()
        return {(w.node, w.column): Seen(h, whole[w]) for w, h in self._observed.items()}

    def selectivities(self) -> dict[Node, float]:
        """Elements out for an element in, as it would be without drops: where tuples are chosen by their values, what
        an operator gets is not what it would get."""
        if not self._by_value:
            return {}
        whole, found = self._whole(), {}
        for watched, out in whole.items():
            above = _inputs(watched, whole)
            came = sum(whole[i].rows for i in above)
            if len(watched.node.inputs) == len(above) == 1 and came and _narrowed(watched):
                found[watched.node] = out.rows / came
        return found

    def _whole(self) -> dict[Watched, Histogram]:
        found: dict[Watched, Histogram] = {}
        for watched in self._observed:
            self._worked_out(watched, found)
        return found

    def _worked_out(self, watched: Watched, found: dict[Watched, Histogram]) -> Histogram:
        """The histogram without drops: what comes in, without drops, times how much of each bin passes."""
        if watched in found:
            return found[watched]
        above = _inputs(watched, self._observed)
        if isinstance(watched.node, Source) or not above:
            found[watched] = self._sources.get(watched, self._observed[watched])
            return found[watched]
        into = np.sum([self._worked_out(i, found).counts for i in above], axis=0)
        then = self._passing[watched]
        came = np.sum([then[i].counts for i in above if i in then] or [into], axis=0)
        passes = np.ones(len(into))
        np.divide(np.array(then[watched].counts), came, out=passes, where=came > 0)
        known = self._observed[watched]
        found[watched] = Histogram(watched, tuple((into * passes).tolist()), known.total, known.squares,
                                   known.low, known.high)  # fmt: skip
        return found[watched]


def _inputs(watched: Watched, known: Known) -> list[Watched]:
    """The watched columns of a node's inputs that hold the same values: those with the same bins."""
    bins = (watched.cuts, watched.categories)
    return [w for w in known if w.node in watched.node.inputs and (w.cuts, w.categories) == bins and w.bins > 2]


def _narrowed(watched: Watched) -> bool:
    """True where the node makes at most one row of one."""
    return all(i.kind is watched.node.kind for i in watched.node.inputs)


def _spoiled(node: Node, dropped: Mapping[Location, int]) -> bool:
    """True where drops stand between the counts of a node's inputs and the node."""
    places = [Location(below, node, i) for i, below in enumerate(node.inputs)]
    places += [Location(below) for below in node.inputs if not isinstance(below, Source)]
    return any(at in dropped for at in places)


def _united(values: tuple[Histogram, ...]) -> tuple[Histogram, ...]:
    """Histograms of one column that several lanes counted as one."""
    found: dict[Watched, Histogram] = {}
    for each in values:
        found[each.watched] = found[each.watched] + each if each.watched in found else each
    return tuple(found.values())
