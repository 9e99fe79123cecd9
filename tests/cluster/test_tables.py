"""Tables: what pruning may cost, what the index finds, what messages carry, what the thesis' points do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.cluster.central import node_fits, whole_fit
from penstock.cluster.complement import Branch, local_plan
from penstock.cluster.flows import compile_flows
from penstock.cluster.limits import useful_rates
from penstock.cluster.lp import maximum, solve
from penstock.cluster.messages import delta, ordered, part, patched, public
from penstock.cluster.mixing import mixer
from penstock.cluster.pivots import minimise_loss, optimise
from penstock.cluster.points import Points, changed_share, leaf_points, mapped_back_split, merged, undominated
from penstock.cluster.pruning import pruned
from penstock.cluster.quadtree import owners, quadtree
from penstock.cluster.rows import Rows, combined, distinct, through_operator
from penstock.cluster.selecting import best_flows, filling_rates, flow_dictionary
from penstock.cluster.topology import Input, Node, Operator, Topology
from tests.cluster.networks import random_topology, two_chains

SEEDS = st.integers(0, 10_000)


def random_rows(rng, count, nodes, full=True):
    """Rows as a split makes them: the first one keeps everything, and dropping everything is among them."""
    loads = rng.choice([0.0, 1.0, rng.uniform(0, 3)], (count, nodes)) * rng.uniform(0, 1, (count, nodes))
    scores = rng.choice([0.0, 0.5, 1.0, rng.uniform(0, 2)], count)
    loads[0], scores[0] = loads.max(axis=0) + 0.1, scores.max() + 0.1
    loads[-1], scores[-1] = 0.0, 0.0
    return Rows(np.arange(count, dtype=np.uint64), scores, scores.copy(), loads, np.zeros((count, 0)))


def best_mix(rows, capacities, rate):
    weights = mixer(rows.scores, rows.loads, np.zeros(len(rows), dtype=np.intp), capacities, 1).mix(np.array([rate]))
    return float(weights @ rows.scores)


@given(SEEDS, st.sampled_from([0.0, 1e-9, 0.01, 0.1, 0.5]), st.integers(2, 25), st.integers(1, 5))
@example(0, 0.1, 2, 1)
def test_no_reachable_plan_gets_worse_than_epsilon(seed, epsilon, count, nodes):
    """The proof obligation of pruning: for any rate and any capacities, the kept rows reach 1 - epsilon of all rows'
    best mix.
    """
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, count, nodes)
    kept = pruned(rows, epsilon)
    assert (kept.scores >= (1 - epsilon) * kept.promises - 1e-12).all()
    for _ in range(5):
        capacities, rate = rng.uniform(0, 2, nodes), float(rng.uniform(0.1, 3))
        assert best_mix(kept, capacities, rate) >= (1 - epsilon) * best_mix(rows, capacities, rate) - 1e-9


@given(SEEDS, st.sampled_from([0.01, 0.1, 0.3]))
def test_prunings_at_several_levels_do_not_add_up(seed, epsilon):
    """Prune, put an operator before, combine with a sibling, prune again: still within one epsilon of never pruning."""
    rng = np.random.default_rng(seed)
    first, second = random_rows(rng, 12, 3), random_rows(rng, 9, 3)

    def build(share):
        rows = through_operator(pruned(first, share), 0, 0.2, 1.5)
        rows = pruned(combined(rows, pruned(second, share)), share) if share else combined(rows, second)
        return (
            pruned(through_operator(rows, 1, 0.1, 0.7), share)
            if share
            else rows and through_operator(rows, 1, 0.1, 0.7)
        )

    exact, thinned = build(0.0), build(epsilon)
    assert len(thinned) <= len(exact)
    for _ in range(5):
        capacities, rate = rng.uniform(0, 3, 3), float(rng.uniform(0.1, 3))
        assert best_mix(thinned, capacities, rate) >= (1 - epsilon) * best_mix(exact, capacities, rate) - 1e-9


def test_pruning_keeps_few_of_many_branches():
    """Sixteen branches of one operator have 65,536 sets; the useful ones are a chain, and epsilon thins it."""
    rng = np.random.default_rng(1)
    branches = tuple(Operator(f"b{i}", "A", float(rng.uniform(1, 9)), 1.0, ("o",)) for i in range(16))
    fan = Topology((Node("A", 1.0),), (Input("r", "A"),), (Operator("o", "A", 1.0, 1.0, ("r",)), *branches))
    assert len(whole_fit(fan, 0.0)) <= 16
    assert len(whole_fit(fan, 0.1)) < len(whole_fit(fan, 0.0))


def test_useful_rates_bound_what_any_optimum_uses():
    rng = np.random.default_rng(4)
    for _ in range(60):
        topology = random_topology(rng, inputs=4)
        model = compile_flows(topology)
        useful, tableau = useful_rates(whole_fit(topology, 0.0)), flow_dictionary(model)
        rates = 50 * filling_rates(model.total_loads, model.capacities) * rng.uniform(0, 1, len(model.inputs))
        best = model.scores @ best_flows(model, tableau, rates)
        clipped = model.scores @ best_flows(model, tableau, np.minimum(rates, useful))
        assert clipped == pytest.approx(best, rel=1e-7, abs=1e-12)


def test_pivots_agree_with_highs():
    rng = np.random.default_rng(9)
    for _ in range(150):
        model = compile_flows(random_topology(rng))
        rates = filling_rates(model.total_loads, model.capacities) * rng.exponential(3.0, len(model.inputs))
        assert model.scores @ best_flows(model, flow_dictionary(model), rates) == pytest.approx(
            solve(model, rates).score, rel=1e-6, abs=1e-12
        )


def test_score_lost_is_what_the_dropped_tuples_scored():
    model = compile_flows(two_chains((1.0, 2.0), (3.0, 1.0)))
    values, loss, _ = minimise_loss(flow_dictionary(model), np.ones(2))
    assert loss == pytest.approx(2 - 0.6)
    assert values[:2].tolist() == pytest.approx([0.8, 0.6])


@given(SEEDS, st.integers(1, 4), st.integers(1, 60))
def test_the_quadtree_finds_the_owner(seed, inputs, count):
    rng = np.random.default_rng(seed)
    table = Points(rng.integers(0, 5, (count, inputs)) * 0.2, rng.integers(0, 6, count) * 0.5, np.full(inputs, 0.2))
    tree = quadtree(table)
    rates = rng.integers(0, 11, (30, inputs)) * 0.1
    found, expected = np.array([tree.find(r) for r in rates]), owners(table, rates)
    assert (found < 0).tolist() == (expected < 0).tolist()
    assert table.scores[found[found >= 0]].tolist() == table.scores[expected[expected >= 0]].tolist()
    assert (table.rates[found[found >= 0]] <= rates[found >= 0] + 1e-9).all()


def test_undominated_points_select_as_well_as_all():
    table = leaf_points(np.array([3.0, 1.0]), np.array([1.0, 0.0]), np.array([0.03, 0.1]))
    few = undominated(table)
    assert len(few) < len(table)
    rates = np.random.default_rng(0).uniform(0, 1.5, (300, 2))
    assert table.scores[owners(table, rates)] == pytest.approx(few.scores[owners(few, rates)])


def test_a_split_asks_for_the_largest_rate_and_children_merge_by_sums():
    one = leaf_points(np.array([2.0]), np.ones(1), np.array([0.25]))
    two = leaf_points(np.array([1.0]), np.ones(1), np.array([0.5]))
    both = merged([one, two])
    assert len(both) == len(one) * len(two)
    assert both.scores.max() == pytest.approx(1.5)
    back = mapped_back_split(both, [[(0, 0.5), (1, 1.0)]])
    k = int(both.scores.argmax())
    assert both.rates[k].tolist() == [0.5, 1.0]
    assert back.rates[k].tolist() == [max(0.5 / 0.5, 1.0 / 1.0)]


def test_changed_share_of_points():
    old = leaf_points(np.array([3.0, 1.0]), np.ones(2), np.array([0.1, 0.2]))
    new = Points(old.rates, old.rates @ np.array([1.0, 0.5]), old.spreads)
    gone = np.where(old.rates[:, 0] > 0, -np.inf, old.scores)
    assert changed_share(old, old, old.scores, 0.0) == 0.0
    assert changed_share(old, new, new.scores, 0.0) == pytest.approx((old.rates[:, 1] > 0).mean())
    assert changed_share(old, new, new.scores, 1.0) == 0.0
    assert changed_share(old, old, gone, 0.0) == pytest.approx((old.rates[:, 0] > 0).mean())
    assert 0 < changed_share(old, old, gone, 0.3) < changed_share(old, old, gone, 0.0)


def test_local_plan_meets_the_excess_by_the_smallest_ratios():
    rng = np.random.default_rng(2)
    for _ in range(50):
        branches = [Branch(str(i), float(rng.uniform(0.1, 2)), float(rng.uniform(0, 2))) for i in range(4)]
        rate = float(rng.uniform(0.1, 3))
        dropped = local_plan(branches, 0.0, rate)
        loads = np.array([b.load for b in branches])
        assert rate * ((1 - dropped) @ loads) == pytest.approx(min(1.0, rate * loads.sum()))
        assert ((dropped > 0) & (dropped < 1)).sum() <= 1


@given(SEEDS)
def test_a_delta_turns_the_old_table_into_the_new_one(seed):
    rng = np.random.default_rng(seed)
    tables = []
    for cost in rng.uniform(0.5, 3, (2, 3)):
        chains = two_chains(tuple(cost), (1.0, 2.0, 3.0))
        tables.append(ordered(public(node_fits(chains, 0.0)["A"])))
    changed, forgotten = delta(tables[0], tables[1], 0.0)
    after = patched(tables[0], part(tables[1], changed), forgotten)
    assert np.array_equal(after.rows.loads, tables[1].rows.loads)
    assert np.array_equal(after.rows.keys, tables[1].rows.keys)


def test_repeated_keys_are_told_apart():
    keys = distinct(np.array([7, 3, 7, 7, 3], dtype=np.uint64))
    assert len(set(keys.tolist())) == 5
    assert keys[[0, 1]].tolist() == [7, 3]


def badly_scaled(rng, rows, nodes):
    """Scores, loads and capacities that span many orders of magnitude, as chains of selectivities make them."""
    loads = 10.0 ** rng.uniform(-4, 3, (rows, nodes)) * (rng.random((rows, nodes)) < 0.7)
    return 10.0 ** rng.uniform(-6, 1, rows), loads, 10.0 ** rng.uniform(-2, 2, nodes)


def test_badly_scaled_mixes_are_the_best_and_fit():
    rng = np.random.default_rng(12)
    for _ in range(150):
        scores, loads, capacities = badly_scaled(rng, 12, 3)
        stream_of = np.sort(np.append([0, 1, 2], rng.integers(0, 3, 9)))
        rates = 10.0 ** rng.uniform(-4, 4, 3)
        mix = mixer(scores, loads, stream_of, capacities, 3).mix(rates)
        assert (mix @ loads <= capacities * (1 + 1e-6)).all()
        assert (np.bincount(stream_of, mix, 3) <= rates * (1 + 1e-9)).all()
        best, _ = maximum(
            scores * rates[stream_of] / (scores * rates[stream_of]).max(),
            np.vstack([loads.T * rates[stream_of] / capacities[:, None], np.eye(3)[:, stream_of]]),
            np.ones(6),
        )
        assert mix @ scores >= (1 - 1e-6) * float(best * rates[stream_of] @ scores)


def test_where_pivots_lose_their_way_highs_decides():
    rng = np.random.default_rng(13)
    for _ in range(20):
        table = whole_fit(random_topology(rng), 0.0).mixer()
        rates = np.minimum(rng.exponential(1.0, len(table.tops)), table.tops)
        assert table._by_highs(rates) @ table.scores == pytest.approx(table.mix(rates) @ table.scores, rel=1e-6)


def test_a_basis_is_made_afresh():
    """Starting from the names of the optimum, there is nothing left to do."""
    rng, sure = np.random.default_rng(14), 0
    for _ in range(30):
        tableau = flow_dictionary(compile_flows(random_topology(rng)))
        given = (
            tableau.matrix,
            tableau.cost,
            tableau.fixed,
            tableau.sloped,
            10.0 * rng.random(tableau.sloped.shape[1]),
        )
        values, loss, names, certain = optimise(*given, np.arange(sum(tableau.matrix.shape)))
        again, same, kept, _ = optimise(*given, names)
        if not certain:
            continue
        assert same == pytest.approx(loss)
        assert again == pytest.approx(values, abs=1e-9 * values.max())
        assert set(kept[len(tableau.cost) :]) == set(names[len(tableau.cost) :])
        sure += 1
    assert sure > 15


def test_pivots_are_certain_where_one_input_is_nearly_silent():
    """A rate far below the others must not be asked for more digits than the others leave it."""
    rng = np.random.default_rng(15)
    table = whole_fit(two_chains((16.0, 8.0) * 4, (16.0, 8.0) * 4, 1000.0), 0.0).mixer()
    for _ in range(500):
        rates = np.minimum(10.0 ** rng.uniform(-3, 3, 8), table.tops)
        assert minimise_loss(table.tableau, rates)[2]


def test_a_silent_input_beside_a_slow_one_at_a_union_is_bounded():
    """Flows are counted in sizes that differ by no more than the rates do; none may become free for HiGHS."""
    reads = {"a": ("r",), "b": ("s",), "u": ("a", "b"), "x": ("u",), "y": ("u",)}
    union = tuple(Operator(name, "A", 1.0, 1.0, streams) for name, streams in reads.items())
    model = compile_flows(Topology((Node("A", 1.0),), (Input("r"), Input("s")), union))
    for rate in 10.0 ** np.arange(-14, 3.0):
        score = solve(model, np.array([0.0, rate])).score
        assert score == pytest.approx(model.scores @ best_flows(model, flow_dictionary(model), np.array([0.0, rate])))
