"""The query networks and inputs of Pham, section IV-B: QN-flat, QN-complex, a third one with joins and aggregates, the
stream S_c, and bursty arrivals in place of the trace S_r.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from zlib import crc32

import numpy as np

from benchmarks.figures.reporting import data
from benchmarks.figures.seamless_setup import LARGEST, SECOND_US, SYSTEM
from penstock.cql import compile_script, parse_expression
from penstock.lane.arrival_processes import Bursty, Constant, Recorded
from penstock.operators.columns.vector import Array
from penstock.plan.expressions import Column
from penstock.plan.network import Network, Query
from penstock.plan.node import Node, rewrite, walk
from penstock.plan.nodes import Delay, Filter, Join, Map, Source, WindowAggregate
from penstock.plan.schema import Schema

# The losses of figure 3 imply that the machine of the paper worked off about so many tuples a second.
CAPACITY_HZ = 205.0
TUPLE_S = SYSTEM / CAPACITY_HZ
# The mean rate that makes the 32.85% of table I the least possible loss.
BURSTY_HZ = 305.0
SOURCES = 8
# A part of the cost of a tuple in the network with joins.
JOINS_S = TUPLE_S / 45
SCHEMA = Schema.parse("x bigint")
DELAY = (("delay", "2 seconds"),)


class _Costs:
    """Puts a cost before every operator, each a hair different, so that no two boxes are one."""

    def __init__(self, cost_s: float) -> None:
        self.cost_s, self.made = cost_s, count()

    def before(self, node: Node) -> Node:
        return Delay(node, self.cost_s * (1 + 1e-9 * next(self.made)))


def _chain(node: Node, length: int, passed: float, costs: _Costs) -> tuple[Node, float, float]:
    """`length` selects and projects in turns; each select lets 97% of what it gets pass. With the share of the
    source's tuples that still passes, and how many operators a tuple of the source meets.
    """
    visits = 0.0
    for i in range(length):
        visits += passed
        if i % 2 == 0:
            passed *= 0.97
            node = Filter(costs.before(node), parse_expression(f"x >= {round(LARGEST * (1 - passed))}", SCHEMA))
        else:
            node = Map(costs.before(node), (("x", Column("x", SCHEMA.types[0])),))
    return node, passed, visits


def flat(cost_s: float = TUPLE_S) -> Network:
    """QN-flat: one query of eight selects and projects; a tuple costs `cost_s` on its whole way."""
    _, _, visits = _chain(Source("s", SCHEMA), 8, 1.0, _Costs(1.0))
    root, _, _ = _chain(Source("s", SCHEMA), 8, 1.0, _Costs(cost_s / visits))
    return Network(queries=(Query("q", root, DELAY),))


def complex_network(groups: int = 40) -> Network:
    """QN-complex: groups of one to four queries that share a prefix of five operators and go on alone for eight or
    nine; with forty groups 1,039 operators, a source and 100 outputs.
    """
    visits = sum(v for _, v in _queries(groups, _Costs(1.0)))
    queries = [root for root, _ in _queries(groups, _Costs(TUPLE_S / visits))]
    return Network(queries=tuple(Query(f"q{i}", root, DELAY) for i, root in enumerate(queries)))


def _queries(groups: int, costs: _Costs) -> Iterator[tuple[Node, float]]:
    """The roots, and the operators that a tuple meets on the way that no earlier query has."""
    made = 0
    for group in range(groups):
        prefix, passed, shared = _chain(Source("s", SCHEMA), 5, 1.0, costs)
        for member in range(1 + group % 4):
            root, _, own = _chain(prefix, 9 if made % 5 < 2 and made < 96 else 8, passed, costs)
            made += 1
            yield root, own + (shared if member == 0 else 0.0)


def steady_then_more(seconds: float) -> Array:
    """S_c: 200 tuples a second for ten seconds, then 350."""
    start, until = 10 * SECOND_US, round(seconds * SECOND_US)
    rng = np.random.default_rng(0)
    return np.concatenate([Constant(200).instants(start, rng), start + Constant(350).instants(until - start, rng)])


def bursty(seconds: float, seed: int) -> Array:
    """Arrivals of the character of S_r: sources that send in bursts of all lengths (Pareto, exponent 1.5)."""
    rng = np.random.default_rng(seed)
    source = Bursty(on_hz=2 * BURSTY_HZ / SOURCES, on_s=1.0, off_s=1.0, tail=1.5)
    until = round(3 * seconds * SECOND_US)
    return _paced(np.sort(np.concatenate([source.instants(until, rng) for _ in range(SOURCES)])), seconds)


def recorded(seconds: float) -> Array | None:
    """Packets that came over a cellular link, at the same mean rate; None where the file is absent."""
    path = data("packets", "Verizon-EVDO-driving.down")
    if path is None:
        return None
    return _paced(Recorded(path).instants(round(10 * seconds * SECOND_US), np.random.default_rng(0)), seconds)


def _paced(instants: Array, seconds: float) -> Array:
    """The first arrivals, faster or slower throughout, so that they come at the mean rate in so many seconds."""
    chosen = instants[: round(BURSTY_HZ * seconds)]
    scaled: Array = (chosen * (seconds * SECOND_US / (chosen[-1] + 1))).astype(np.int64)
    return scaled


JOINS = """
    CREATE STREAM s (x BIGINT);
    CREATE VIEW kept AS SELECT x FROM s WHERE x % 10 > 0;
    CREATE QUERY pairs WITH (delay = '2 seconds') AS
        ISTREAM(SELECT a.x FROM kept [Range 500 Milliseconds] AS a, kept [Range 500 Milliseconds] AS b
        WHERE a.x % 50 = b.x % 50);
    CREATE QUERY counts WITH (delay = '2 seconds') AS
        SELECT x % 8 AS k, count(*) AS n FROM kept [Range 1 Second Slide 1 Second] GROUP BY x % 8;
    CREATE QUERY largest WITH (delay = '2 seconds') AS
        SELECT max(x) AS most FROM s [Range 2 Seconds Slide 1 Second];
    CREATE QUERY few WITH (delay = '2 seconds') AS SELECT x FROM s WHERE x % 4 = 0;
    CREATE QUERY fewer WITH (delay = '2 seconds') AS SELECT x + 1 AS y FROM s WHERE x % 4 = 0 AND x > 1000
"""


def with_joins() -> Network:
    """The third network: a window join whose tuples make two results and more, aggregates that make one of many, and
    selects that several queries share (Pham, figure 1); a tuple costs about `TUPLE_S` on its whole way.
    """
    script = compile_script(JOINS)
    return replace(script, queries=tuple(replace(q, root=rewrite(q.root, _costly)) for q in script.queries))


def _costly(node: Node) -> Node:
    """`node` with a cost before it: five parts of a tuple's for a select or an aggregate, one for each result of the
    join; windows are free."""
    if not isinstance(node, Filter | Map | WindowAggregate):
        return node
    share = 1.0 if any(isinstance(n, Join) for n in walk(node)) else 5.0
    apart = 1 + 1e-9 * (crc32(node.label.encode()) % 1000)
    return node.with_inputs((Delay(node.inputs[0], share * JOINS_S * apart),))
