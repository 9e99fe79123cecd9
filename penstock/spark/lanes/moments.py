"""When results were due: the arrival that permitted them, for every instant that has not passed yet.

The result of an instant t is final once every stream that it reads has come past t by its skew bound. So it was due
when the first row stamped past that arrived; everything that it was made from had arrived before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from penstock.operators.columns.vector import Array
from penstock.plan.network import Network
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Source
from penstock.stats.batches import Points

KEPT = 4096
"""Rows of a batch that are remembered, results that are looked at: enough for a percentile, and cheap."""
SHOWN = 200


class Moments:
    """Of one lane: what has arrived on each stream of `network` past its progress."""

    def __init__(self, network: Network, skew_us: int) -> None:
        self._skew = {s.name: skew_us if s.within_us is None else s.within_us for s in network.streams}
        self._read = {q.name: _streams(q.root) for q in network.queries}
        self._past: dict[str, tuple[Array, Array]] = {}
        self._latest = self._before = 0

    def after(self, other: Moments) -> None:
        """Goes on with what `other`, over another network, has seen."""
        self._past = {stream: seen for stream, seen in other._past.items() if stream in self._skew}
        self._latest, self._before = other._latest, other._before

    def arrived(self, stream: str, ts: Array, arrival: Array) -> None:
        """Takes note of rows, which are in the order of their stamps."""
        if stream not in self._skew or not len(ts):
            return
        self._latest = max(self._latest, int(arrival.max()))
        if len(ts) > KEPT:
            chosen = np.linspace(0, len(ts) - 1, KEPT).astype(np.int64)
            ts, arrival = ts[chosen], arrival[chosen]
        past, first = self._past.get(stream, (ts[:0], arrival[:0]))
        past, first = np.concatenate((past, ts - self._skew[stream])), np.concatenate((first, arrival))
        order = np.argsort(past, kind="stable")
        self._past[stream] = past[order], np.minimum.accumulate(first[order][::-1])[::-1]

    def due(self, query: str, ts: Array) -> Points | None:
        """When the results of `query` with these stamps were due; None where that is not known."""
        known = [self._past[s] for s in self._read[query] if s in self._past]
        if not known or not len(ts):
            return None
        looked = ts if len(ts) <= KEPT else ts[np.linspace(0, len(ts) - 1, KEPT).astype(np.int64)]
        each = [np.append(first, self._before)[np.searchsorted(past, looked, side="right")] for past, first in known]
        moments = np.sort(np.maximum.reduce(each))
        if len(moments) > SHOWN:
            moments = moments[np.linspace(0, len(moments) - 1, SHOWN).astype(np.int64)]
        return len(ts), moments.tolist()

    def passed(self, progress: Mapping[str, int]) -> None:
        """Forgets what permits only instants that have passed."""
        for stream, (past, first) in self._past.items():
            start = int(np.searchsorted(past, progress[stream], side="right"))
            self._past[stream] = past[start:], first[start:]
        self._before = self._latest


def _streams(root: Node) -> tuple[str, ...]:
    leaves: Iterable[Source] = (n for n in walk(root) if isinstance(n, Source))
    return tuple(leaf.name for leaf in leaves)
