"""Feasible input tables: what a node and everything below it can take, and what each input brings.

A node makes its table from its own operators and from its children's tables: an operator maps rows from its output
back to its input, branches of a split are combined, children that hang on different branches merge in the same step,
and rows that a mix of others replaces are pruned. The node's own load becomes a column, so that a parent's mix keeps
within every capacity below it. Streams that enter further down pass through, since whoever chooses above must leave
room for them.

Reference: Tatbul, sections 5.5.1 (tables), 5.5.2 (complementary local plans) and 5.5.3 (merge and propagation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.cluster.flows import Floats
from penstock.cluster.fragments import Fragment
from penstock.cluster.mixing import Mixer, mixer
from penstock.cluster.pruning import pruned, truncated
from penstock.cluster.rows import Rows, combined, distinct, key, single, stacked, through_branch, through_operator
from penstock.cluster.topology import Arc

# Two branches are thinned before their combinations outgrow this many rows; the table then says how far it is off.
MOST_ROWS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A feasible input table. Row k is one tuple per second of `streams[stream_of[k]]`.

    `nodes` and `capacities` describe the columns of `rows.loads`, `branches` those of `rows.plans` (the complementary
    local plans, which stay where they are made). `external` are the streams that come from outside, here or below.
    """

    streams: tuple[str, ...]
    stream_of: NDArray[np.intp]
    rows: Rows
    nodes: tuple[str, ...]
    capacities: Floats
    branches: tuple[str, ...]
    external: frozenset[str]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def error(self) -> float:
        """The largest share of any score that pruning may have cost."""
        rows = self.rows
        lost = 1.0 - np.divide(rows.scores, rows.promises, out=np.ones(len(rows)), where=rows.promises > 0)
        return float(lost.max(initial=0.0))

    @property
    def rate_limits(self) -> Floats:
        """Per row, the rate R at which it fills the first node on its own; infinite where it loads none."""
        loads = self.rows.loads
        filling = np.divide(self.capacities, loads, out=np.full_like(loads, np.inf), where=loads > 0)
        return np.asarray(filling.min(axis=1, initial=np.inf))

    def of(self, stream: str) -> Rows:
        """The rows of one stream."""
        return self.rows.taken(np.flatnonzero(self.stream_of == self.streams.index(stream)))

    def mixer(self) -> Mixer:
        """What selects the best mix of these rows."""
        return mixer(self.rows.scores, self.rows.loads, self.stream_of, self.capacities, len(self.streams))


def node_fit(fragment: Fragment, children: Mapping[str, Fit], epsilon: float) -> Fit:
    """The table of a node from those of its children. A child that is missing counts as free: it must shed for
    itself.
    """
    build = _Build(fragment, children, epsilon)
    streams = {name: build.entry(name, arcs) for name, arcs in fragment.entries.items()}
    for table in children.values():
        for name in table.streams:
            if name in table.external and name not in streams:
                streams[name] = build.lifted(table, name)
    external = fragment.external.union(*(t.external for t in children.values()))
    return assembled(streams, build.nodes, build.capacities, build.branches, external)


def assembled(
    streams: Mapping[str, Rows],
    nodes: tuple[str, ...],
    capacities: Floats,
    branches: tuple[str, ...],
    external: frozenset[str],
) -> Fit:
    """One table from the rows of several streams."""
    none = Rows(
        np.zeros(0, np.uint64), np.zeros(0), np.zeros(0), np.zeros((0, len(nodes))), np.zeros((0, len(branches)))
    )
    rows = stacked([none, *streams.values()])
    stream_of = np.repeat(np.arange(len(streams)), [len(r) for r in streams.values()])
    return Fit(tuple(streams), stream_of, rows, nodes, capacities, branches, external)


