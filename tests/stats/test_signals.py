"""The practical signals of overload (Tatbul 3.3.2)."""

from __future__ import annotations

from penstock.plan.expressions import TRUE
from penstock.plan.nodes import Delay, Join, Source, Window
from penstock.plan.schema import Schema
from penstock.plan.windows import Range
from penstock.stats.signals import Look, Signals

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
