"""Networks of boxes with stated costs and selectivities, and the linear program that says what the best plan loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Source
from penstock.plan.schema import Schema
from penstock.shed.flows import Flows
from penstock.shed.graph import Graph, envelope
from penstock.shed.shares import Floats
from penstock.stats.load import LoadModel, Work


@dataclass
class Boxes:
    """Boxes that differ from each other, each with a cost and a selectivity."""

    work: dict[Node, Work] = field(default_factory=dict)
    count: int = 0

    def box(self, below: Node, cost_s: float, selectivity: float = 1.0) -> Node:
        """A filter or map as far as load is concerned."""
        self.count += 1
        made = Delay(below, self.count / 1000)
        self.work[made] = Work(cost_s, selectivity)
        return made

    def load(self, roots: Mapping[str, Node], rates: Mapping[str, float], drop_s: float = 0.0) -> LoadModel:
        queries = tuple(Query(name, root) for name, root in roots.items())
        return LoadModel(Network(queries=queries), self.work, rates, drop_s)


def source(name: str = "s") -> Source:
    return Source(name, Schema.parse("a int"))


@st.composite
def trees(draw: st.DrawFn) -> LoadModel:
    """Filters, maps and fan-outs over one or two streams."""
    boxes = Boxes()
    cost, selectivity = st.floats(0.1, 10), st.floats(0.1, 1.0)
    ends: list[Node] = []
    streams = [source(f"s{i}") for i in range(draw(st.integers(1, 2)))]
    for stream in streams:
        level: list[Node] = [boxes.box(stream, draw(cost), draw(selectivity))] if draw(st.booleans()) else [stream]
        for _ in range(draw(st.integers(0, 3))):
            grown = []
            for node in level:
                for _ in range(draw(st.integers(1, 3))):
                    grown.append(boxes.box(node, draw(cost), draw(selectivity)))
                if draw(st.integers(0, 4)) == 0:
                    ends.append(node)
            level = grown[:6]
            ends += grown[6:]
        ends += level
    roots = {f"q{i}": node for i, node in enumerate(ends[:12])}
    return boxes.load(roots, {s.name: draw(st.floats(1, 100)) for s in streams})


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A concave loss-tolerance function from 1 to 0."""
    inner = draw(st.lists(st.tuples(st.integers(1, 19), st.integers(0, 20)), max_size=3))
    points = {0.0: 0.0, 1.0: 1.0, **{x / 20: max(u / 20, x / 20) for x, u in inner}}
    rising = np.maximum.accumulate([u for _, u in sorted(points.items())]).tolist()
    return envelope(Graph(tuple(zip(sorted(points), rising, strict=True))))


def least_loss(found: Flows, graphs_: Sequence[Graph], load: float, excess: float) -> float:
    """The least utility that any drops at the candidate locations of a tree lose: minimise the losses of the pieces of
    the graphs over the shares X <= the share before, sum of load X <= what is left, by HiGHS."""
    shares = found.shares
    n = len(shares.load)
    spent = shares.load[:, 0]
    columns = [(o, *piece) for o, g in enumerate(graphs_) for piece in zip(g.points, g.points[1:], strict=False)]
    width = n + len(columns)
    rows: list[Floats] = []
    right: list[float] = []
    for at, below in zip(found.caps, found.below, strict=True):
        row = np.zeros(width)
        row[at], row[below] = 1.0, -1.0
        rows.append(row)
        right.append(0.0)
    for o, at in enumerate(shares.outputs):
        row = np.zeros(width)
        row[at] = -1.0
        row[[n + i for i, c in enumerate(columns) if c[0] == o]] = 1.0
        rows.append(row)
        right.append(0.0)
    rows.append(np.concatenate([spent, np.zeros(len(columns))]))
    right.append(load - excess)
    slopes = np.array([(b[1] - a[1]) / (b[0] - a[0]) for _, a, b in columns])
    bounds = [(0.0, 1.0)] * n + [(0.0, b[0] - a[0]) for _, a, b in columns]
    bounds[n - 1] = (1.0, 1.0)
    aim = np.concatenate([np.zeros(n), -slopes])
    solved = linprog(aim, np.array(rows), np.array(right), bounds=bounds, method="highs")
    assert solved.status == 0, solved.message
    return float(len(graphs_) + solved.fun)
