"""D-FIT: after any changes, delays and losses it holds what C-FIT makes from scratch; on the way no node is ever
over capacity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.cluster.central import node_fits
from penstock.cluster.checks import checked
from penstock.cluster.distributed import steady_state
from penstock.cluster.exchange import Exchange, one_parent_each
from penstock.cluster.flows import compile_flows
from penstock.cluster.messages import Ack, Beat, Table, Version, ordered, public
from penstock.cluster.peer import Agreement
from penstock.cluster.replay import replay
from penstock.cluster.selecting import filling_rates
from penstock.cluster.topology import Input, Node, Operator, node_edges, node_order
from penstock.errors import PenstockError
from tests.cluster.networks import figure_5_1, random_topology, two_chains
from tests.cluster.oracle import optimum

RATES = {"r1": 1.0, "r2": 1.0}


def assert_same(first, second):
    """The same table, to the bit, as a parent sees it."""
    first, second = public(ordered(first)), public(ordered(second))
    assert (first.streams, first.nodes, first.external) == (second.streams, second.nodes, second.external)
    assert np.array_equal(first.capacities, second.capacities)
    assert np.array_equal(first.stream_of, second.stream_of)
    for field in ("keys", "scores", "promises", "loads"):
        assert np.array_equal(getattr(first.rows, field), getattr(second.rows, field))


def changed(topology, rng):
    """The topology after a random change: costs, selectivities, capacities, an operator moved, a node joined or
    left.
    """
    kind = rng.integers(0, 5)
    for _ in range(20):
        try:
            return one_parent_each(
                checked((_drifted, _drifted, _recapacitated, _moved, _joined_or_left)[kind](topology, rng))
            )
        except PenstockError:
            continue
    return _drifted(topology, rng)


def _drifted(topology, rng):
    k = int(rng.integers(0, len(topology.operators)))
    operator = topology.operators[k]
    drift = float(rng.choice([0.5, 0.9, 0.999, 1.001, 1.1, 2.0]))
    field = str(rng.choice(["cost", "selectivity"]))
    fresh = replace(operator, **{field: getattr(operator, field) * drift})
    return replace(topology, operators=(*topology.operators[:k], fresh, *topology.operators[k + 1 :]))


def _recapacitated(topology, rng):
    k = int(rng.integers(0, len(topology.nodes)))
    node = replace(topology.nodes[k], capacity=topology.nodes[k].capacity * float(rng.uniform(0.3, 2)))
    return replace(topology, nodes=(*topology.nodes[:k], node, *topology.nodes[k + 1 :]))


def _moved(topology, rng):
    k = int(rng.integers(0, len(topology.operators)))
    target = topology.nodes[int(rng.integers(0, len(topology.nodes)))].name
    fresh = replace(topology.operators[k], node=target)
    return replace(topology, operators=(*topology.operators[:k], fresh, *topology.operators[k + 1 :]))


def _joined_or_left(topology, rng):
    leaves = [n for n in topology.nodes if not any(up == n.name for up, _ in node_edges(topology))]
    leaf = leaves[int(rng.integers(0, len(leaves)))].name
    if rng.random() < 0.5:
        fresh = f"m{len(topology.nodes)}{int(rng.integers(0, 99))}"
        ends = [
            o for o in topology.operators if o.node == leaf and not any(o.name in p.inputs for p in topology.operators)
        ]
        moved = {ends[0].name} if ends else set()
        nodes, target = (*topology.nodes, Node(fresh, float(rng.uniform(0.2, 2)))), fresh
    else:
        parent = [up for up, down in node_edges(topology) if down == leaf]
        if not parent or any(i.node == leaf for i in topology.inputs):
            return topology
        moved = {o.name for o in topology.operators if o.node == leaf}
        nodes, target = tuple(n for n in topology.nodes if n.name != leaf), parent[0]
    operators = tuple(replace(o, node=target) if o.name in moved else o for o in topology.operators)
    return replace(topology, nodes=nodes, operators=operators)


def churn(rng, agreement, changes=6):
    """A network that lives through changes, delays, losses and restarts; checked on the way, settled at the end."""
    lossy = [True]
    topology = one_parent_each(random_topology(rng, nodes=6, inputs=4))

    def link(message):
        if not lossy[0]:
            return 0.0
        return None if rng.random() < 0.25 else float(rng.exponential(2.0))

    exchange = Exchange(topology, agreement, link)
    for _ in range(changes):
        exchange.run(exchange.now + float(rng.exponential(2.0)))
        if rng.random() < 0.5:
            exchange.tick()
        if rng.random() < 0.1:
            exchange.restart(topology.nodes[int(rng.integers(0, len(topology.nodes)))].name)
        topology = changed(topology, rng)
        exchange.change(topology)
        exchange.run(exchange.now + float(rng.exponential(1.0)))
        assert_nobody_overloaded(exchange, topology, rng)
    lossy[0] = False
    exchange.settle(beats=2 * len(topology.nodes) + 4)
    return exchange, topology


def assert_nobody_overloaded(exchange, topology, rng):
    model = compile_flows(topology)
    limits = filling_rates(model.total_loads, model.capacities)
    for _ in range(3):
        rates = dict(zip(model.inputs, (limits * rng.exponential(3.0, len(limits))).tolist(), strict=True))
        exchange.measure(rates)
        drops = steady_state(exchange, node_order(topology), rates)
        assert replay(topology, rates, drops).overloaded(topology) == []


def run_churn(seed, tolerance):
    rng = np.random.default_rng(seed)
    epsilon = float(rng.choice([0.0, 0.05]))
    exchange, topology = churn(rng, Agreement(epsilon, tolerance, silence_s=8.0))
    if tolerance == 0:
        for name, table in node_fits(topology, epsilon).items():
            assert_same(exchange.peers[name].fit, table)
    model = compile_flows(topology)
    limits = filling_rates(model.total_loads, model.capacities)
    for _ in range(2):
        rates = dict(zip(model.inputs, (limits * rng.exponential(3.0, len(limits))).tolist(), strict=True))
        exchange.measure(rates)
        exchange.settle(beats=len(topology.nodes) + 1)
        drops = steady_state(exchange, node_order(topology), rates)
        after = replay(topology, rates, drops)
        assert after.overloaded(topology) == []
        assert after.score >= optimum(topology, rates) * (1 - epsilon - tolerance - 1e-6) - 1e-12


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
def test_equals_c_fit_after_changes_delays_and_losses(tolerance):
    for seed in range(50):
        run_churn(seed, tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.0, 0.02, 0.1, 0.3])
def test_equals_c_fit_after_changes_delays_and_losses_750_times_each(tolerance):
    for seed in range(1000, 1750):
        run_churn(seed, tolerance)


def settled(topology, tolerance=0.0, silence_s=10.0):
    exchange = Exchange(topology, Agreement(0.0, tolerance, silence_s))
    exchange.settle()
    exchange.sent.clear()
    return exchange


def test_messages_go_between_neighbours_only():
    rng = np.random.default_rng(3)
    for _ in range(20):
        topology = random_topology(rng)
        exchange = Exchange(topology, Agreement())
        exchange.settle(beats=2)
        edges = set(node_edges(topology))
        assert all((m.receiver, m.sender) in edges or (m.sender, m.receiver) in edges for m in exchange.sent)


def test_a_change_of_one_query_sends_its_rows_only():
    exchange = settled(two_chains((1.0, 2.0, 3.0), (3.0, 2.0, 1.0)))
    exchange.change(two_chains((1.0, 2.0, 3.0), (3.0, 2.0, 1.5)))
    exchange.settle()
    tables = [m for m in exchange.sent if isinstance(m, Table)]
    assert [(m.entries, m.base is not None) for m in tables] == [(1, True)]
    assert tables[0].size_bytes == 8 * (3 + 1)


def test_nothing_is_sent_below_the_tolerance():
    exchange = settled(two_chains((1.0, 2.0), (3.0, 1.0)), tolerance=0.2)
    exchange.change(two_chains((1.0, 2.0), (3.0, 1.01)))
    exchange.settle()
    assert exchange.sent == []


def test_an_older_table_never_replaces_a_newer_one():
    exchange = settled(figure_5_1())
    first = exchange.peers["B"].restarted(0.0)
    peer = exchange.peers["A"]
    old = exchange.peers["B"].tick(0.0)
    exchange.peers["B"] = first
    exchange._post(first.publish())
    exchange.settle()
    version = peer.held["B"].version
    assert version.epoch == 1
    for message in (m for m in old if isinstance(m, Table)):
        peer.receive(message, 1.0)
    assert peer.held["B"].version == version


def test_a_delta_on_another_base_is_refused_and_the_whole_table_asked_for():
    exchange = settled(figure_5_1())
    exchange.peers["A"] = exchange.peers["A"].restarted(0.0)
    exchange.link = lambda message: None
    exchange.change(figure_5_1(costs_b=(3.0, 2.0)))
    (delta,) = [m for m in exchange.sent if isinstance(m, Table)]
    assert delta.base is not None
    answer = exchange.peers["A"].receive(delta, 0.0)
    assert answer == [Ack("A", "B", None)]
    assert "B" not in exchange.peers["A"].held
    (whole,) = exchange.peers["B"].receive(answer[0], 0.0)
    assert whole.base is None


def test_rates_of_a_restarted_node_count_at_once():
    """It counts its beats from the start again; the parent must not wait until it is past the old count."""
    chains = two_chains((1.0, 2.0), (3.0, 1.0))
    below = Input("late", "B"), Operator("l", "B", 1.0, 1.0, ("late",))
    exchange = settled(replace(chains, inputs=(*chains.inputs, below[0]), operators=(*chains.operators, below[1])))
    for rate, beats in ((0.9, 9), (0.1, 1)):
        exchange.measure({"r0": 1.0, "r1": 1.0, "late": rate})
        exchange.settle(beats=beats)
        assert exchange.peers["A"].rates_below()["late"] == rate
        exchange.restart("B")


def test_a_node_that_leaves_and_comes_back_outdoes_its_own_late_messages():
    """The table and the beat of its former life arrive after it came back; they must neither stay nor go round."""
    exchange = settled(figure_5_1())
    for _ in range(3):
        exchange.restart("B")
    table, beat = exchange.peers["B"]._send()[0], exchange.peers["B"].tick(0.0)[-1]
    joined = figure_5_1()
    alone = replace(joined, nodes=joined.nodes[:1], operators=tuple(replace(o, node="A") for o in joined.operators))
    exchange.change(alone)
    exchange.settle()
    exchange.link = lambda message: None
    exchange.change(figure_5_1(costs_b=(3.0, 2.0)))
    parent = exchange.peers["A"]
    exchange.link = lambda message: 0.0
    for late in (beat, table, beat):
        exchange._post(parent.receive(late, exchange.now))
    assert parent.held["B"].version == table.version
    exchange.settle(beats=3)
    assert parent.held["B"].version.epoch > table.version.epoch
    assert_same(parent.fit, node_fits(exchange.topology, 0.0)["A"])


def test_a_parent_that_restarts_and_gets_an_old_table_is_sent_the_new_one():
    """Its former self has acknowledged the new table; the old one, late, is all that reaches it now."""
    exchange = settled(figure_5_1())
    exchange.peers["A"] = exchange.peers["A"].restarted(0.0)
    (old,) = [m for m in exchange.peers["B"].receive(Ack("A", "B", None), 0.0) if isinstance(m, Table)]
    exchange.peers["A"].receive(old, 0.0)
    exchange.change(figure_5_1(costs_b=(3.0, 2.0)))
    exchange.settle()
    exchange.peers["A"] = exchange.peers["A"].restarted(0.0)
    exchange.peers["A"].receive(old, exchange.now)
    exchange.settle(beats=2)
    assert_same(exchange.peers["A"].fit, node_fits(exchange.topology, 0.0)["A"])


def test_an_older_beat_is_no_sign_of_life():
    exchange = settled(figure_5_1(), silence_s=3.0)
    parent = exchange.peers["A"]
    version = parent.held["B"].version
    first, second = (Beat("B", "A", version, n, {}) for n in (8, 9))
    parent.receive(second, 1.0)
    parent.receive(first, 100.0)
    parent.receive(Beat("B", "A", Version(version.epoch, version.number + 1), 10, {}), 100.0)
    assert parent.heard_at["B"] == 1.0


def test_while_a_neighbour_is_silent_both_shed_for_themselves():
    """Node A falls back to its own best plan (plan 2 of table 5.1); node B, which still runs, protects itself."""
    exchange = settled(figure_5_1(), silence_s=3.0)
    together = steady_state(exchange, ("A", "B"), RATES)
    assert replay(figure_5_1(), RATES, together).score == pytest.approx(0.6)
    exchange.link = lambda message: None
    for _ in range(5):
        exchange.run(exchange.now + 1.0)
        exchange.tick()
    alone = steady_state(exchange, ("A", "B"), RATES)
    after = replay(figure_5_1(), RATES, alone)
    assert alone["A"] == {"r2": 1.0}
    assert after.overloaded(figure_5_1()) == []
    assert after.score == pytest.approx(1 / 3)
    exchange.link = lambda message: 0.0
    exchange.settle(beats=2)
    assert replay(figure_5_1(), RATES, steady_state(exchange, ("A", "B"), RATES)).score == pytest.approx(0.6)


def test_a_node_with_two_parents_is_refused():
    joined = figure_5_1()
    nodes = (*joined.nodes, Node("C", 1.0))
    operators = tuple(replace(o, node="C") if o.name == "a2" else o for o in joined.operators)
    inputs = (joined.inputs[0], replace(joined.inputs[1], node="C"))
    with pytest.raises(PenstockError, match="node 'B' reads from 2 nodes: A, C"):
        Exchange(replace(joined, nodes=nodes, operators=operators, inputs=inputs), Agreement())
