"""Random networks of nested, shared, grouped and filtered aggregates, what arrives, and window drops on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from penstock.lane.events import Arrival
from penstock.lane.reference import Element
from penstock.plan.drops import Location, Placed, WindowDrop
from penstock.plan.expressions import Column, Literal
from penstock.plan.functions import call
from penstock.plan.network import Network, Query, StreamDefinition
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import AggregateCall, Delay, Filter, Map, Source, Union, WindowAggregate
from penstock.plan.rewrites import optimize
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, INT
from penstock.plan.window_reach import reach
from penstock.plan.windows import SlideRange
from penstock.shed.window_rules import common
from penstock.stats.load import takers

SCHEMA = Schema.parse("k int, j string, x int")
KEYS = (("k", INT), ("j", SCHEMA.type_of("j")))


@dataclass(frozen=True)
class Case:
    """A network whose queries bear `gaps`, and what arrives."""

    network: Network
    gaps: dict[str, int]
    given: tuple[Arrival, ...]


class _Maker:
    """Makes streams of (k, j, x), or of the keys that are left and x, node over node."""

    def __init__(self, draw: st.DrawFn, sources: Sequence[Source]) -> None:
        self.draw = draw
        self.sources = list(sources)
        self.made: list[Node] = []

    def stream(self, depth: int) -> Node:
        if depth == 0:
            return self.draw(st.sampled_from(self.sources))
        if self.made and self.draw(st.integers(0, 2)) == 0:
            return self.draw(st.sampled_from(self.made))
        below = self.stream(depth - 1)
        kinds = ("aggregate", "aggregate", "filter", "map", "delay", "union")
        made = getattr(self, self.draw(st.sampled_from(kinds)))(below)
        self.made.append(made)
        return made

    def aggregate(self, below: Node) -> Node:
        there = [name for name, _ in KEYS if name in below.schema.names]
        keys = tuple(n for n in there if self.draw(st.integers(0, 3)))
        slide = self.draw(st.integers(1, 6))
        size = slide + self.draw(st.sampled_from((0, 0, 1, 2, 5)))
        window = SlideRange(size, slide, self.draw(st.integers(-3, 3)))
        function = self.draw(st.sampled_from(("count", "max")))
        counts = AggregateCall("x", "count", None, BIGINT)
        kept = counts if function == "count" else AggregateCall("x", "max", "x", below.schema.type_of("x"))
        made = WindowAggregate(below, window, keys, (kept,))
        return Map(made, tuple((n, Column(n, made.schema.type_of(n))) for n in (*keys, "x")))

    def filter(self, below: Node) -> Node:
        x = Column("x", below.schema.type_of("x"))
        bound = Literal(self.draw(st.integers(0, 3)), below.schema.type_of("x"))
        return Filter(below, call(self.draw(st.sampled_from((">", "<"))), x, bound))

    def map(self, below: Node) -> Node:
        outputs = [(n, Column(n, below.schema.type_of(n))) for n in below.schema.names if n != "x"]
        x = Column("x", below.schema.type_of("x"))
        return Map(below, (*outputs, ("x", call("+", x, Literal(1, x.type)))))

    def delay(self, below: Node) -> Node:
        return Delay(below, 0.0)

    def union(self, below: Node) -> Node:
        alike = [n for n in (*self.made, *self.sources) if n.schema.types == below.schema.types]
        return Union((below, self.draw(st.sampled_from(alike)))) if alike else self.delay(below)

    def root(self) -> Node:
        below = self.stream(self.draw(st.integers(0, 3)))
        made: Node = self.aggregate(below)
        if self.draw(st.integers(0, 2)) == 0:
            made = self.filter(made)
        return made


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """One to three queries over one or two streams, and up to 150 arrivals: dense, with holes, with absent groups."""
    sources = [Source(f"s{i}", SCHEMA) for i in range(draw(st.sampled_from((1, 1, 2))))]
    maker = _Maker(draw, sources)
    queries = [Query(f"q{i}", maker.root()) for i in range(draw(st.integers(1, 3)))]
    gaps = {q.name: draw(st.sampled_from((1, 2, 3, 5, 8, 13))) for q in queries}
    streams = tuple(StreamDefinition(s.name, SCHEMA, within_us=0) for s in sources)
    network = optimize(Network(streams, (), tuple(queries)))
    return Case(network, gaps, tuple(arrivals(Random(draw(st.integers(0, 1 << 32))), [s.name for s in sources])))


def arrivals(random: Random, names: Sequence[str], most: int = 150) -> list[Arrival]:
    """What arrives: a pace that changes, groups that come and go."""
    now, given = random.randrange(-20, 20), []
    groups = [(random.choice((0, 1, None)), random.choice(("a", "b"))) for _ in range(random.randrange(1, 5))]
    steps: Sequence[int] = (0, 1)
    for seq in range(random.choice((10, 40, 80, most))):
        if random.random() < 0.08:
            steps = random.choice(((0,), (0, 1), (1,), (0, 0, 3), (1, 2, 9), (2,), (0, 40)))
            groups = [*groups[1:], (random.choice((0, 1, None)), random.choice(("a", "b")))]
        now += random.choice(steps)
        k, j = random.choice(groups)
        given.append(Arrival(random.choice(names), now, seq, (k, j, random.choice((0, 1, 2, 3, 4, None)))))
    return given


def places(network: Network) -> list[Location]:
    """Where windows may be dropped."""
    found = [Location(n) for n in network.nodes() if n.kind is Kind.STREAM]
    found += [Location(n, c, i) for n, arcs in takers(network.nodes()).items() for c, i in arcs]
    return [at for at in found if reach(network, at).why is None]


@st.composite
def drops(draw: st.DrawFn, case: Case) -> tuple[Placed, ...]:
    """Window drops that keep every query's gap, at most one above each query."""
    chosen: list[Placed] = []
    covered: set[str] = set()
    for at in draw(st.permutations(places(case.network)))[:3]:
        found = reach(case.network, at)
        names = {n.query for n in found.needs}
        grid = common(found.needs)
        most = grid.batch([case.gaps[n.query] for n in found.needs])
        if most and not names & covered:
            covered |= names
            rate, batch = draw(st.sampled_from((0.0, 0.2, 0.5, 0.9, 1.0))), draw(st.sampled_from((most, most, 1)))
            drop = WindowDrop(grid.size, grid.slide, rate, batch, found.keys, grid.origin, draw(st.integers(0, 5)))
            chosen.append((at, drop))
    return tuple(chosen)


def broken(case: Case, query: Query, found: Sequence[Element], exact: Sequence[Element]) -> str:
    """What of the promise to `query` does not hold."""
    left = [(e.ts, e.row) for e in exact]
    for e in found:
        if (e.ts, e.row) not in left:
            return f"{e} is not in the exact answer"
        left.remove((e.ts, e.row))
    top = query.root
    while not isinstance(top, WindowAggregate):
        top = top.inputs[0]
    at = [query.root.schema.index(key) for key in top.keys]
    delivered = {(e.ts, *(e.row[i] for i in at)) for e in found}
    missing: defaultdict[tuple[object, ...], int] = defaultdict(int)
    for e in sorted(exact, key=lambda e: e.ts):
        group = tuple(e.row[i] for i in at)
        missing[group] = 0 if (e.ts, *group) in delivered else missing[group] + 1
        if missing[group] > case.gaps[query.name]:
            return f"more than {case.gaps[query.name]} results of {group} in a row are missing at {e.ts}"
    return ""
