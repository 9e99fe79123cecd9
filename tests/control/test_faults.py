"""Controllers when machines, sources and statistics fail: they stay inside their bounds, and find back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.control.controllers import CONTROLLERS, MISSING, Reading, Safe, controller
from tests.control.plants import Batch, MicroBatches, Period, Queue

READING = Reading(now_s=0.0, period_s=0.5, input_load=1.7, queued_load=1.0, target_s=2.0, headroom=0.8)


def paused(now_s: float) -> float:
    """An executor that stands still for some eight seconds: the batch that begins then takes ten times as long."""
    return 0.19 if 30 <= now_s < 31 else 1.9


def all_at_once(now_s: float) -> float:
    """A source that says nothing for twenty seconds, then delivers them all within one."""
    return 0.0 if 20 <= now_s < 40 else 20.0 if 40 <= now_s < 41 else 1.0


def kept(batches: list[Batch], start_s: float, end_s: float) -> float:
    inside = [b for b in batches if start_s <= b.now_s < end_s]
    return sum(b.kept_s for b in inside) / (end_s - start_s)


def late(periods: list[Period], start_s: float) -> float:
    return max((p.delay_s for p in periods if p.now_s > start_s), default=0.0)


def test_after_a_paused_executor_batches_are_in_time_again_and_as_full_as_before() -> None:
    batches = MicroBatches(lambda now: 4.0, paused, headroom=1.6).run(controller("seamless", batches=True), 90)
    stalled = max(batches, key=lambda b: b.took_s)
    assert stalled.took_s > 5
    after = [b for b in batches if b.now_s > stalled.now_s + stalled.took_s + 5]
    assert max(b.response_s for b in after) <= 2.0
    assert kept(batches, 70, 90) > 0.9 * kept(batches, 10, 30)


def test_a_source_that_stops_and_then_delivers_everything_at_once_in_batches() -> None:
    batches = MicroBatches(all_at_once, lambda now: 1.9, headroom=1.6).run(controller("seamless", batches=True), 80)
    assert max(b.response_s for b in batches) <= 2.2
    assert all(b.kept_s == b.arrived_s for b in batches if b.now_s < 40 or b.now_s > 44)
    assert any(b.kept_s < b.arrived_s for b in batches)


@pytest.mark.parametrize("name", ["seamless", "ctrl"])
def test_a_source_that_stops_and_then_delivers_everything_at_once_in_queues(name: str) -> None:
    periods = Queue(lambda now: 0.8 * all_at_once(now), lambda now: 1.0).run(controller(name), 90)
    assert late(periods, 50) < 2.2
    assert all(p.shed_s == 0 for p in periods if p.now_s <= 40 or p.now_s > 60)


@pytest.mark.parametrize("name", ["seamless", "ctrl"])
def test_after_a_processor_that_stood_still_the_queues_are_worked_off(name: str) -> None:
    share = lambda now: 0.01 if 30 <= now < 36 else 1.0  # noqa: E731
    periods = Queue(lambda now: 1.5, share, headroom=0.9).run(controller(name), 160)
    assert late(periods, 30) < 9
    assert late(periods, 110) < 2.6
    worked = sum(p.arrived_s - p.shed_s for p in periods if p.now_s > 110) / 50
    assert worked == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    "missing", ["delay_s", "p99_s", "processed", "entered", "left", "cost_s", "took_s", "waited_s"]
)
@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.parametrize("batches", [False, True])
def test_one_statistic_that_is_missing_does_not_stop_anybody(missing: str, name: str, batches: bool) -> None:
    safe = controller(name, batches)
    whole: dict[str, Any] = {"delay_s": 1.5, "p99_s": 1.8, "processed": 0.8, "entered": 100.0, "left": 90.0,
                             "cost_s": 0.01, "took_s": 0.4, "waited_s": 0.5, "shedding": 0.3}  # fmt: skip
    for i in range(80):
        amount = safe.step(replace(READING, now_s=0.5 * i, **{**whole, missing: MISSING}))
        assert 0 <= amount.excess <= READING.input_load
        assert not amount.why.startswith("kept")


@pytest.mark.parametrize(("wrong", "said"), [
    ({"input_load": 0.0, "entered": 500.0}, "500 tuples came in and cost nothing"),
    ({"delay_s": -3600.0, "p99_s": -3590.0}, "the response time is -3600 s"),
    ({"queued_load": float("nan")}, "the queued load is nan"),
])  # fmt: skip
@pytest.mark.parametrize("name", CONTROLLERS)
def test_absurd_statistics_for_a_minute_leave_the_last_good_plan_and_then_all_is_as_before(
    name: str, wrong: dict[str, float], said: str
) -> None:
    """Zero cost, a clock that is an hour off, and no number at all."""
    seen, clean = controller(name), controller(name)
    good = [replace(READING, now_s=0.5 * i, queued_load=1.6, entered=100.0, left=90.0, cost_s=0.01) for i in range(40)]
    for reading in good[:20]:
        assert seen.step(reading) == clean.step(reading)
    last = seen.step(good[20]).excess
    clean.step(good[20])
    for _ in range(120):
        amount = seen.step(replace(good[20], **wrong))
        assert amount.excess == last and said in amount.why
    for reading in good[21:]:
        assert seen.step(reading) == clean.step(reading)


def test_what_is_kept_moves_by_half_of_the_machine_a_period_at_most() -> None:
    """A glitch that says that nothing can be done any more takes half of the results, not all."""
    safe = Safe(controller("aurora").controller)
    reading = replace(READING, input_load=2.0, headroom=1.0)
    before = 2.0 - safe.step(reading).excess
    for step in (1, 2):
        left = 2.0 - safe.step(replace(reading, headroom=1e-6)).excess
        assert left >= before - step * 0.5 * reading.lanes - 1e-9
