"""What a lane's operators and drops did in one stage of a batch, by the places of nodes in the network.

Lanes count from their beginning, which a rebuilt state has moved; what goes to the driver are differences.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from penstock.lane.runtime import Lane
from penstock.plan.drops import Location
from penstock.plan.node import Node, walk
from penstock.plan.watched import Watched
from penstock.spark.lanes.share import Share
from penstock.spark.plans import Plans
from penstock.spark.stages import Staged
from penstock.stats.accounts import Delivered
from penstock.stats.histograms import Histogram


class LaneCounters:
    """The counters of one fragment's lane; nodes of the fragment are named by those of the whole network."""

    def __init__(self, staged: Staged, fragment: int, plans: Plans) -> None:
        inside = frozenset(walk(*staged.roots_of(fragment)))
        self._places = {inner: plans.place(node) for node, inner in staged.inner.items() if inner in inside}
        self._leaves = {leaf: plans.place(node) for node, leaf in staged.leaves.items()}
        self._seen: dict[Any, tuple[float, ...]] = {}
        self._histograms: dict[Watched, Histogram] = {}

    def since(self, lane: Lane) -> dict[str, Any]:
        """What happened since this was asked the last time."""
        looked = lane.snapshot()
        operators = []
        for o in looked.operators:
            did = self._more(("operator", o.node), (o.rows_in, o.rows_out, o.runs, o.busy_s))
            if any(did) and o.node in self._places:
                operators.append([self._places[o.node], *did[:3], round(did[3], 7), o.queued, o.state_bytes])
        dropped = []
        for d in looked.drops:
            came, went = self._more((d.location, d.reason), (d.rows_in, d.dropped))
            if came:
                dropped.append([*self._named(d.location), d.reason, came, went])
        aside = {f: self._more(("aside", f), (n,))[0] for f, n in looked.set_aside}
        return {
            "operators": operators,
            "drops": dropped,
            "shut": [[*self._named(at), batches] for at, batches in lane.shut() if at.node in self._places],
            "store_bytes": looked.store_bytes,
            "profiles": self._profiles(lane),
            "values": self._values(looked.values),
            "delivered": self._delivered(looked.delivered),
            "set_aside": {f: n for f, n in aside.items() if n},
        }

    def _profiles(self, lane: Lane) -> list[Any]:
        """What was measured of filters: the operator's place, the words of its verdicts with their counts, rows
        sampled, seconds and the rows they were spent on."""
        found = []
        for p in lane.profiled():
            if p.node in self._places:
                words = Counter(p.bits.tolist()).most_common()
                found.append([self._places[p.node], words, p.sampled, p.seconds.tolist(), p.rows.tolist()])
        return found

    def _delivered(self, looked: tuple[Delivered, ...]) -> list[Any]:
        """For each result what left since the last time; gaps and errors are the largest of all time."""
        found = []
        for d in looked:
            more = self._more(("delivered", d.query), (d.rows, d.estimates, d.error_total))
            if any(more):
                found.append([d.query, more[0], d.gap_us, more[1], more[2], d.error_most])
        return found

    def _values(self, looked: tuple[Histogram, ...]) -> list[Any]:
        """For each watched column that had rows: its place, its name, and its histogram."""
        found = []
        for now in looked:
            did = now.since(self._histograms.get(now.watched))
            self._histograms[now.watched] = now
            if did.rows and now.watched.node in self._places:
                place = self._places[now.watched.node]
                found.append([place, now.watched.column, did.counts, did.total, did.squares, did.low, did.high])
        return found

    def _more(self, key: Any, now: tuple[float, ...]) -> list[Any]:
        before = self._seen.get(key, (0,) * len(now))
        self._seen[key] = now
        return [a - b for a, b in zip(now, before, strict=True)]

    def _named(self, location: Location) -> list[Any]:
        consumer: Node | None = location.consumer
        node = self._places.get(location.node, self._leaves.get(location.node, -1))
        return [node, -1 if consumer is None else self._places[consumer], location.input, location.query]


def location_of(named: list[Any], plans: Plans) -> Location:
    """The inverse of what a lane calls a location."""
    node, consumer, number, query = named
    if consumer < 0:
        return Location(plans.node(node), query=query)
    taker = plans.node(consumer)
    return Location(taker.inputs[number], taker, number)


class StageCounters:
    """The counters of all fragments on one lane."""

    def __init__(self, staged: Staged, plans: Plans) -> None:
        self._staged = staged
        self._fragments = {i: LaneCounters(staged, i, plans) for i in range(len(staged.fragments))}

    def since(self, share: Share, stage: int) -> dict[str, Any]:
        """What the fragments of `stage` did since this was asked the last time."""
        mine = [(i, lane) for i, lane in share.lanes().items() if self._staged.depths[i] == stage]
        return _added([self._fragments[i].since(lane) for i, lane in mine])

    def forget(self, share: Share) -> None:
        """Lets what was counted so far be the past: a state that was made again has run old batches."""
        for i, lane in share.lanes().items():
            self._fragments[i].since(lane)


def _added(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The counters of several fragments as one lane's."""
    aside: Counter[str] = Counter()
    for part in parts:
        aside.update(part["set_aside"])
    return {
        "operators": [o for p in parts for o in p["operators"]],
        "drops": [d for p in parts for d in p["drops"]],
        "shut": [s for p in parts for s in p["shut"]],
        "profiles": [m for p in parts for m in p["profiles"]],
        "store_bytes": sum(p["store_bytes"] for p in parts),
        "values": [v for p in parts for v in p["values"]],
        "delivered": [d for p in parts for d in p["delivered"]],
        "set_aside": dict(aside),
    }


class Watch:
    """Wall time by part, and the processor time of this process."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()
        self._parts: dict[str, float] = {}

    def lap(self, part: str) -> None:
        """What has passed since the last lap was `part`."""
        now = time.perf_counter()
        self._parts[part] = round(self._parts.get(part, 0.0) + now - self._wall, 6)
        self._wall = now

    def read(self) -> dict[str, Any]:
        """As counters."""
        return {"seconds": self._parts, "processor_s": round(time.process_time() - self._processor, 6)}
