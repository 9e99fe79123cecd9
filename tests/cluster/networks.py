"""Random topologies of every shape that the laws must hold on, and the small networks of the thesis."""

from __future__ import annotations

import numpy as np

from penstock.cluster.topology import Input, Node, Operator, Query, Topology


def random_topology(rng: np.random.Generator, nodes: int = 8, inputs: int = 6, splits: int = 3) -> Topology:
    """A random tree of at most `nodes` nodes: chains, splits nested up to `splits` deep, Unions, costs of zero, huge
    imbalance.
    """
    count = int(rng.integers(1, nodes + 1))
    parent = [-1] + [int(rng.integers(0, i)) for i in range(1, count)]
    builder = _Builder(rng, parent)
    streams = []
    for i in range(int(rng.integers(1, inputs + 1))):
        home = 0 if rng.random() < 0.75 else int(rng.integers(0, count))
        streams.append((f"r{i}", home, splits))
    given = tuple(Input(name, f"n{home}") for name, home, _ in streams)
    builder.grow(streams)
    capacities = 10.0 ** rng.uniform(-1, 1, count) if rng.random() < 0.5 else np.ones(count)
    made = tuple(Node(f"n{i}", float(c)) for i, c in enumerate(capacities))
    return Topology(made, given, tuple(builder.operators), builder.queries())


class _Builder:
    def __init__(self, rng: np.random.Generator, parent: list[int]) -> None:
        self.rng, self.parent, self.operators = rng, parent, list[Operator]()
        self.spread = 3.0 if rng.random() < 0.3 else 0.7

    def grow(self, streams: list[tuple[str, int, int]]) -> None:
        """Extend every stream by operators until it ends, splitting and merging on the way."""
        while streams:
            name, home, splits = streams.pop()
            made = self.operator((name,), home)
            if streams and self.rng.random() < 0.15:
                made = self.merged(made, home, streams)
            branches = int(self.rng.integers(2, 4)) if splits and self.rng.random() < 0.45 else 1
            for _ in range(branches):
                if branches > 1 or self.rng.random() < 0.6:
                    streams.append((made, self.below(home), splits - (branches > 1)))

    def merged(self, name: str, home: int, streams: list[tuple[str, int, int]]) -> str:
        """A Union of this stream and another that waits at the same node, if one does."""
        same = [s for s in streams if s[1] == home and s[0] != name]
        if not same:
            return name
        streams.remove(same[0])
        return self.operator((name, same[0][0]), home)

    def operator(self, reads: tuple[str, ...], home: int) -> str:
        cost = 0.0 if self.rng.random() < 0.1 else float(10.0 ** self.rng.uniform(-self.spread, self.spread))
        selectivity = (
            0.0 if self.rng.random() < 0.03 else float(self.rng.choice([1.0, 0.5, 0.1, 2.0, self.rng.uniform(0, 3)]))
        )
        name = f"o{len(self.operators)}"
        self.operators.append(Operator(name, f"n{home}", cost, selectivity, reads))
        return name

    def below(self, home: int) -> int:
        children = [i for i, p in enumerate(self.parent) if p == home]
        return int(self.rng.choice(children)) if children and self.rng.random() < 0.6 else home

    def queries(self) -> tuple[Query, ...]:
        """Some of the ends weighted, now and then a query that taps a stream in the middle."""
        read = {s for o in self.operators for s in o.inputs}
        ends = [o.name for o in self.operators if o.name not in read]
        weighted = [
            Query(f"q{e}", e, float(self.rng.choice([0.0, 0.3, 1.0, 5.0]))) for e in ends if self.rng.random() < 0.3
        ]
        inner = [o.name for o in self.operators if o.name in read]
        return tuple(weighted + [Query(f"tap{e}", e) for e in inner[:1] if self.rng.random() < 0.3])


def figure_5_1(costs_a: tuple[float, float] = (1.0, 2.0), costs_b: tuple[float, float] = (3.0, 1.0)) -> Topology:
    """Two chained queries over two nodes."""
    return Topology(
        (Node("A", 1.0), Node("B", 1.0)),
        (Input("r1", "A"), Input("r2", "A")),
        tuple(Operator(f"a{i}", "A", c, 1.0, (f"r{i}",)) for i, c in enumerate(costs_a, 1))
        + tuple(Operator(f"b{i}", "B", c, 1.0, (f"a{i}",)) for i, c in enumerate(costs_b, 1)),
    )


def figure_5_3(costs: dict[int, float], selectivities: dict[int, float]) -> Topology:
    """Two levels of splits on one node: operator 1 feeds 2, 5 and 6; operator 2 feeds 3 and 4."""
    reads = {1: "r", 2: "o1", 5: "o1", 6: "o1", 3: "o2", 4: "o2"}
    return Topology(
        (Node("A", 1.0),),
        (Input("r", "A"),),
        tuple(Operator(f"o{n}", "A", costs[n], selectivities[n], (stream,)) for n, stream in reads.items()),
    )


def figure_5_4(costs: tuple[float, ...], selectivities: tuple[float, ...]) -> Topology:
    """Two streams merge by a Union of cost c3, and an operator of cost c4 reads it; the Union passes everything."""
    c, s = costs, selectivities
    return Topology(
        (Node("A", 1.0),),
        (Input("r1", "A"), Input("r2", "A")),
        (
            Operator("o1", "A", c[0], s[0], ("r1",)),
            Operator("o2", "A", c[1], s[1], ("r2",)),
            Operator("union", "A", c[2], 1.0, ("o1", "o2")),
            Operator("o4", "A", c[3], s[3], ("union",)),
        ),
    )


def figure_5_9() -> Topology:
    """An input operator of cost 1 whose output splits to branches of costs 2 and 5."""
    return Topology(
        (Node("A", 1.0),),
        (Input("r", "A"),),
        (
            Operator("o", "A", 1.0, 1.0, ("r",)),
            Operator("top", "A", 2.0, 1.0, ("o",)),
            Operator("bottom", "A", 5.0, 1.0, ("o",)),
        ),
    )


def two_chains(first: tuple[float, ...], second: tuple[float, ...], capacity: float = 1.0) -> Topology:
    """Figure 5.11 and its like: one query per input, its operators chained over two nodes with these costs."""
    inputs = tuple(Input(f"r{i}", "A") for i in range(len(first)))
    at_a = tuple(Operator(f"a{i}", "A", cost, 1.0, (f"r{i}",)) for i, cost in enumerate(first))
    at_b = tuple(Operator(f"b{i}", "B", cost, 1.0, (f"a{i}",)) for i, cost in enumerate(second))
    return Topology((Node("A", capacity), Node("B", capacity)), inputs, at_a + at_b)
