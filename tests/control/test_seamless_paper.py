"""Short versions of the experiments of Pham, section V, in the lane under virtual time."""

from __future__ import annotations

import pytest

from benchmarks.figures.seamless_networks import bursty, complex_network, flat, steady_then_more, with_joins
from benchmarks.figures.seamless_periods import LOSS, VIOLATION, Adjusting
from benchmarks.figures.seamless_setup import SYSTEM, TARGET_S, Run
from penstock.control.controllers import Aurora, Ctrl, Seamless
from penstock.plan.nodes import Delay

STEP_S = 50.0


def halved(now: float) -> float:
    """Background jobs from `STEP_S` on."""
    return SYSTEM if now < STEP_S else SYSTEM / 2


def test_qn_complex_is_as_large_as_in_the_paper() -> None:
    network = complex_network()
    operators = sum(not isinstance(node, Delay) for node in network.nodes())
    assert (operators + len(network.queries), len(network.queries)) == (1140, 100)


@pytest.mark.parametrize(("controller", "headroom", "after"), [(Ctrl(), SYSTEM, 2.0), (Seamless(), 0.8, 1.0)])
def test_figure_3_ctrl_settles_at_twice_the_target_and_seamless_is_back_at_it(controller, headroom, after) -> None:
    track = Run(flat(), steady_then_more(125), controller, headroom, halved, train_rows=10).to(125)
    assert track.mean_between(35, STEP_S) == pytest.approx(TARGET_S, rel=0.1)
    assert track.mean_between(STEP_S + 45, 125) == pytest.approx(after * TARGET_S, rel=0.1)
    assert track.headroom[-1] == pytest.approx(SYSTEM / 2 if after == 1.0 else SYSTEM, rel=0.1)


def test_figure_5_as_printed_a_headroom_is_learned_best_from_20_to_40_periods() -> None:
    found = {p: Adjusting(True, p, 7.0).run() for p in (1, 30, 60)}
    violation, loss = ({p: told[key] for p, told in found.items()} for key in (VIOLATION, LOSS))
    assert violation[30] < min(violation[1], violation[60])
    assert loss[1] > loss[30] + 0.1
    assert Adjusting(False, 30, 7.0).run()[VIOLATION] < violation[30]


def test_table_1_shared_operators_blind_ctrl_and_not_seamless() -> None:
    """The operators of a tenth of QN-complex, so each costs ten times as much."""
    network, arrivals = complex_network(groups=4), bursty(35, 0)
    ctrl = Run(network, arrivals, Ctrl(), SYSTEM, train_rows=20).to(35)
    seamless = Run(network, arrivals, Seamless(), 0.8, train_rows=20).to(35)
    assert ctrl.violations()[0] > TARGET_S > 4 * seamless.violations()[0]
    assert ctrl.loss < 0.1 < 0.2 < seamless.loss


def test_joins_and_aggregates_blind_ctrl_and_not_seamless() -> None:
    """The join's results wait longer than the queued load says: a matter for the headroom, which finds out."""
    arrivals = bursty(90, 0)
    ctrl = Run(with_joins(), arrivals, Ctrl(), SYSTEM).to(90)
    seamless = Run(with_joins(), arrivals, Seamless(), 0.8).to(90)
    assert ctrl.mean_between(45, 90) > 3 * TARGET_S
    assert seamless.mean_between(45, 90) < 1.1 * TARGET_S


def test_aurora_loses_more_where_it_violates_as_little() -> None:
    """On QN-flat: the headroom at which Aurora's queues stay short enough wastes what lies between bursts."""
    arrivals = bursty(60, 1)
    seamless = Run(flat(), arrivals, Seamless(), 0.8, train_rows=20).to(60)
    losses = []
    for headroom in (0.84, 0.88):
        aurora = Run(flat(), arrivals, Aurora(), headroom, train_rows=20).to(60)
        if aurora.violations()[1] <= seamless.violations()[1]:
            losses.append(aurora.loss)
    assert losses and min(losses) > seamless.loss
