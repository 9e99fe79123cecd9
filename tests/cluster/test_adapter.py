"""Topologies from query networks, with the costs and selectivities that were measured."""

from __future__ import annotations

import pytest

from penstock.cluster.adapter import from_network, operator_names
from penstock.cluster.loss import LossFunction
from penstock.cluster.planner import plan
from penstock.cluster.replay import replay
from penstock.cluster.topology import Node, Query, locations
from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan import network as plan_network
from penstock.plan.nodes import Delay, Source, Union
from penstock.plan.schema import Schema
from penstock.stats.load import LoadModel, Work
from tests.cluster.oracle import optimum

SCHEMA = Schema.parse("a int")
S1, S2 = Source("s1", SCHEMA), Source("s2", SCHEMA)


def measured(work, roots):
    """The load model of these queries, with (cost, selectivity) by operator."""
    queries = tuple(plan_network.Query(name, root) for name, root in roots.items())
    return LoadModel(plan_network.Network(queries=queries), {n: Work(*w) for n, w in work.items()}, {})


def figure_5_1():
    """The two chained queries of the thesis, as boxes; costs are what their delay boxes state."""
    a1, a2 = Delay(S1, 1.0), Delay(S2, 2.0)
    return measured({}, {"q1": Delay(a1, 3.0), "q2": Delay(a2, 1.0)})


ASSIGNMENT = {"2 delay": "A", "3 delay": "B", "5 delay": "A", "6 delay": "B"}


def test_figure_5_1_as_a_query_network_has_the_optimum_of_table_5_1():
    topology = from_network(figure_5_1(), ASSIGNMENT)
    assert topology.nodes == (Node("A", 1.0), Node("B", 1.0))
    assert [q.name for q in topology.queries] == ["q1", "q2"]
    selection = plan(topology, 5).choose({"s1": 1, "s2": 1})
    assert selection.score == pytest.approx(0.6)
    assert selection.drops == {"A": {"s1": pytest.approx(0.8), "s2": pytest.approx(0.6)}, "B": {}}


def test_capacities_and_weights():
    topology = from_network(figure_5_1(), ASSIGNMENT, {"A": 2.0, "B": 1.0}, {"q1": 9.0})
    assert topology.nodes[0] == Node("A", 2.0)
    assert topology.queries[0] == Query("q1", "3 delay", 9.0)
    assert plan(topology, 0).choose([1, 1]).score == pytest.approx(3.0)


def test_shared_operators_split_and_unions_merge():
    """An operator that two queries share is a split with a drop location per branch; what was measured counts."""
    shared = Delay(Union((S1, S2)), 1.0)
    left, right = Delay(shared, 2.0), Delay(shared, 5.0)
    load = measured({shared: (1.0, 0.5), left: (2.0, 0.25)}, {"left": left, "right": right})
    names = operator_names(load.network)
    topology = from_network(load, {name: "A" for node, name in names.items() if not isinstance(node, Source)})
    assert [p.name for p in locations(topology)] == [
        "s1",
        "s2",
        f"{names[shared]}->{names[left]}",
        f"{names[shared]}->{names[right]}",
    ]
    rates = {"s1": 0.3, "s2": 0.4}
    drops = plan(topology, 0).select(rates)
    after = replay(topology, rates, drops)
    assert after.overloaded(topology) == []
    assert after.score == pytest.approx(optimum(topology, rates), rel=1e-6)


def test_a_script_becomes_a_topology():
    network = compile_script("""
        CREATE STREAM s (a INT);
        CREATE QUERY few WITH (loss = '100: 1, 50: 0.7, 0: 0') AS SELECT a FROM s WHERE a > 3;
        CREATE QUERY all_of_them AS SELECT a + 1 AS b FROM s""")
    names = operator_names(network)
    assignment = {name: "A" for node, name in names.items() if not isinstance(node, Source)}
    topology = from_network(LoadModel(network, {}, {}), assignment, utility=True)
    assert topology.queries[0].loss == LossFunction(((0.0, 0.0), (0.5, 0.7), (1.0, 1.0)))
    assert topology.queries[1].loss is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"6 delay": None}, r"operator 6 delay \(delay.*is on no node"),
        ({"6 dealy": "B"}, "unknown operator or stream '6 dealy'"),
        ({"2 delay": "B", "3 delay": "A"}, "nodes feed each other in a cycle|cycle"),
    ],
)
def test_bad_assignments_are_refused(change, said):
    assignment = {k: v for k, v in (ASSIGNMENT | change).items() if v is not None}
    with pytest.raises(PenstockError, match=said):
        from_network(figure_5_1(), assignment)


def test_a_join_is_refused():
    network = compile_script("""
        CREATE STREAM s (a INT);
        CREATE STREAM t (a INT);
        CREATE QUERY q AS SELECT s.a FROM s [Rows 5], t [Rows 5] WHERE s.a = t.a""")
    names = operator_names(network)
    with pytest.raises(PenstockError, match="is not linear in its rates"):
        from_network(LoadModel(network, {}, {}), dict.fromkeys(names.values(), "A"))
