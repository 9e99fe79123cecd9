"""The operator itself: p's share, groups with their own p and B, drops on both sides of a join, and running networks
that change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cql import compile_script
from penstock.lane.events import Arrival
from penstock.lane.lanes import Lanes
from penstock.lane.reference import Element
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Session, cuts, run
from penstock.operators.drops.window_kernel import BLOCK, comes_up
from penstock.plan.drops import Location, Placed, WindowDrop
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.nodes import Source
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, SetDrops
from penstock.plan.window_reach import reach

GROUPED = optimize(compile_script("""
    CREATE STREAM s (k STRING, x INT) WITHIN 0 SECONDS;
    CREATE QUERY q AS SELECT k, count(*) AS n FROM s [Range 4 Microseconds Slide 4 Microseconds] GROUP BY k;
"""))  # fmt: skip
JOINED = optimize(compile_script("""
    CREATE STREAM s (a INT, x INT) WITHIN 0 SECONDS;
    CREATE STREAM t (a INT, y INT) WITHIN 0 SECONDS;
    CREATE VIEW pairs AS ISTREAM(SELECT s.a AS a, x, y FROM s [Range 3 Microseconds], t [Range 5 Microseconds]
                                 WHERE s.a = t.a);
    CREATE QUERY q AS SELECT count(*) AS n, max(x) AS m FROM pairs [Range 8 Microseconds Slide 4 Microseconds];
"""))  # fmt: skip
COUNTED = optimize(compile_script("""
    CREATE STREAM s (a INT, x INT) WITHIN 0 SECONDS;
    CREATE STREAM t (a INT, y INT) WITHIN 0 SECONDS;
    CREATE VIEW pairs AS ISTREAM(SELECT s.a AS a, x, y FROM s [Rows 3], t [Range 5 Microseconds] WHERE s.a = t.a);
    CREATE QUERY q AS SELECT count(*) AS n FROM pairs [Range 8 Microseconds Slide 4 Microseconds];
