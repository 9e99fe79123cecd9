"""The account that is given of shedding: input = kept + dropped everywhere, and what each query lost by it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.control.accounts import balance
from penstock.control.loop import Loop
from penstock.control.steer import Wishes, steer
from penstock.cql import compile_script
from penstock.lane.events import Inputs, arrivals
from penstock.lane.lanes import Lanes
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Session, cuts
from penstock.plan.network import Network
from penstock.stats.snapshot import Snapshot
from penstock.testing import Result, evaluate

SCRIPT = """
CREATE STREAM s (x DOUBLE, k STRING);
CREATE STREAM t (x DOUBLE, k STRING);
CREATE QUERY few WITH (loss = '100: 1, 50: 0.9, 0: 0') AS SELECT k, x FROM s WHERE x > 30;
CREATE QUERY worth WITH (value = 'x: 0..50 = 0.2, 50..101 = 1') AS SELECT x, k FROM s WHERE x < 90;
CREATE QUERY total WITH (answer = 'estimate') AS
    SELECT sum(x) AS total FROM t [Range 100 Milliseconds Slide 100 Milliseconds];
CREATE QUERY pairs AS SELECT s.k AS k FROM s [Range 2 Milliseconds], t [Range 2 Milliseconds] WHERE s.k = t.k;
"""


def events(count: int) -> list[tuple[str, int, dict[str, Any]]]:
    drawn = random.Random(8)
    return [("st"[i % 2], i * 1000, {"x": drawn.uniform(0, 100), "k": drawn.choice("abcd")}) for i in range(count)]


GIVEN = events(2400)
EXACT = evaluate(SCRIPT, GIVEN)


@pytest.mark.parametrize("policy", ["auto", "random", "semantic", "sampling", "input-uniform"])
@pytest.mark.parametrize("lanes", [1, 2])
def test_at_every_drop_and_operator_the_counts_add_up(policy: str, lanes: int) -> None:
    result = evaluate(SCRIPT, GIVEN, shed={"policy": policy, "excess": 0.4}, batches=200, lanes=lanes)
    for snapshot in result.log:
        if isinstance(snapshot, Snapshot):
            assert not balance(snapshot), balance(snapshot)
            assert all(d.rows_in == d.kept + d.dropped for d in snapshot.drops)
    assert sum(d.dropped for d in result.stats.drops) == sum_of_periods(result)
    assert {s.name: s.rows for s in result.stats.streams} == {"s": 1200, "t": 1200}


def sum_of_periods(result: Result) -> int:
    """What the accounts of all periods say was dropped, each place once."""
    found: dict[tuple[int, str, str], int] = {}
    for number, snapshot in enumerate(e for e in result.log if isinstance(e, Snapshot)):
        for account in snapshot.accounts:
            for drop in account.dropped:
                found[number, drop.location, drop.reason] = drop.dropped
    return sum(found.values())


def test_a_querys_account_says_what_it_got_and_what_it_lost() -> None:
    result = evaluate(SCRIPT, GIVEN, shed={"policy": "auto", "excess": 0.5}, batches=400)
    for query in result.queries:
        mine = [a for a in result.accounts if a.query == query]
        assert sum(a.delivered for a in mine) == len(result[query])
        share = len(result[query]) / len(EXACT[query])
        if query != "total":
            assert mine[-2].share == pytest.approx(share, abs=0.12)
    last = {a.query: a for a in result.accounts if a.delivered}
    assert last["few"].tuple_utility == pytest.approx(min(1.0, 0.8 + 0.2 * last["few"].share), abs=0.1)
    assert last["total"].error is not None
    assert last["total"].error > 0
    assert last["worth"].value_utility is not None
    assert last["worth"].value_utility >= last["worth"].share
    assert last["worth"].lost == 1 - last["worth"].value_utility
    assert last["few"].gap_us >= 1000
    assert {d.reason for a in result.accounts for d in a.dropped} >= {"sampling"}


def test_value_utility_is_the_value_that_is_delivered() -> None:
    """Of what the exact answer is worth, by its own intervals (Tatbul 3.8.1)."""
    result = evaluate(SCRIPT, GIVEN, shed={"policy": "semantic", "excess": 0.6}, batches=600)
    worth = {q: sum(0.2 if e.values["x"] < 50 else 1.0 for e in r["worth"]) for q, r in (("a", result), ("b", EXACT))}
    said = [a.value_utility for a in result.accounts if a.query == "worth"][-2]
    assert said == pytest.approx(worth["a"] / worth["b"], abs=0.1)


def test_nothing_is_lost_where_nothing_is_dropped() -> None:
    result = evaluate(SCRIPT, GIVEN, shed={"policy": "auto", "excess": 0.0}, batches=800)
    assert {(a.share, a.tuple_utility) for a in result.accounts} == {(1.0, 1.0)}
    assert all(not a.dropped and a.error in (None, 0.0) for a in result.accounts)
    assert all(a.value_utility in (None, pytest.approx(1.0, abs=0.02)) for a in result.accounts)


@pytest.mark.parametrize("lanes", [1, 2])
def test_modes_are_switched_while_the_network_runs(lanes: int) -> None:
    network = compile_script(SCRIPT)
    job = Job(network, network.streams, network.relations, arrivals(Inputs(network), GIVEN), 200)
    loop = steered(network)
    session = Session(job, Lane(network) if lanes == 1 else Lanes(network, lanes), loop)
    dropped: dict[str, int] = {}
    before = 0
    for number, batch in enumerate(cuts(job.given, 200)):
        mode = ("on", "monitor", "off", "on")[number // 3]
        loop.mode = mode
        session.batch(batch)
        now = sum(d.dropped for d in session.outcome.log[-1].drops)
        if number % 3:
            dropped[mode] = dropped.get(mode, 0) + now - before
        before = now
    assert dropped["on"] > 100
    assert (dropped["monitor"], dropped["off"]) == (0, 0)


def steered(network: Network) -> Loop:
    job = Job(network, network.streams, network.relations, arrivals(Inputs(network), GIVEN[:400]))

    def rehearsal() -> Snapshot:
        session = Session(job, Lane(network))
        session.batch(job.given)
        return session.outcome.log[-1]

    loop = steer(network, Wishes({"policy": "random", "excess": 0.5}), rehearsal)
    assert loop is not None
    return loop
