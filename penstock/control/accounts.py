"""The account that is given of shedding: for every query and period what it got, what was dropped above it and why, and
what that cost it (Tatbul 3.8.1).

A pure function of the snapshots. The share that a query gets follows from what the drops kept in the period, by the
load model: what was measured of the drops, put through the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from penstock.plan.drops import Location
from penstock.plan.network import Network, Query
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Delay, Source
from penstock.shed.grid import in_ranges
from penstock.shed.qos import QoS, qos
from penstock.shed.ranges import Attribute, attributes
from penstock.stats.accounts import Delivered, DropAccount, QueryAccount
from penstock.stats.forgetting import Forgetting
from penstock.stats.load import LoadModel
from penstock.stats.snapshot import DropStatistics, Snapshot

Counted = dict[tuple[Location, str], tuple[int, int]]


@dataclass(slots=True)
class Accounts:
    """Sees the snapshots of a run over `network`, after the rewrites, the oldest first."""

    network: Network
    half_life_s: float = 5.0
    _seen: Forgetting = field(init=False)
    _declared: tuple[QoS, ...] = field(init=False)
    _attributes: tuple[Attribute, ...] = field(init=False)
    _above: dict[str, frozenset[Node]] = field(init=False)
    _drops: Counted = field(default_factory=dict)
    _delivered: dict[str, Delivered] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._seen = Forgetting(self.network, self.half_life_s)
        self._declared = tuple(qos(q) for q in self.network.queries)
        self._attributes = attributes(self.network, self._declared)
        self._above = {q.name: frozenset(walk(q.root)) for q in self.network.queries}

    def know(self, load: LoadModel) -> None:
        """The network as it was rehearsed, without drops."""
        self._seen.know(load.values)

    def given(self, snapshot: Snapshot) -> Snapshot:
        """`snapshot` with the accounts of the period that it ends."""
        self._seen.see(snapshot)
        period = self._since(snapshot.drops)
        shares = dict.fromkeys((q.name for q in self.network.queries), 1.0)
        model: LoadModel | None = None
        if any(went for _, went in period.values()) or any(each.value for each in self._declared):
            model = self._seen.model()
            shares = model.delivered(_kept(period))
        delivered = {d.query: d for d in snapshot.delivered}
        accounts = tuple(
            self._account(q, each, delivered, shares[q.name], period, model, snapshot)
            for q, each in zip(self.network.queries, self._declared, strict=True)
        )
        self._delivered = delivered
        return replace(snapshot, accounts=accounts)

    def _since(self, drops: tuple[DropStatistics, ...]) -> Counted:
        """For each drop the tuples that came to it in the period, and those that it took."""
        now: Counted = {}
        for d in drops:
            came, went = now.get((d.location, d.reason), (0, 0))
            now[d.location, d.reason] = came + d.rows_in, went + d.dropped
        before, self._drops = self._drops, now
        return {key: (c - before.get(key, (0, 0))[0], w - before.get(key, (0, 0))[1]) for key, (c, w) in now.items()}

    def _account(
        self, query: Query, each: QoS, delivered: Mapping[str, Delivered], share: float, period: Counted,
        model: LoadModel | None, snapshot: Snapshot,
    ) -> QueryAccount:  # fmt: skip
        now, before = (d.get(query.name, Delivered(query.name)) for d in (delivered, self._delivered))
        estimates = now.estimates - before.estimates
        gone = query.name in snapshot.shut_down
        share = 0.0 if gone else share
        return QueryAccount(
            query.name, now.rows - before.rows, tuple(self._dropped(query, period)), share, each.loss(share),
            None if model is None or each.value is None else self._value(query.name, model, _kept(period)),
            (now.error_total - before.error_total) / estimates if estimates > 0 else None, now.gap_us, gone,
        )  # fmt: skip

    def _dropped(self, query: Query, period: Counted) -> list[DropAccount]:
        above = self._above[query.name]
        mine = [(at, reason, went) for (at, reason), (_, went) in period.items() if went and _leads(at, query, above)]
        return [DropAccount(str(at), reason, went) for at, reason, went in mine]

    def _value(self, query: str, model: LoadModel, kept: Mapping[Location, float]) -> float | None:
        """Value utility: of what the results would be worth, the part that is delivered."""
        root = self.network.query(query).root
        for attribute in self._attributes:
            if query in attribute.queries:
                column = dict(attribute.columns)[root]
                seen = model.values.get((root, column))
                if seen is None or not seen.observed.rows:
                    return None
                worth = np.array([attribute.utility(query, k) for k in range(attribute.ranges)])
                got, best = ((in_ranges(attribute, h.counts) * worth).sum() for h in (seen.observed, seen.whole))
                behind = prod(kept.get(at, 1.0) for at in (Location(root), Location(root, query=query)))
                return min(1.0, float(got / best) * behind) if best else None
        return None


def _kept(period: Counted) -> dict[Location, float]:
    """The share that the drops at each place let through."""
    kept: dict[Location, float] = {}
    for (at, _), (came, went) in period.items():
        if came > 0:
            kept[at] = kept.get(at, 1.0) * (1 - went / came)
    return kept


def _leads(at: Location, query: Query, above: frozenset[Node]) -> bool:
    """True where what is dropped at a place is missing to the query."""
    if at.query is not None:
        return at.query == query.name
    return at.node in above and (at.consumer is None or at.consumer in above)


def balance(snapshot: Snapshot) -> list[str]:
    """Where the counts of a snapshot do not add up; none where they do. At every drop, input = kept + dropped; what an
    operator takes in, and what waits before it, is what its inputs gave less what drops on the way took. Relations that
    are loaded are not counted, nor what reads them.

    >>> balance(Snapshot(1, 0.0))
    []
    """
    wrong = [f"{d.location}: {d.rows_in} in, {d.dropped} dropped" for d in snapshot.drops if d.dropped > d.rows_in]
    taken: dict[Node, int] = {}
    made: dict[Node, int] = {}
    for o in snapshot.operators:
        taken[o.node] = taken.get(o.node, 0) + o.rows_in + o.queued
        made[o.node] = made.get(o.node, 0) + o.rows_out
    streams = {s.name: s.rows - s.waiting - s.late_dropped for s in snapshot.streams}
    gone: dict[Location, int] = {}
    for d in snapshot.drops:
        gone[d.location] = gone.get(d.location, 0) + d.dropped
    for node, rows in taken.items():
        given = [_given(below, Location(below, node, i), streams, made, gone) for i, below in enumerate(node.inputs)]
        if None not in given and sum(g for g in given if g is not None) != rows:
            wrong.append(f"{node.label}: {given} were given, {rows} taken in")
    return wrong


def _given(
    node: Node, arc: Location, streams: Mapping[str, int], made: Mapping[Node, int], gone: Mapping[Location, int]
) -> int | None:
    """Elements that come along an arc; None where that is not counted. A delay box that is not an operator of its own
    passes on what it gets."""
    if isinstance(node, Source):
        rows = streams.get(node.name)
    elif node in made:
        rows = made[node]
    elif isinstance(node, Delay):
        rows = _given(node.input, Location(node.input, node), streams, made, gone)
    else:
        return None
    return None if rows is None else rows - gone.get(Location(node), 0) - gone.get(arc, 0)