"""))  # fmt: skip


def source(network: Network, name: str) -> Node:
    return next(n for n in network.nodes() if isinstance(n, Source) and n.name == name)


def delivered(
    network: Network, events: Sequence[Arrival], drops: tuple[Placed, ...], size: int | None = None, lanes: int = 1
) -> list[Element]:
    engine = Lane(network, optimized=False) if lanes == 1 else Lanes(network, lanes, optimized=False)
    engine.adopt(Plan(network).apply(SetDrops(drops)))
    return run(Job(network, network.streams, (), events, size), engine).elements["q"]


@given(st.integers(0, 50), st.integers(), st.floats(0, 1), st.integers(-1000, 1000))
def test_coins_come_up_as_often_as_they_should(seed: int, group: int, rate: float, block: int) -> None:
    name = group % (1 << 62)
    hits = sum(comes_up(seed, name, block * BLOCK + i, rate) for i in range(BLOCK))
    assert abs(hits - rate * BLOCK) <= 1 + 1e-6


@pytest.mark.parametrize("rate", [0.1, 0.35, 0.5, 0.75])
@pytest.mark.parametrize("batch", [1, 3, 10])
def test_the_share_of_dropped_windows_is_p(rate: float, batch: int) -> None:
    rate = min(rate, batch / (batch + 1))
    events = [Arrival("s", t, t, ("a", t)) for t in range(16_000)]
    at = Location(source(GROUPED, "s"))
    found = delivered(GROUPED, events, ((at, WindowDrop(4, 4, rate, batch, ("k",), seed=5)),))
    assert 1 - len(found) / 4000 == pytest.approx(rate, abs=0.02)


def test_example_4_10_1_groups_have_their_own_p_and_batch() -> None:
    events = [Arrival("s", i // 3, i, ("abc"[i % 3], i)) for i in range(3 * 8000)]
    drop = WindowDrop(4, 4, 0.5, 10, ("k",), seed=1, rates=((("a",), 0.0), (("b",), 0.2)), batches=((("c",), 2),))
    found = delivered(GROUPED, events, ((Location(source(GROUPED, "s")), drop),))
    counts = Counter(e.row[0] for e in found)
    assert counts["a"] == 2000
    assert 1 - counts["b"] / 2000 == pytest.approx(0.2, abs=0.03)
    assert 1 - counts["c"] / 2000 == pytest.approx(0.5, abs=0.03)
    gaps: defaultdict[str, int] = defaultdict(int)
    last: dict[str, int] = {}
    for e in found:
        gaps[e.row[0]] = max(gaps[e.row[0]], (e.ts - last.get(e.row[0], e.ts)) // 4 - 1)
        last[e.row[0]] = e.ts
    assert (gaps["b"], gaps["c"]) == (10, 2)


def pairs(random: Random, count: int) -> list[Arrival]:
    now, events = 0, []
    for seq in range(count):
        now += random.choice((0, 0, 1, 1, 2, 7))
        events.append(Arrival(random.choice("st"), now, seq, (random.choice((0, 1)), random.randrange(4))))
    return events


def linked(rate: float, batch: int, seed: int) -> tuple[Placed, ...]:
    """Drops on both sides that keep [T - the longest join window, T + size)."""
    places = [Location(source(JOINED, name)) for name in "st"]
    needs = [reach(JOINED, at).needs[0] for at in places]
    origin = min(n.origin for n in needs)
    size = max(n.origin + n.size for n in needs) - origin
    drop = WindowDrop(size, 4, rate, batch, (), origin, seed, link="pairs")
    return tuple((at, drop) for at in places)


@given(st.integers(0, 1 << 32), st.sampled_from((0.3, 0.7, 1.0)), st.integers(1, 9), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_7_1_4_drops_on_both_sides_of_a_join_go_together(seed: int, rate: float, batch: int, coin: int) -> None:
    events = pairs(Random(seed), 150)
    exact = delivered(JOINED, events, ())
    found = delivered(JOINED, events, linked(rate, batch, coin), Random(seed).choice((None, 1, 13)))
    assert not Counter((e.ts, e.row) for e in found) - Counter((e.ts, e.row) for e in exact)
    there, missing = {e.ts for e in found}, 0
    for e in exact:
        missing = 0 if e.ts in there else missing + 1
        assert missing <= batch


def test_a_join_loses_tuples_on_both_sides() -> None:
    events = pairs(Random(1), 1500)
    lane = Lane(JOINED, optimized=False)
    lane.adopt(Plan(JOINED).apply(SetDrops(linked(0.6, 12, 3))))
    run(Job(JOINED, JOINED.streams, (), events, 500), lane)
    lost = {d.location.node.label: d.dropped for d in lane.snapshot().drops}
    assert lost["stream s"] > 50
    assert lost["stream t"] > 50


def test_no_window_drop_across_a_join_of_rows() -> None:
    why = reach(COUNTED, Location(source(COUNTED, "s"))).why
    assert why is not None
    assert "Rows 3" in why


@pytest.mark.parametrize("first", [True, False])
def test_sharing_can_be_switched_while_windows_are_dropped(first: bool) -> None:
    events = [Arrival("s", i // 2, i, ("ab"[i % 2], i)) for i in range(2000)]
    exact = {(e.ts, e.row) for e in delivered(GROUPED, events, ())}
    at = Location(source(GROUPED, "s"))
    lane = Lane(replace(GROUPED, sharing=first), optimized=False)
    lane.adopt(Plan(GROUPED).apply(SetDrops(((at, WindowDrop(4, 4, 0.6, 5, ("k",), seed=2)),))))
    session = Session(Job(GROUPED, GROUPED.streams, (), events, 101), lane)
    for number, batch in enumerate(cuts(events, 101)):
        session.batch(batch)
        lane.share((number % 2 == 0) is not first)
    session.end()
    found = session.outcome.elements["q"]
    assert {(e.ts, e.row) for e in found} < exact
