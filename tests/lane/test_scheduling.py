"""The two tables of Babu 2.3.2, in virtual time, in the real lane: delay boxes for the costs, filters for the
selectivities. A batch of `N` rows arrives at every time unit from 0 to 6; one earlier batch lets the lane measure."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError
from penstock.lane.clock import VirtualClock
from penstock.lane.rows import train_of
from penstock.lane.runtime import Lane
from penstock.lane.schedulers import SCHEDULERS, scheduler
from penstock.plan.expressions import Column, Literal
from penstock.plan.functions import call
from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Filter, Source
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT

N = 1000
S = Source("s", Schema.parse("a bigint"))


def box(node: Node, rows: float, keep_below: int | None) -> Node:
    """An operator that takes one time unit for `rows` rows and keeps those whose value is below `keep_below`."""
    delayed = Delay(node, 1 / rows)
    if keep_below is None:
        return delayed
    return Filter(delayed, call("<", Column("a", BIGINT), Literal(keep_below, BIGINT)))


BURSTY = box(box(S, N, 200), 0.2 * N, 0)
BLOCKED = box(box(box(S, N, 900), 0.9 * N, None), 0.9 * N, 0)


def queue_sizes(plan: Node, name: str) -> list[float]:
    """Total queue size at the times 0 to 6, in batches, after the arrival."""
    lane = in_virtual_time(plan, name)
    arrive(lane, 0)
    lane.run()
    start = lane.clock.now()
    sizes = []
    for t in range(7):
        arrive(lane, t + 1)
        sizes.append(lane.observer.queued() / N)
        while lane.clock.now() < start + t + 1 and lane.step():
            pass
    return sizes


def in_virtual_time(plan: Node, name: str) -> Lane:
    network = Network(queries=(Query("q", plan),))
    return Lane(network, scheduler=name, train_rows=N, clock=VirtualClock(), optimized=False)


def arrive(lane: Lane, instant: int) -> None:
    rows = [(i % N,) for i in range(N)]
    lane.push("s", train_of(S.schema, rows, [instant] * N, range(N), lane.dictionaries), instant + 1)


def average(sizes: list[float]) -> float:
    return round(sum(sizes) / len(sizes), 1)


def test_babu_2_3_2_bursty_arrivals_fifo() -> None:
    sizes = queue_sizes(BURSTY, "fifo")
    assert sizes == pytest.approx([1.0, 1.2, 2.0, 2.2, 3.0, 3.2, 4.0])
    assert average(sizes) == 2.4


@pytest.mark.parametrize("name", ["greedy", "chain"])
def test_babu_2_3_2_bursty_arrivals_greedy(name: str) -> None:
    sizes = queue_sizes(BURSTY, name)
    assert sizes == pytest.approx([1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2])
    assert average(sizes) == 1.6


@pytest.mark.parametrize("name", ["fifo", "chain"])
def test_babu_2_3_2_a_blocked_operator_fifo(name: str) -> None:
    sizes = queue_sizes(BLOCKED, name)
    assert sizes == pytest.approx([1.0, 1.9, 2.9, 3.0, 3.9, 4.9, 5.0])
    assert average(sizes) == 3.2


def test_babu_2_3_2_a_blocked_operator_greedy() -> None:
    sizes = queue_sizes(BLOCKED, "greedy")
    assert sizes == pytest.approx([1.0, 1.9, 2.8, 3.7, 4.6, 5.5, 6.4])
    assert average(sizes) == 3.7


@pytest.mark.parametrize("name", list(SCHEDULERS))
def test_queues_are_empty_in_the_end(name: str) -> None:
    lane = in_virtual_time(BURSTY, name)
    for t in range(7):
        arrive(lane, t)
    assert lane.observer.queued() == 7 * N
    lane.run()
    assert lane.observer.queued() == 0
    assert lane.clock.now() == pytest.approx(14)


def test_an_unknown_scheduler_is_refused() -> None:
    with pytest.raises(PenstockError, match="unknown scheduler 'fifi'"):
        scheduler("fifi")
