"""The worked examples of Tatbul, chapter 5, with the thesis' numbers."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.cluster.complement import Branch, extended_limit, local_plan
from penstock.cluster.flows import compile_flows
from penstock.cluster.lp import program, solve
from penstock.cluster.planner import plan
from penstock.cluster.points import eliminated, leaf_points, mapped_back, outside_triangle, rate_limits, spreads
from penstock.cluster.quadtree import quadtree
from penstock.cluster.regions import divided
from penstock.cluster.replay import replay
from tests.cluster.networks import figure_5_1, figure_5_3, figure_5_4, figure_5_9

COST_A, COST_B, ONE = np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.ones(2)


@pytest.mark.parametrize(
    ("kept", "load_a", "through_a", "load_b", "through_b"),
    [
        ((1, 1), 3, (1 / 3, 1 / 3), 4 / 3, (1 / 4, 1 / 4)),
        ((1 / 3, 1 / 3), 1, (1 / 3, 1 / 3), 4 / 3, (1 / 4, 1 / 4)),
        ((1, 0), 1, (1, 0), 3, (1 / 3, 0)),
        ((0, 1 / 2), 1, (0, 1 / 2), 1 / 2, (0, 1 / 2)),
        ((1 / 5, 2 / 5), 1, (1 / 5, 2 / 5), 1, (1 / 5, 2 / 5)),
    ],
)
def test_table_5_1(kept, load_a, through_a, load_b, through_b):
    """A fair scheduler serves an overloaded node's subqueries alike: each passes its input rate divided by the
    node's load.
    """
    topology = figure_5_1()
    at_a = replay(topology, dict(zip(("r1", "r2"), kept, strict=True)), {}).loads["A"]
    passed = [rate / max(at_a, 1) for rate in kept]
    at_b = replay(topology, dict(zip(("r1", "r2"), passed, strict=True)), {}).loads["B"]
    delivered = [rate / max(at_b, 1) for rate in passed]
    assert (at_a, at_b) == (pytest.approx(load_a), pytest.approx(load_b))
    assert passed == [pytest.approx(value) for value in through_a]
    assert delivered == [pytest.approx(value) for value in through_b]


@pytest.mark.parametrize("method", ["c-fit", "d-fit", "solver"])
def test_table_5_1_optimum_is_plan_4(method):
    selection = plan(figure_5_1(), 2, method).choose({"r1": 1.0, "r2": 1.0})
    assert selection.optimum == pytest.approx(3 / 5)
    assert selection.score == pytest.approx(3 / 5, rel=0.02)
    if method != "solver":
        assert selection.drops["A"] == {"r1": pytest.approx(4 / 5), "r2": pytest.approx(3 / 5)}


def test_equations_5_4_to_5_8_two_levels_of_splits():
    """Symbolic in the thesis; every coefficient against its formula for one choice of costs and selectivities."""
    c, s = dict(enumerate((0.3, 0.5, 0.7, 1.1, 1.3, 1.7), 1)), dict(enumerate((0.9, 0.8, 0.7, 0.6, 0.5, 0.4), 1))
    model = compile_flows(figure_5_3(c, s))
    assert [p.name for p in model.locations] == ["r", "o1->o2", "o1->o5", "o1->o6", "o2->o3", "o2->o4"]
    shed = np.zeros(6), model.unshed(np.array([2.0]))
    prefix = shed[1]
    assert (model.loads[0] * prefix / 2.0).tolist() == pytest.approx(
        [c[1], s[1] * c[2], s[1] * c[5], s[1] * c[6], s[1] * s[2] * c[3], s[1] * s[2] * c[4]]
    )
    assert (model.scores * prefix / 2.0).tolist() == pytest.approx(
        [0, 0, s[1] * s[5], s[1] * s[6], s[1] * s[2] * s[3], s[1] * s[2] * s[4]]
    )
    rows = program(model).constraints[1:] * prefix / prefix[:, None]
    before = [None, 0, 0, 0, 1, 1]
    expected = np.eye(6) - np.array([[float(b == d) for d in range(6)] for b in before])
    assert rows == pytest.approx(expected)


def test_section_5_2_2_back_substitution():
    """x1 = x1, x2 = A/x1, x3 = B/(x1 x2), x4 = C/(x1 x2), x5 = D/x1, x6 = E/x1 (the last is printed as x5)."""
    c, s = dict.fromkeys(range(1, 7), 1.0), dict.fromkeys(range(1, 7), 0.5)
    model = compile_flows(figure_5_3(c, s))
    x1, a, b, big_c, d, e = 0.8, 0.6, 0.3, 0.6, 0.2, 0.8
    prefixes = np.array([x1, a, d, e, b, big_c])
    rates = np.array([3.0])
    keeps = model.keeps(prefixes * model.unshed(rates), rates)
    assert keeps.tolist() == pytest.approx([x1, a / x1, d / x1, e / x1, b / a, big_c / a])


def test_equations_5_9_to_5_11_union():
    c, s = (0.2, 0.3, 0.5, 0.7), (0.9, 0.8, 0.7, 0.6)
    model = compile_flows(figure_5_4(c, s))
    assert model.loads[0].tolist() == pytest.approx([c[0] + s[0] * (c[2] + c[3]), c[1] + s[1] * (c[2] + c[3])])
    assert model.scores.tolist() == pytest.approx([s[0] * s[3], s[1] * s[3]])


def test_section_5_4_1_epsilon_45_of_50():
    """At 10% a plan that scores 45 will do where the optimum is 50: the division stops there, and not at 44."""
    from penstock.cluster.regions import Space

    def space(worst: float) -> Space:
        return Space(np.ones(1), lambda p: False, lambda p: (50.0 if p[0] > 0.5 else worst, p, np.zeros(1)))

    assert len(divided(space(45.0), 0.1, 100).leaves) == 1
    assert len(divided(space(44.0), 0.1, 4).leaves) > 1


def test_figure_5_7_point_60_75_uses_the_plan_of_50_50():
    """Extra keep factors 50/60 and 50/75 map the point to the plan's."""
    topology = figure_5_1(costs_a=(1e-9, 1e-9), costs_b=(0.01, 0.01))
    model = compile_flows(topology)
    planned = solve(model, np.array([50.0, 50.0]))
    keeps = model.keeps(planned.flows, np.array([60.0, 75.0]))
    assert keeps.tolist() == pytest.approx([planned.keeps[0] * 50 / 60, planned.keeps[1] * 50 / 75])


