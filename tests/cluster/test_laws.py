"""The laws of distributed load shedding, on random trees: capacity everywhere, and a score within epsilon of the
optimum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.cluster.flows import compile_flows
from penstock.cluster.planner import plan
from penstock.cluster.replay import replay
from penstock.cluster.selecting import best_flows, filling_rates, flow_dictionary
from penstock.cluster.workload import Exponential
from tests.cluster.networks import random_topology, two_chains
from tests.cluster.oracle import optimum

EPSILONS = (0.0, 1e-6, 1.0, 5.0, 10.0, 30.0)
METHODS = ("c-fit", "d-fit", "solver", "solver-w")
# HiGHS meets its constraints to about this share.
ORACLE = 1e-6


def observations(rng, model, count):
    """Rates around and far beyond what fills a node, some of them zero."""
    limits = filling_rates(model.total_loads, model.capacities)
    size = len(model.inputs)
    return [limits * rng.exponential(10.0 ** rng.uniform(-1, 2), size) * (rng.random(size) < 0.8) for _ in range(count)]


def check(topology, method, epsilon, rng, points=5):
    """Both laws at some points of one topology."""
    model = compile_flows(topology)
    workload = Exponential(2.0 * filling_rates(model.total_loads, model.capacities)) if method == "solver-w" else None
    planner = plan(topology, epsilon, method, workload=workload, most_plans=20)
    assert planner.bound <= epsilon / 100 + 1e-9
    for rates in observations(rng, model, points):
        named = dict(zip(model.inputs, rates.tolist(), strict=True))
        drops = planner.select(named)
        after = replay(topology, named, drops)
        assert after.overloaded(topology) == []
        if not replay(topology, named, {}).overloaded(topology, 0.0):
            assert not any(drops.values())
        if method != "solver-w":
            best = optimum(topology, named)
            assert after.score >= best * (1 - epsilon / 100 - ORACLE) - 1e-12
    if workload is not None:
        check_expectation(planner, model, topology, workload.sample(rng, 100), epsilon)


def check_expectation(planner, model, topology, sample, epsilon):
    """The mean error over a sample of the workload, with room for the sample's own error."""
    tableau, gaps = flow_dictionary(model), []
    for rates in sample:
        named = dict(zip(model.inputs, rates.tolist(), strict=True))
        best = float(model.scores @ best_flows(model, tableau, rates))
        gaps.append(1 - replay(topology, named, planner.select(named)).score / best if best > 0 else 0.0)
    assert np.mean(gaps) <= epsilon / 100 + 4 * np.std(gaps) / np.sqrt(len(gaps)) + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_capacity_and_epsilon_on_random_trees(method):
    rng = np.random.default_rng(5)
    for case in range(100):
        check(random_topology(rng), method, EPSILONS[case % len(EPSILONS)], rng)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("piece", range(3))
def test_capacity_and_epsilon_on_1000_random_trees_each(piece, method):
    rng = np.random.default_rng(60 + piece)
    for case in range(1000):
        check(random_topology(rng), method, EPSILONS[case % len(EPSILONS)], rng)


@pytest.mark.parametrize("method", METHODS[:3])
def test_one_input_and_eight_inputs(method):
    rng = np.random.default_rng(7)
    for topology in (two_chains((2.0,), (3.0,)), two_chains((16.0, 8.0) * 4, (8.0, 16.0) * 4, 1000.0)):
        for epsilon in EPSILONS:
            check(topology, method, epsilon, rng)


@pytest.mark.parametrize("method", METHODS[:3])
def test_imbalance_of_twelve_orders_of_magnitude(method):
    rng = np.random.default_rng(8)
    check(two_chains((1e-6, 1e6, 1.0), (1e6, 1e-6, 1.0)), method, 1.0, rng, points=20)


@pytest.mark.parametrize("method", METHODS[:3])
def test_a_node_without_capacity_takes_nothing(method):
    chains = two_chains((1.0, 2.0), (3.0, 1.0))
    closed = replace(chains, nodes=(chains.nodes[0], replace(chains.nodes[1], capacity=0.0)))
    drops = plan(closed, 5, method).select([1.0, 1.0])
    assert replay(closed, {"r0": 1.0, "r1": 1.0}, drops).loads["B"] <= 1e-15


@pytest.mark.parametrize("method", METHODS[:3])
def test_what_passes_a_closed_node_without_load_is_kept(method):
    """Node A has no capacity, but r1 costs nothing there; rounding in what A takes of r0 must not close it to r1."""
    chains = two_chains((1.7, 0.0), (3.0, 1.0))
    closed = replace(chains, nodes=(replace(chains.nodes[0], capacity=0.0), chains.nodes[1]))
    planner = plan(closed, 1, method, most_plans=20)
    for rate in np.random.default_rng(9).uniform(0.1, 5.0, 50):
        named = {"r0": float(rate), "r1": 0.5}
        assert replay(closed, named, planner.select(named)).score == pytest.approx(0.5, rel=0.01)