class _Build:
    """The columns of a table in the making, and the rows of each operator's output, downstream first."""

    def __init__(self, fragment: Fragment, children: Mapping[str, Fit], epsilon: float) -> None:
        self.fragment, self.children, self.epsilon = fragment, children, epsilon
        columns = {fragment.node: fragment.capacity}
        for table in children.values():
            columns |= dict(zip(table.nodes, table.capacities.tolist(), strict=True))
        self.nodes, self.capacities = tuple(columns), np.array(list(columns.values()))
        below = (name for table in children.values() for name in table.branches)
        self.branches = tuple(dict.fromkeys((*fragment.branches, *below)))
        self.walked: dict[str, Rows] = {}
        for name in reversed(tuple(fragment.operators)):
            self.walked[name] = self.split(fragment.leaving[name])

    def entry(self, name: str, leaving: tuple[Arc, ...]) -> Rows:
        """The rows of a stream that enters here; where it can be thinned on its own, those that a thinner mix
        replaces go.
        """
        rows = self.along(leaving[0]) if name not in self.fragment.external else self.split(leaving)
        rows = Rows(distinct(rows.keys + key(name)), rows.scores, rows.promises, rows.loads, rows.plans)
        if name not in self.fragment.free:
            return self.thinned(rows, self.epsilon)
        useful = np.flatnonzero(~rows.idle)
        return pruned(rows.taken(useful) if len(useful) else rows.taken(np.arange(1)), self.epsilon)

    def split(self, leaving: tuple[Arc, ...]) -> Rows:
        """The rows of a stream with these consumers: one branch after the other, combined and pruned."""
        rows = single("", 0.0, len(self.nodes), len(self.branches))
        for arc in leaving:
            branch = self.along(arc)
            if str(arc) in self.fragment.branches:
                branch = through_branch(branch, str(arc), self.branches.index(str(arc)))
            rows = self.thinned(combined(*self.small(rows, branch)), self.epsilon)
        return rows

    def small(self, first: Rows, second: Rows) -> tuple[Rows, Rows]:
        """Both, thinned further than epsilon asks if their combinations would outgrow a table."""
        epsilon = self.epsilon
        while len(first) * len(second) > MOST_ROWS and epsilon < 0.5:
            epsilon = max(2 * epsilon, 0.005)
            first, second = self.thinned(first, epsilon), self.thinned(second, epsilon)
        if len(first) * len(second) > MOST_ROWS:
            most = max(MOST_ROWS // min(len(first), len(second)), int(MOST_ROWS**0.5))
            first, second = truncated(first, most), truncated(second, most)
        return first, second

    def thinned(self, rows: Rows, epsilon: float) -> Rows:
        """`rows` pruned; only where dropping everything at once is among them may a mix leave tuples out."""
        return pruned(rows, epsilon, free=bool(rows.idle.any()))

    def along(self, arc: Arc) -> Rows:
        """The rows of one arc, past whatever drop stands on it."""
        if arc.to_query:
            return single("", self.fragment.weights[arc.consumer], len(self.nodes), len(self.branches))
        if arc.consumer_node != self.fragment.node:
            return self.child(arc)
        operator = self.fragment.operators[arc.consumer]
        return through_operator(
            self.walked[operator.name], self.nodes.index(operator.node), operator.cost, operator.selectivity
        )

    def child(self, arc: Arc) -> Rows:
        """The child's rows for a stream that leaves for it."""
        table = self.children.get(arc.consumer_node)
        if table is None or str(arc) not in table.streams:
            return single(f"{arc} alone", 1.0, len(self.nodes), len(self.branches))
        return self.lifted(table, str(arc))

    def lifted(self, table: Fit, stream: str) -> Rows:
        """A child's rows for `stream`, in this table's columns."""
        return widened(table, stream, self.nodes, self.branches)


def widened(table: Fit, stream: str, nodes: tuple[str, ...], branches: tuple[str, ...]) -> Rows:
    """The rows of one stream in the columns of a larger table."""
    rows = table.of(stream)
    loads, plans = np.zeros((len(rows), len(nodes))), np.zeros((len(rows), len(branches)))
    loads[:, [nodes.index(n) for n in table.nodes]] = rows.loads
    plans[:, [branches.index(b) for b in table.branches]] = rows.plans
    return Rows(rows.keys, rows.scores, rows.promises, loads, plans)
