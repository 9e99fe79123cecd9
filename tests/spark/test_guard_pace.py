"""How the guard paces batches, on a job that is a formula: so much for a batch, so much for a row that is read, so much
for one that is kept. No Spark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from penstock.spark import guard
from penstock.spark.guarding.cost import Cost

TARGET_S, BETWEEN_S, READ_S = 2.0, 0.06, 1e-6


@dataclass(frozen=True)
class Batch:
    at_s: float
    came: int
    kept: int
    response_s: float


def paced(
    clock: list[float], rate: float, floor_s: float, row_s: float, noise: float = 0.0, seconds: float = 60.0
) -> list[Batch]:
    """Batches one after the other under `rate` rows a second; the first two are cold."""
    random, g = np.random.default_rng(0), guard(delay="2 seconds")
    now, offset, batches = 0.5, 0.0, []
    while now < seconds:
        came, offset, before = round(rate * (now - offset)), now, offset
        began = now + BETWEEN_S / 2
        counted = 0.05 + came * READ_S
        share = g._share(came, began, counted)
        g._pace.expects(share * came, counted)
        kept = round(share * came)
        factor = 1 + noise * (random.random() - 0.5)
        cold = 2.0 if len(batches) < 2 else 0.0
        took = counted + cold + (floor_s + kept * row_s) * factor
        clock.append(began + took)
        g._done(len(batches), came, kept, share, began, counted)
        batches.append(Batch(began + took, came, kept, began + took - before))
        now = began + took + BETWEEN_S / 2
    return batches


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the guard sees: the last of the list."""
    listed = [0.0]
    monkeypatch.setattr("penstock.spark.guarding.job.time.monotonic", lambda: listed[-1])
    return listed


@pytest.mark.parametrize("floor_s", [0.05, 0.4])
@pytest.mark.parametrize("times", [1.2, 2.0, 4.0, 10.0])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_overload_is_answered_in_time_with_what_fits_in(
    clock: list[float], floor_s: float, times: float, noise: float
) -> None:
    row_s = 60e-6
    rate = times / row_s
    late = [b for b in paced(clock, rate, floor_s, row_s, noise) if b.at_s > 10]
    assert float(np.quantile([b.response_s for b in late], 0.99)) <= TARGET_S * (1 + noise / 4)
    cycle_s = (TARGET_S - 2 * BETWEEN_S) / 2
    room_s = cycle_s - BETWEEN_S - 0.05 - floor_s - rate * cycle_s * READ_S
    kept_hz = sum(b.kept for b in late[1:]) / (late[-1].at_s - late[0].at_s)
    assert kept_hz * row_s > (0.75 if noise == 0 else 0.4) * room_s / cycle_s


@pytest.mark.parametrize("floor_s", [0.05, 0.4])
def test_below_capacity_nothing_is_shed_once_costs_are_known(clock: list[float], floor_s: float) -> None:
    late = [b for b in paced(clock, 0.5 * (1 - floor_s) / 60e-6, floor_s, 60e-6) if b.at_s > 15]
    assert sum(b.came - b.kept for b in late) == 0


def test_a_batch_that_costs_more_than_the_target_leaves_a_trickle_and_is_said(clock: list[float]) -> None:
    with pytest.warns(UserWarning, match="below what this job reaches: a batch takes 1.[2-5] s"):
        late = [b for b in paced(clock, 20_000, 1.4, 60e-6) if b.at_s > 20]
    assert all(40 <= b.kept < 500 for b in late)


def test_costs_of_batches_of_one_size_follow_the_machine() -> None:
    cost = Cost()
    for rows, took_s in ((2_000, 3.0), (500, 1.5), *((1_000, 0.5),) * 30):
        cost.see(rows, took_s)
    assert cost.floor_s + 1_000 * cost.row_s == pytest.approx(0.5, rel=0.01)
    for _ in range(60):
        cost.see(1_000, 1.0)
    assert cost.floor_s + 1_000 * cost.row_s == pytest.approx(1.0, rel=0.05)
