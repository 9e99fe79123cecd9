"""Controllers: their loops' poles, what they do to a queue, and what they do when told nonsense."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from penstock.control.controllers import CONTROLLERS, FOR_BATCHES, Amount, Reading, Safe, controller
from penstock.control.controllers.aurora import Aurora
from penstock.control.controllers.ctrl import Ctrl
from penstock.control.controllers.feedback import Feedback
from penstock.control.controllers.gains import CTRL_GAINS, Gains, placed
from penstock.control.controllers.headroom import Headroom
from penstock.control.controllers.seamless import Seamless
from penstock.control.controllers.spread import Spread
from penstock.errors import PenstockError
from tests.control.plants import MicroBatches, Period, Queue

S_C = (0.0049, 200.0, 350.0)
"""The cost of a tuple and the two rates of the synthetic input: 63% must go once half of the processor is taken."""


def s_c(now_s: float) -> float:
    cost, before, after = S_C
    return cost * (before if now_s < 10 else after)


def half_from_100(now_s: float) -> float:
    return 0.99 if now_s < 100 else 0.495


def whole(now_s: float) -> float:
    return 0.99


def between(periods: list[Period], start_s: float, end_s: float) -> list[Period]:
    return [p for p in periods if start_s < p.now_s <= end_s]


def lost(periods: list[Period]) -> float:
    return sum(p.shed_s for p in periods) / sum(p.arrived_s for p in periods)


def turns(rates: list[float]) -> int:
    """How often the rates turn from rising to falling or back."""
    changes = [b - a for a, b in pairwise(rates) if abs(b - a) > 1e-9]
    return sum(a * b < 0 for a, b in pairwise(changes))


def reading(**changed: Any) -> Reading:
    base = Reading(now_s=0.0, period_s=0.5, input_load=1.7, queued_load=1.0, target_s=2.0, headroom=0.8)
    return replace(base, **changed)


# The loop without dead time: Pham III-A with the parameters of CTRL.


def test_pham_3_a_both_closed_loop_poles_at_0_7() -> None:
    g = placed(0.7)
    assert (g.a, g.b0, g.b1) == pytest.approx((CTRL_GAINS.a, CTRL_GAINS.b0, CTRL_GAINS.b1))
    assert (g.a, g.b0, g.b1) == pytest.approx((-0.8, 0.4, -0.31))
    closed = np.polyadd(np.polymul([1, -1], [1, g.a]), [0, g.b0, g.b1])
    assert closed == pytest.approx([1, -1.4, 0.49])
    assert g.poles() == pytest.approx([0.7, 0.7], abs=1e-6)


def step_response(gains: Gains, dead: int, periods: int) -> list[float]:
    """The delay estimate after the setpoint rises from 0 to 1, on the plant of `gains` itself."""
    feedback, delays, added = Feedback(gains), [0.0] * (dead + 1), []
    feedback.admit(0.0, 0.0, 1.0, 10.0)
    for _ in range(periods):
        added.append(feedback.admit(delays[-1 - dead], 1.0, 1.0, 10.0) - 10.0)
        delays.append(delays[-1] + added[-1])
    return delays[dead:]


def test_the_step_response_is_that_of_the_two_poles() -> None:
    found = step_response(CTRL_GAINS, 0, 60)
    transfer = [0.0] * 61
    for k in range(1, 61):
        past = transfer[k - 1], transfer[k - 2] if k > 1 else 0.0
        transfer[k] = 1.4 * past[0] - 0.49 * past[1] + 0.4 - (0.31 if k > 1 else 0.0)
    assert found == pytest.approx(transfer)
    assert found[-1] == pytest.approx(1.0, abs=1e-6)
    assert all(0.95 <= d <= 1.05 for d in found[16:])


@pytest.mark.parametrize("pole", [0.3, 0.5, 0.6])
def test_with_dead_time_three_poles_lie_where_they_were_put(pole: float) -> None:
    assert placed(pole, 1).poles(1) == pytest.approx([pole] * 3, abs=1e-4)
    assert step_response(placed(pole, 1), 1, 80)[-1] == pytest.approx(1.0, abs=1e-3)


def test_gains_for_no_dead_time_swing_where_there_is_some() -> None:
    assert 0.75 < CTRL_GAINS.poles(1)[0] < 1
    swinging, calm = step_response(CTRL_GAINS, 1, 80), step_response(placed(0.6, 1), 1, 80)
    assert max(swinging) > 1.16 and max(calm) < 1.06


@pytest.mark.parametrize(("pole", "dead"), [(1.0, 0), (0.7, 1), (0.5, 2), (-0.1, 0)])
def test_poles_that_no_gains_have(pole: float, dead: int) -> None:
    with pytest.raises(PenstockError, match="no gains put the poles"):
        placed(pole, dead)


# Headroom: Pham III-B and figure 3.


def test_pham_3_b_headroom_times_target_over_what_it_became() -> None:
    headroom = Headroom(0.99, periods=30)
    for _ in range(30):
        headroom.observe(4.0, setpoint_s=2.0, lanes=1.0)
    assert headroom.value == pytest.approx(0.99 * 2 / 4)


def test_headroom_learns_only_while_load_is_shed() -> None:
    seamless = Seamless(periods=1)
    for delay in (0.1, 5.0, 9.0):
        seamless.step(reading(delay_s=delay, p99_s=delay))
    assert seamless.headroom is not None and seamless.headroom.value == 0.8
    seamless.step(reading(delay_s=1.6, p99_s=1.6, shedding=0.5))
    assert seamless.headroom.value == pytest.approx(1.0)


def test_headroom_stays_between_nothing_and_the_lanes() -> None:
    headroom = Headroom(0.8, periods=1)
    for _ in range(9):
        headroom.observe(1e-3, 2.0, lanes=2.0)
    assert headroom.value == 2.0
    for _ in range(9):
        headroom.observe(1e6, 2.0, lanes=2.0)
    assert headroom.value == 0.01


def test_pham_figure_3_ctrl_settles_at_twice_the_target_and_seamless_returns() -> None:
    ctrl = Queue(s_c, half_from_100, headroom=0.99).run(Ctrl(), 400)
    seamless = Queue(s_c, half_from_100).run(Seamless(spread=None), 400)
    assert fmean(p.delay_s for p in between(ctrl, 60, 100)) == pytest.approx(2.0, rel=0.05)
    assert fmean(p.delay_s for p in between(ctrl, 200, 400)) == pytest.approx(4.0, rel=0.05)
    assert fmean(p.delay_s for p in between(seamless, 60, 100)) == pytest.approx(2.0, rel=0.05)
    assert all(p.delay_s == pytest.approx(2.0, rel=0.1) for p in between(seamless, 145, 400))
    assert lost(seamless) == pytest.approx(lost(ctrl), abs=0.01)


def test_pham_2_b_ctrl_holds_what_aurora_lets_go_for_little_more_loss() -> None:
    aurora = Queue(s_c, whole, headroom=1.0).run(Aurora(), 200)
    ctrl = Queue(s_c, whole, headroom=0.99).run(Ctrl(), 200)
    assert aurora[-1].delay_s > 2.2 and aurora[-1].delay_s > aurora[-100].delay_s
    assert ctrl[-1].delay_s == pytest.approx(2.0, rel=0.05)
    assert 0 < lost(ctrl) - lost(aurora) < 0.02


# Aurora.


def test_aurora_melts_queues() -> None:
    assert Aurora(melt_rate=0.25).step(reading(input_load=1.0, queued_load=2.0)).excess == pytest.approx(0.7)
    assert Aurora().step(reading(input_load=1.0, queued_load=2.0)).excess == pytest.approx(0.2)


# Setpoint, bumps, windup, restlessness.


def test_the_setpoint_lies_below_the_target_by_the_spread() -> None:
    spread = Spread()
    for _ in range(40):
        setpoint = spread.setpoint_s(reading(delay_s=1.5, p99_s=1.8))
    assert setpoint == pytest.approx(1.7)
    assert Spread().setpoint_s(reading()) == 2.0
    assert Spread().setpoint_s(reading(delay_s=0.1, p99_s=9.0)) == pytest.approx(0.5)


def test_a_long_time_below_the_target_does_not_wind_the_controller_up() -> None:
    def first_after(seconds_of_peace: float) -> list[float]:
        load = lambda now: 0.5 if now < seconds_of_peace else 1.7  # noqa: E731
        periods = Queue(load, whole).run(Seamless(spread=None), seconds_of_peace + 10)
        return [p.rate for p in periods if p.now_s > seconds_of_peace]

    assert first_after(200) == pytest.approx(first_after(20), abs=1e-6)


def test_shedding_starts_and_stops_without_a_bump() -> None:
    load = lambda now: 1.5 if 10 <= now < 60 else 0.9  # noqa: E731
    periods = Queue(load, whole).run(controller("seamless"), 120)
    assert max(p.delay_s for p in periods) < 2.2
    assert all(p.rate == 0 for p in between(periods, 0, 10))
    assert all(p.shed_s == 0 for p in between(periods, 65, 120))


@pytest.mark.parametrize("name", CONTROLLERS)
def test_in_a_steady_state_the_drop_rate_is_calm(name: str) -> None:
    jitter = random.Random(1)
    load = lambda now: 1.7 * (1 + jitter.uniform(-0.1, 0.1))  # noqa: E731
    periods = between(Queue(load, whole, headroom=0.95).run(controller(name), 300), 120, 300)
    assert turns([p.rate for p in periods]) <= 3 * 20


@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.parametrize("batches", [False, True])
def test_every_controller_gives_the_same_amounts_for_the_same_readings(name: str, batches: bool) -> None:
    jitter = random.Random(7)
    readings = [
        reading(now_s=0.5 * i, input_load=jitter.uniform(0, 4), queued_load=jitter.uniform(0, 5),
                delay_s=jitter.random(), p99_s=3 * jitter.random(), shedding=jitter.random(),
                processed=jitter.random(), entered=100, left=90, cost_s=0.01, waited_s=jitter.random(),
                took_s=jitter.random())
        for i in range(200)
    ]  # fmt: skip
    first, second = controller(name, batches), controller(name, batches)
    amounts = [first.step(r) for r in readings]
    assert amounts == [second.step(r) for r in readings]
    assert first.name == name and all(0 <= a.excess < 10 for a in amounts)


# Nonsense.

NONSENSE = {
    "input_load": [float("nan"), float("inf"), -1.0, 0.0],
    "queued_load": [float("nan"), float("inf"), -0.1],
    "target_s": [0.0, float("nan"), -2.0],
    "headroom": [0.0, float("nan")],
    "period_s": [0.0, -1.0],
    "delay_s": [-0.5],
    "p99_s": [-3.0],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in NONSENSE.items() for v in values])
def test_nonsense_keeps_the_last_good_amount_and_says_why(name: str, value: float) -> None:
    safe = controller("seamless")
    before = safe.step(reading(queued_load=3.0, entered=100.0))
    assert before.excess > 0
    kept = safe.step(reading(**{"entered": 100.0, name: value}))
    assert kept.excess == before.excess and kept.why.startswith("kept: ")
    assert not safe.step(reading(queued_load=3.0, entered=100.0)).why.startswith("kept")


def test_a_controller_that_answers_nonsense_is_not_believed() -> None:
    class Mad:
        name = "mad"

        def step(self, reading: Reading) -> Amount:
            return Amount(float("nan"), "mad")

    assert Safe(Mad()).step(reading()) == Amount(0.0, "kept: mad answered nan")


def test_a_jump_is_bounded_by_what_the_machine_has() -> None:
    safe = Safe(Aurora())
    assert safe.step(reading(input_load=1000.0)).excess == pytest.approx(999.2)
    assert safe.step(reading(input_load=2.0)).excess == pytest.approx(1.2)
    assert safe.step(reading(input_load=2.0, headroom=1e-9)).excess == pytest.approx(1.7)
    assert safe.step(reading(input_load=2.0, headroom=1e-9)).excess == pytest.approx(2.0)


def test_random_nonsense_never_raises_and_never_leaves_the_bounds() -> None:
    jitter = random.Random(3)
    odd = [0.0, -1.0, 1e-12, 1e12, float("nan"), float("inf"), 0.5, 2.0]
    for name in FOR_BATCHES:
        for batches in (False, True):
            safe = controller(name, batches)
            for i in range(400):
                r = reading(now_s=i * 0.5, **{n: jitter.choice(odd) for n in (
                    "input_load", "queued_load", "delay_s", "p99_s", "shedding", "processed", "entered", "left",
                    "cost_s", "waited_s", "took_s", "floor_s")})  # fmt: skip
                assert 0 <= safe.step(r).excess < float("inf")


def test_an_unknown_controller() -> None:
    with pytest.raises(PenstockError, match="unknown controller 'seemless'"):
        controller("seemless")


# Micro-batches.


@pytest.mark.parametrize("times", [1.2, 2.0, 4.0, 10.0])
def test_micro_batches_meet_their_target_at_full_use(times: float) -> None:
    load = lambda now: 0.5 if now < 10 or now > 60 else times * 1.9  # noqa: E731
    batches = MicroBatches(load, lambda now: 1.9, headroom=1.6).run(controller("seamless", batches=True), 80)
    during = [b for b in batches if 20 <= b.now_s < 60]
    assert max(b.response_s for b in during) <= 2.0
    assert sum(b.kept_s for b in during) / 40 / 1.9 > 0.8
    assert all(b.kept_s == b.arrived_s for b in batches if b.now_s < 10 or b.now_s > 63)


def test_micro_batches_when_half_of_the_processor_goes() -> None:
    share = lambda now: 1.9 if now < 30 else 0.95  # noqa: E731
    batches = MicroBatches(lambda now: 4.0, share, headroom=1.6).run(controller("seamless", batches=True), 80)
    assert max(b.response_s for b in batches if 10 <= b.now_s < 30 or b.now_s > 40) <= 2.0


def test_micro_batches_turn_their_drop_rate_seldom() -> None:
    jitter = random.Random(5)
    share = lambda now: 1.9 * jitter.uniform(0.95, 1.05)  # noqa: E731
    batches = MicroBatches(lambda now: 4.0, share, headroom=1.6).run(controller("seamless", batches=True), 140)
    assert float(np.quantile([b.response_s for b in batches if b.now_s > 20], 0.99)) <= 2.0
    assert turns([b.excess for b in batches if b.now_s > 20]) <= 2 * 20


def test_micro_batches_do_not_swing() -> None:
    batches = MicroBatches(lambda now: 4.0, lambda now: 1.9, headroom=1.6).run(controller("seamless", batches=True), 80)
    took = [b.took_s for b in batches if b.now_s > 20]
    assert max(abs(b - a) for a, b in pairwise(took)) < 0.03


def test_micro_batches_below_capacity_lose_nothing() -> None:
    plant = MicroBatches(lambda now: 0.8 * 1.9, lambda now: 1.9, headroom=1.6)
    batches = plant.run(controller("seamless", batches=True), 60)
    assert all(b.kept_s == b.arrived_s for b in batches)
