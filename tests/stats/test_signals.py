"""The practical signals of overload (Tatbul 3.3.2)."""

from __future__ import annotations

from penstock.plan.expressions import TRUE
from penstock.plan.nodes import Delay, Join, Source, Window
from penstock.plan.schema import Schema
from penstock.plan.windows import Range
from penstock.stats.batches import BatchStatistics, DelayStatistics
from penstock.stats.signals import Look, Signals
from penstock.stats.snapshot import OperatorStatistics, Overload, Snapshot

S, T = (Source(n, Schema.parse("a int")) for n in "st")
BOX = Delay(S, 0.1)
JOIN = Join((Window(S, Range(5)), Window(T, Range(5))), TRUE)


def judged(looks: list[Look]) -> str | None:
    signals = Signals(periods=3)
    return [signals.overloaded(look) for look in looks][-1]


def test_a_processor_that_is_not_busy_is_not_overloaded() -> None:
    assert judged([Look(0.7, {(BOX, 0): n}) for n in (1, 5, 9)]) is None


def test_queues_that_grow_all_the_time_say_overload() -> None:
    assert judged([Look(1.0, {(BOX, 0): n}) for n in (1, 5, 9)]) == "queues grow"
    assert judged([Look(1.0, {(BOX, 0): n}) for n in (1, 5, 5)]) is None


def test_a_join_that_waits_for_one_input_is_no_overload() -> None:
    """Growing on the fast arc alone it is blocked; on both, overloaded."""
    assert judged([Look(1.0, {(JOIN, 0): n, (JOIN, 1): 0}) for n in (10, 20, 30)]) is None
    assert judged([Look(1.0, {(JOIN, 0): n, (JOIN, 1): n}) for n in (10, 20, 30)]) == "queues grow"
    both = [Look(1.0, {(JOIN, 0): n, (JOIN, 1): 0, (BOX, 0): n}) for n in (10, 20, 30)]
    assert judged(both) == "queues grow"


def test_latencies_count_where_nothing_is_known_of_queues() -> None:
    assert judged([Look(1.0, latency_s=s) for s in (1.0, 2.0, 3.0)]) == "latencies grow"
    assert judged([Look(1.0, {(BOX, 0): 5}, s) for s in (1.0, 2.0, 3.0)]) is None


def looked(number: int, waits: int, busy_s: float) -> Snapshot:
    operator = OperatorStatistics(JOIN, 10 * number, 0, number, busy_s * number, 2 * waits, 0, (waits, waits))
    return Snapshot(number, float(number), (operator,))


def batch(number: int, took_s: float, delay_s: float) -> Snapshot:
    delays = (DelayStatistics("q", 5, delay_s, delay_s, delay_s, delay_s),)
    told = BatchStatistics(number, 5, {"gate": took_s / 2, "lanes": took_s / 2}, took_s, delays, took_s=took_s)
    return Snapshot(number, float(number), batch=told)


def said(snapshots: list[Snapshot]) -> list[Overload | None]:
    signals = Signals(periods=3)
    return [signals.given(s).overload for s in snapshots]


def test_snapshots_of_a_network_say_it() -> None:
    assert [o and o.why for o in said([looked(n, 10 * n, 1.0) for n in range(5)])] == [None] * 3 + ["queues grow"] * 2
    assert said([looked(n, 10 * n, 0.5) for n in range(5)])[1:] == [Overload(0.5)] * 4


def test_batches_that_take_all_the_time_and_answer_later_and_later_say_it() -> None:
    last = said([batch(n, 0.99, 1.0 + n) for n in range(5)])[-1]
    assert last == Overload(0.99, "latencies grow")
    assert said([batch(n, 0.99, 2.0) for n in range(5)])[-1] == Overload(0.99)
    assert said([batch(n, 0.3, 1.0 + n) for n in range(5)])[-1] == Overload(0.3)
