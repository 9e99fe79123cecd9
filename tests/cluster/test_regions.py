"""Divisions of the rate space, workloads, and utilities."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from penstock.cluster.flows import compile_flows
from penstock.cluster.loss import LossFunction
from penstock.cluster.lp import solve
from penstock.cluster.planner import plan, solver_space
from penstock.cluster.regions import divided
from penstock.cluster.replay import replay
from penstock.cluster.selecting import filling_rates
from penstock.cluster.topology import Query, Topology
from penstock.cluster.workload import Exponential, Observed
from penstock.errors import PenstockError
from tests.cluster.networks import figure_5_1, random_topology, two_chains


def space(topology=None):
    return solver_space(compile_flows(topology or figure_5_1()), np.array([1.0, 1.0]))


def test_every_infeasible_point_is_within_the_bound_of_its_regions_plan():
    model, regions = compile_flows(figure_5_1()), divided(space(), 0.05, 10_000)
    assert regions.bound <= 0.05
    for rates in np.random.default_rng(0).uniform(0, 1, (300, 2)):
        best, plan_id = solve(model, rates), regions.plans[regions.find(rates)]
        if plan_id >= 0:
            assert (regions.anchors[plan_id] <= rates).all()
            assert model.scores @ regions.flows[plan_id] >= (1 - regions.bound) * best.score - 1e-9
        else:
            assert (model.total_loads @ rates <= model.capacities + 1e-12).all()


def test_feasible_regions_are_never_planned():
    regions = divided(space(), 0.05, 10_000)
    model = compile_flows(figure_5_1())
    for leaf in regions.leaves:
        top = 2 * regions.middles[leaf] - regions.anchors[regions.plans[leaf]] if regions.plans[leaf] >= 0 else None
        assert top is None or not (model.total_loads @ top <= model.capacities).all()


def test_stopped_at_any_moment_the_bound_so_far_holds():
    bounds = [divided(space(), 0.0, most).bound for most in (4, 20, 100, 400)]
    assert bounds == sorted(bounds, reverse=True)
    assert 0 < bounds[-1] < bounds[0] <= 1


def test_a_workload_saves_plans_at_equal_expected_error():
    """Solver's division judged by the workload gives an expected error; Solver-W reaches it with fewer programs."""
    workload = Exponential(np.full(2, 0.2))
    solver = divided(space(), 0.05, 10_000)
    expected = sum(
        solver.errors[leaf] * workload.probability(*_box(solver, leaf))
        for leaf in solver.leaves
        if solver.errors[leaf] > 0
    )
    weighed = divided(space(), expected, 10_000, workload)
    assert weighed.expected <= expected
    assert weighed.solved < solver.solved


def _box(regions, leaf):
    low = regions.anchors[regions.plans[leaf]]
    high = 2 * regions.middles[leaf] - low
    return low, np.where(high >= regions.tops, np.inf, high)


def test_observed_rates_as_a_workload():
    rates = np.random.default_rng(1).exponential(0.3, (500, 2))
    topology = figure_5_1()
    planner = plan(topology, 2, "solver-w", workload=Observed(rates))
    model = compile_flows(topology)
    gaps = []
    for row in rates:
        named = {"r1": float(row[0]), "r2": float(row[1])}
        best = solve(model, row).score
        gaps.append(1 - replay(topology, named, planner.select(named)).score / best)
    assert np.mean(gaps) <= 0.02


def test_exponential_workload_sums_to_one():
    edges = [0.0, 0.1, 0.5, 1.0, np.inf]
    workload = Exponential(np.array([0.3, 2.0]))
    total = sum(workload.probability(np.array([a, c]), np.array([b, d]))
                for (a, b), (c, d) in product(pairwise(edges), repeat=2))  # fmt: skip
    assert total == pytest.approx(1.0)


LOSSES = [LossFunction.parse(text) for text in ("100: 1.0, 50: 0.7, 0: 0", "100: 1, 10: 0.9, 0: 0", "100: 1, 0: 0.5")]


def with_losses(topology, rng):
    read = {s for o in topology.operators for s in o.inputs}
    ends = [o.name for o in topology.operators if o.name not in read]
    queries = tuple(Query(f"q{e}", e, float(rng.uniform(0.5, 2)), LOSSES[int(rng.integers(0, 3))]) for e in ends)
    return Topology(topology.nodes, topology.inputs, topology.operators, queries)


def test_utility_plans_are_within_epsilon_of_the_best_utility():
    rng = np.random.default_rng(3)
    for case in range(12):
        topology = with_losses(random_topology(rng, nodes=4, inputs=3, splits=2), rng)
        model = compile_flows(topology)
        planner = plan(topology, 5, "solver", most_plans=600)
        limits = filling_rates(model.total_loads, model.capacities)
        for factor in (0.4, 1.0, 3.0, 10.0):
            rates = limits * rng.uniform(0, factor, len(limits))
            named = dict(zip(model.inputs, rates.tolist(), strict=True))
            selection = planner.choose(named)
            after = replay(topology, named, selection.drops)
            assert after.overloaded(topology, 1e-7) == [], case
            assert after.score == pytest.approx(selection.score, abs=1e-7)
            assert selection.score >= selection.optimum * 0.95 - 1e-7
            _no_keeps_beat_it(topology, model, named, selection.optimum, rng)


def _no_keeps_beat_it(topology, model, named, optimum, rng):
    """The optimum against random feasible plans, scored by replay alone."""
    for _ in range(20):
        drops = {node: {} for node in model.nodes}
        for place in model.locations:
            drops[place.node][place.name] = float(rng.choice([0.0, rng.uniform(0, 1), 1.0]))
        after = replay(topology, named, drops)
        if not after.overloaded(topology, 0.0):
            assert after.score <= optimum + 1e-6


def test_utility_spares_the_query_that_loses_most():
    chains = two_chains((1.0, 1.0), (0.1, 0.1))
    queries = (Query("tolerant", "b0", 1.0, LossFunction.parse("100: 1, 20: 0.95, 0: 0")),
               Query("strict", "b1", 1.0, LossFunction.parse("100: 1, 0: 0")))  # fmt: skip
    drops = plan(Topology(chains.nodes, chains.inputs, chains.operators, queries), 3, "solver", most_plans=600).select(
        [1.0, 1.0]
    )
    assert drops["A"] == {"r0": pytest.approx(0.8, abs=0.05), "r1": pytest.approx(0.2, abs=0.05)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("100: 1, 50: 0.2, 0: 0", "not concave"),
        ("90: 1, 0: 0", "a point at 0 and one at 100"),
        ("100: 0, 0: 1", "may not fall"),
        ("all", "cannot read"),
    ],
)
def test_bad_loss_functions(text, said):
    with pytest.raises(PenstockError, match=said):
        LossFunction.parse(text)
