"""The change gate and the ledger: what is refused and why, and what became of expectations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.control.change_gate import ChangeGate
from penstock.control.gains import ROWS, Gain
from penstock.control.loop import Decision, Loop
from penstock.cql import compile_script
from penstock.plan.nodes import Filter
from penstock.plan.proposal import Proposal
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, Reorder, SetDrops
from penstock.settings import Settings
from penstock.stats.snapshot import FilterProfile, OperatorStatistics, Snapshot

SCRIPT = "CREATE STREAM s (a INT, b INT); CREATE QUERY q AS SELECT a FROM s WHERE a > 0 AND b > 0"
NETWORK = optimize(compile_script(SCRIPT))
NODE = next(n for n in NETWORK.nodes() if isinstance(n, Filter))


def look(number: int, rows: int, busy_s: float, now_s: float) -> Snapshot:
    return Snapshot(number, now_s, (OperatorStatistics(NODE, rows, 0, 1, busy_s, 0, 0),))


def change(gain: float | None = 1.5) -> Proposal:
    return Proposal(Reorder(NODE, (1, 0)), "better", gain)


def test_a_gain_that_is_small_in_proportion_is_refused() -> None:
    gate = ChangeGate(Settings(min_relative_gain=1.2))
    assert gate.judge("x", change(1.19), look(1, 10, 1.0, 1.0)) == "an expected gain of 1.190 is below 1.2"
    assert gate.judge("x", change(1.2), look(1, 10, 1.0, 1.0)) is None


def test_a_gain_that_saves_the_machine_nothing_is_refused() -> None:
    gate = ChangeGate(Settings(min_absolute_gain=0.01))
    gate.judge("x", change(1.0), look(1, 10, 1.0, 1.0))
    assert "0.001 processor seconds a second" in str(gate.judge("x", change(2.0), look(2, 20, 1.002, 2.0)))
    assert gate.judge("x", change(2.0), look(3, 30, 1.2, 3.0)) is None


def test_of_filters_that_are_asked_elsewhere_the_operators_time_says_nothing() -> None:
    gate = ChangeGate(Settings(min_absolute_gain=0.01))
    nothing = np.zeros(2)
    profile = FilterProfile(NODE, np.empty(0, np.int64), 0, nothing, nothing, outside=True)
    gate.judge("x", change(1.0), look(1, 10, 1.0, 1.0))
    assert gate.judge("x", change(2.0), replace(look(2, 20, 1.002, 2.0), profiles=(profile,))) is None


def test_a_part_cools_down_after_a_change() -> None:
    gate = ChangeGate(Settings(cool_down_s=2.0))
    assert gate.judge("x", change(), look(1, 10, 1.0, 10.0)) is None
    assert "1.000 s ago" in str(gate.judge("x", change(), look(2, 20, 2.0, 11.0)))
    assert gate.judge("x", change(), look(3, 30, 3.0, 12.0)) is None


def test_what_is_no_matter_of_gain_passes() -> None:
    assert ChangeGate().judge("x", Proposal(SetDrops(()), "a promise"), look(1, 1, 1.0, 1.0)) is None


class Once:
    """Proposes an order on the second snapshot."""

    name = "once"

    def propose(self, plan: Plan, snapshot: Snapshot) -> list[Proposal]:
        return [change(2.0)] if snapshot.number == 2 else []


def test_the_log_has_snapshot_expectation_and_the_gain_that_was_measured() -> None:
    loop = Loop(Plan(NETWORK), [Once()], ChangeGate())
    cost_before, cost_after = 4e-6, 1e-6
    rows, busy = 0, 0.0
    for number in range(1, 5):
        rows, busy = rows + ROWS, busy + ROWS * (cost_before if number <= 2 else cost_after)
        loop.step(look(number, rows, busy, float(number)))
    kinds = [type(e).__name__ for e in loop.log]
    assert kinds == ["Snapshot", "Snapshot", "Decision", "Snapshot", "Gain", "Snapshot"]
    (gain,) = [e for e in loop.log if isinstance(e, Gain)]
    assert (gain.plan, gain.strategy, gain.expected) == (1, "once", 2.0)
    assert gain.measured == pytest.approx(4.0)


def test_a_refused_change_is_in_the_log_with_its_reason_and_changes_nothing() -> None:
    loop = Loop(Plan(NETWORK), [Once()], ChangeGate(Settings(min_relative_gain=3.0)))
    for number in (1, 2):
        loop.step(look(number, number * ROWS, number * 1.0, float(number)))
    (decision,) = [e for e in loop.log if isinstance(e, Decision)]
    assert decision.refused == "an expected gain of 2.000 is below 3"
    assert loop.plan == replace(Plan(NETWORK))
