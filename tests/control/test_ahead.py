"""Batches that are decided before they are let in: what is learned when costs seem higher than they are."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.ahead import COLD_ROWS, Ahead
from penstock.control.coming import Coming
from penstock.control.steer import Wishes, steer_run
from penstock.cql import compile_script
from penstock.plan.drops import AgeDrop, RandomDrop
from penstock.plan.nodes import Filter
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.settings import Settings
from penstock.stats.batches import BatchStatistics
from penstock.stats.snapshot import OperatorStatistics, Snapshot, StreamStatistics

NETWORK = optimize(compile_script(
    "CREATE STREAM s (a INT); CREATE QUERY q WITH (delay = '2 seconds') AS SELECT a FROM s WHERE a > 1"))  # fmt: skip
FILTER = next(n for n in NETWORK.nodes() if isinstance(n, Filter))


def strategy() -> Ahead:
    loop = steer_run(NETWORK, Wishes(shed={"policy": "random"}), 2, Settings())
    assert loop is not None
    (found,) = loop.strategies
    assert isinstance(found, Ahead)
    return found


class Machine:
    """Two lanes that take `train_s` for a train and `row_s` for a row, beside 0.1 s for a batch."""

    def __init__(self, row_s: float, train_s: float) -> None:
        self.row_s, self.train_s = row_s, train_s
        self.rows = self.kept = 0
        self.busy_s = self.now_s = 0.0
        self.number = 0

    def run(self, kept: int, came: int) -> Snapshot:
        spent_s = self.train_s + kept * self.row_s
        took_s = 0.1 + spent_s / 2
        self.rows, self.kept, self.busy_s = self.rows + came, self.kept + kept, self.busy_s + spent_s
        self.now_s, self.number = self.now_s + took_s, self.number + 1
        operator = OperatorStatistics(FILTER, self.kept, self.kept, self.number, self.busy_s, 0, 0)
        stream = StreamStatistics("s", self.rows, 0, 0, 0, 0, 0, None)
        batch = BatchStatistics(self.number, came, {"lanes": spent_s / 2, "gate": 0.1}, took_s=took_s)
        return replace(Snapshot(self.number, self.now_s, (operator,), (stream,)), batch=batch)


def decided(ahead: Ahead, plan: Plan, coming: Coming) -> tuple[Plan, float]:
    """The plan of the batch that comes, and how many of its rows stay."""
    kept = float(sum(coming.rows.values()))
    for proposal in ahead.foresee(plan, coming):
        plan = plan.apply(proposal.change)
    for _, drop in plan.drops:
        assert isinstance(drop, RandomDrop | AgeDrop)
        kept *= 1 - drop.rate
    return plan, kept


def burst(ahead: Ahead, machine: Machine, rate: float, batches: int) -> list[tuple[int, float]]:
    """Rows kept and the time taken of batch after batch."""
    found = []
    gathered_s = 0.5
    plan = Plan(NETWORK)
    for _ in range(batches):
        came = round(rate * gathered_s)
        coming = Coming(now_s=machine.now_s, now_us=0, rows={"s": came}, gathered_s=gathered_s, waited_s=gathered_s,
                        floor_s=0.1)  # fmt: skip
        plan, kept = decided(ahead, plan, coming)
        snapshot = machine.run(round(kept), came)
        ahead.propose(plan, snapshot)
        assert snapshot.batch is not None and snapshot.batch.took_s is not None
        gathered_s = snapshot.batch.took_s
        found.append((round(kept), gathered_s))
    return found


def test_the_first_batch_lets_in_what_it_takes_to_learn() -> None:
    ((kept, _),) = burst(strategy(), Machine(1e-4, 0.0), 100_000, 1)
    assert abs(kept - COLD_ROWS) < 100


def test_a_burst_is_thinned_to_what_two_lanes_can_do_in_half_of_the_target() -> None:
    batches = burst(strategy(), Machine(1e-4, 0.0), 80_000, 30)
    late = batches[-10:]
    assert all(0.6 < took < 1.05 for _, took in late)
    assert sum(kept for kept, _ in late) / sum(took for _, took in late) > 0.8 * 20_000


def test_costs_that_a_cold_start_has_inflated_do_not_last() -> None:
    ahead, machine = strategy(), Machine(1e-4, 0.0)
    machine.train_s = 2.0
    burst(ahead, machine, 80_000, 1)
    machine.train_s = 0.01
    batches = burst(ahead, machine, 80_000, 40)
    kept, took = (sum(b[i] for b in batches[-10:]) for i in (0, 1))
    assert kept / took > 0.75 * 20_000
    assert max(t for _, t in batches[-10:]) < 1.1


LEAD_S = 0.2


def overlapped(ahead: Ahead, machine: Machine, rate: float, batches: int) -> list[tuple[int, float, float]]:
    """Rows kept, the time that the lanes took, and the response time of the oldest row, where Spark forms each batch
    `LEAD_S` before the lanes are through with the one before."""
    found, plan, before = [], Plan(NETWORK), None
    gathered_s, free_s = 0.5, LEAD_S
    for _ in range(batches):
        came = round(rate * gathered_s)
        formed_s = free_s - LEAD_S
        coming = Coming(now_s=formed_s, now_us=0, rows={"s": came}, gathered_s=gathered_s, waited_s=gathered_s,
                        ahead_s=LEAD_S)  # fmt: skip
        plan, kept = decided(ahead, plan, coming)
        if before is not None:
            ahead.propose(plan, before)
        before = machine.run(round(kept), came)
        assert before.batch is not None
        lanes_s = before.batch.seconds["lanes"]
        found.append((round(kept), lanes_s, free_s + lanes_s - (formed_s - gathered_s)))
        gathered_s, free_s = max(0.05, lanes_s), free_s + max(0.05, lanes_s)
    return found


def test_batches_that_overlap_keep_the_lanes_busy_and_the_target() -> None:
    late = overlapped(strategy(), Machine(1e-4, 0.01), 80_000, 40)[-20:]
    assert sum(kept for kept, _, _ in late) / sum(took for _, took, _ in late) > 0.95 * 20_000
    assert max(answered for _, _, answered in late) < 2.0
    assert min(took for _, took, _ in late) > 0.6


def test_what_an_earlier_run_has_left_is_skipped_before_anything_is_known() -> None:
    ahead = strategy()

    def skipped(young: int) -> list[int]:
        coming = Coming(now_s=0.0, now_us=60_000_000, rows={"s": 90_000}, gathered_s=8.0, waited_s=8.0,
                        young=lambda age_s: {"s": young})  # fmt: skip
        plan, _ = decided(ahead, Plan(NETWORK), coming)
        return [d.before for _, d in plan.drops if isinstance(d, AgeDrop)]

    assert skipped(0) == skipped(500) == [58_000_000]
    ahead.propose(Plan(NETWORK), replace(Snapshot(1, 1.0), batch=BatchStatistics(1, 0, {}, took_s=0.1)))
    assert skipped(0) == [] and skipped(500) == [58_000_000]