def test_table_5_4():
    spread = np.full(2, 0.2)
    table_a, table_b = (leaf_points(costs, ONE, spread) for costs in (COST_A, COST_B))
    merged = eliminated(mapped_back(table_b, ONE), COST_A)
    assert _rows(table_a) == [(0, 0, 0), (0, .2, .2), (0, .4, .4), (.2, 0, .2), (.2, .2, .4), (.2, .4, .6), (.4, 0, .4),
                              (.4, .2, .6), (.6, 0, .6), (.6, .2, .8), (.8, 0, .8), (1, 0, 1)]  # fmt: skip
    assert _rows(table_b) == [(0, 0, 0), (0, .2, .2), (0, .4, .4), (0, .6, .6), (0, .8, .8), (0, 1, 1), (.2, 0, .2),
                              (.2, .2, .4), (.2, .4, .6)]  # fmt: skip
    assert _rows(merged) == [(0, 0, 0), (0, .2, .2), (0, .4, .4), (.2, 0, .2), (.2, .2, .4), (.2, .4, .6)]  # fmt: skip


def test_figure_5_8a_68_entries():
    limits = rate_limits(COST_B)
    assert spreads(limits, 10).tolist() == pytest.approx([0.0333, 0.1], abs=1e-4)
    table = leaf_points(COST_B, ONE, np.array([0.03, 0.1]))
    assert len(table) == 68
    assert table.rates[table.scores.argmax()].tolist() == [0.0, 1.0]
    assert table.scores.max() == 1.0


def test_figure_5_8b_triangle_holds_no_point_of_the_boundary():
    """Points inside the triangle of the lowest rate limits are feasible everywhere and below the boundary: they are
    left out.
    """
    table = leaf_points(COST_B, ONE, np.array([0.03, 0.1]))
    lowest = np.minimum(rate_limits(COST_A), rate_limits(COST_B))
    outside = outside_triangle(table, lowest)
    assert 0 < len(outside) < len(table)
    assert ((outside.rates / lowest).sum(axis=1) >= 1 - 1e-9).all()
    best = eliminated(table, COST_A)
    assert eliminated(outside, COST_A).scores.max() == best.scores.max()


def test_figure_5_9_complementary_plan():
    """Input 1, branches 2 and 5: r <= 1/3; at r = 0.2 drop 60% of the bottom branch, score 0.28 against 0.25 of the
    nearest point.
    """
    branches = [Branch("top", 2.0, 1.0), Branch("bottom", 5.0, 1.0)]
    assert extended_limit(branches, shared=1.0) == pytest.approx(1 / 3)
    assert local_plan(branches, 1.0, 0.2).tolist() == pytest.approx([0.0, 0.6])
    assert local_plan(branches, 1.0, 0.125).tolist() == [0.0, 0.0]
    for method in ("c-fit", "d-fit"):
        selection = plan(figure_5_9(), 0, method).choose({"r": 0.2})
        assert selection.drops == {"A": {"o->bottom": pytest.approx(0.6)}}
        assert selection.score == pytest.approx(0.28)
    plain = 1 / 8
    assert replay(figure_5_9(), {"r": plain}, {}).score == pytest.approx(0.25)


def test_table_5_5_two_inputs_46_entries():
    """The thesis lost its loads; the network of figure 5.1 gives its 46 entries and its 52 bytes per entry at 10%."""
    child = leaf_points(COST_B, ONE, spreads(rate_limits(COST_B), 10))
    table = eliminated(mapped_back(child, ONE), COST_A)
    assert (len(table), table.bytes_per_entry) == (46, 52)


def _rows(table):
    return [tuple(float(v) for v in row) for row in np.round(np.c_[table.rates, table.scores], 9)]


def test_the_thesis_spreads_do_not_keep_epsilon():
    """At 10%, the 46 points of figure 5.1 miss more than a fifth of the optimum somewhere; our two rows nothing."""
    child = leaf_points(COST_B, ONE, spreads(rate_limits(COST_B), 10))
    index = quadtree(eliminated(mapped_back(child, ONE), COST_A))
    planner, worst = plan(figure_5_1(), 10), 0.0
    for rates in np.random.default_rng(2).uniform(0, 1.2, (3000, 2)):
        selection = planner.choose(rates.tolist())
        assert selection.score == pytest.approx(selection.optimum)
        if selection.plan != "none":
            worst = max(worst, 1 - index.table.scores[index.find(rates)] / selection.optimum)
    assert worst > 0.2
