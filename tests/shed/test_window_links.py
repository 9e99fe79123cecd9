"""Windows dropped on all inputs of a join together: the policy proposes it, and the law of window drops holds for
random joins, groups, filters and shared windows, on one lane and on several."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from penstock.cql import compile_script
from penstock.lane.events import Arrival
from penstock.lane.lanes import Lanes
from penstock.lane.reference import Element
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Session, cuts, run
from penstock.plan.drops import Location, Placed, WindowDrop
from penstock.plan.network import Network
from penstock.plan.nodes import Source
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, SetDrops
from penstock.plan.window_reach import reach
from penstock.shed.window_links import Together, alone, linked
from penstock.shed.window_rules import common
from penstock.shed.window_shedding import WindowShedding
from penstock.stats.load import LoadModel, Work
from penstock.testing import evaluate, net

MANY = int(os.environ.get("PENSTOCK_LAW_CASES", "10000"))
_LAW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
STREAMS = """
    CREATE STREAM s (a INT, x INT) WITHIN 0 SECONDS;
    CREATE STREAM t (a INT, y INT) WITHIN 0 SECONDS;
    CREATE STREAM u (a INT, y INT) WITHIN 0 SECONDS;
"""
GROUPS = ("", "s.a", "t.a")


@dataclass(frozen=True)
class Case:
    """A network over joins whose queries bear `gaps`, grouped or not, and what arrives."""

    network: Network
    gaps: dict[str, int]
    grouped: bool
    given: tuple[Arrival, ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """One or two aggregates over one join of two or three streams, or of a stream with itself."""
    joined = draw(st.sampled_from(("s [Range {}], t [Range {}]", "s [Range {}], t [Range {}], u [Range {}]",
                                   "s [Range {}], s [Range {}] AS t")))  # fmt: skip
    sizes = [f"{draw(st.integers(0, 7))} Microseconds" for _ in range(joined.count("{}"))]
    group = draw(st.sampled_from(GROUPS))
    also = " AND t.a = u.a" if "u [" in joined else ""
    view = f"""CREATE VIEW pairs AS ISTREAM(SELECT {f"{group} AS k, " if group else ""}s.x AS x
        FROM {joined.format(*sizes)} WHERE s.a = t.a{also});"""
    queries = []
    for number in range(draw(st.integers(1, 2))):
        slide = draw(st.integers(1, 6))
        size = slide + draw(st.sampled_from((0, 0, 2, 5)))
        where = draw(st.sampled_from(("", " WHERE x > 0")))
        having = draw(st.sampled_from(("", "", " HAVING count(*) > 1")))
        keys = "k, " if group else ""
        queries.append(f"""CREATE QUERY q{number} AS SELECT {keys}count(*) AS n, max(x) AS m FROM pairs
            [Range {size} Microseconds Slide {slide} Microseconds]{where}{" GROUP BY k" if group else ""}{having};""")
    network = optimize(compile_script(STREAMS + view + "".join(queries)))
    gaps = {q.name: draw(st.sampled_from((1, 2, 3, 5, 8))) for q in network.queries}
    given_ = arrivals(Random(draw(st.integers(0, 1 << 32))), [s.name for s in network.streams])
    return Case(network, gaps, bool(group), tuple(given_))


def arrivals(random: Random, names: list[str]) -> list[Arrival]:
    now, events = 0, []
    for seq in range(random.choice((20, 80, 160))):
        now += random.choice((0, 0, 1, 1, 2, 7 if random.random() < 0.2 else 1))
        events.append(Arrival(random.choice(names), now, seq, (random.choice((0, 1, 1, None)), random.randrange(4))))
    return events


def together(network: Network) -> list[Together]:
    """All sets of places from which windows can go together, and places by themselves."""
    sources = [n for n in network.nodes() if isinstance(n, Source)]
    arcs = [Location(n, c, i) for n in sources for c in network.nodes() for i, b in enumerate(c.inputs) if b == n]
    places = [*map(Location, sources), *arcs]
    reached = [(at, found) for at in places if (found := reach(network, at)).why is None]
    return [*linked(reached), *(alone(at, found) for at, found in reached)]


def dropping(each: Together, gaps: dict[str, int], rate: float, seed: int) -> tuple[Placed, ...]:
    grid = common(each.found.needs)
    batch = grid.batch([gaps[n.query] for n in each.found.needs])
    drops = (
        (at, WindowDrop(grid.size, grid.slide, rate, batch, keys, grid.origin, seed, link="l" * (len(each.places) - 1)))
        for at, keys in each.places
    )
    return tuple(drops) if batch else ()


def under(case: Case, drops: tuple[Placed, ...], size: int | None, lanes: int) -> tuple[dict[str, list[Element]], int]:
    """What is delivered, and how many tuples of streams went."""
    network = case.network
    engine = Lane(network, optimized=False) if lanes == 1 else Lanes(network, lanes, optimized=False)
    engine.adopt(Plan(network).apply(SetDrops(drops)))
    session = Session(Job(network, network.streams, (), case.given, size), engine)
    for batch in cuts(case.given, size):
        session.batch(batch)
    session.end()
    return session.outcome.elements, sum(d.dropped for d in engine.snapshot().drops)


def broken(case: Case, query: str, found: list[Element], exact: list[Element]) -> str:
    more = Counter((e.ts, e.row) for e in found) - Counter((e.ts, e.row) for e in exact)
    if more:
        return f"{more} is not in the exact answer"
    there = {(e.ts, e.row[0] if case.grouped else None) for e in found}
    missing: defaultdict[object, int] = defaultdict(int)
    for e in sorted(exact, key=lambda e: e.ts):
        group = e.row[0] if case.grouped else None
        missing[group] = 0 if (e.ts, group) in there else missing[group] + 1
        if missing[group] > case.gaps[query]:
            return f"more than {case.gaps[query]} results of {group} in a row are missing at {e.ts}"
    return ""


# Without groups, several lanes join in one fragment and aggregate in the next: there a window's tuples are those that
# were joined, and others may be dropped than on one lane.
def check(case: Case, data: st.DataObject) -> None:
    exact = run(Job(case.network, case.network.streams, (), case.given), Lane(case.network, optimized=False)).elements
    each = data.draw(st.sampled_from(together(case.network)))
    drops = dropping(each, case.gaps, data.draw(st.sampled_from((0.3, 0.7, 1.0))), data.draw(st.integers(0, 9)))
    found, gone = under(case, drops, data.draw(st.sampled_from((None, 1, 7, 30))), 1)
    lanes = data.draw(st.sampled_from((1, 2, 3)))
    spread, _ = under(case, drops, data.draw(st.sampled_from((None, 1, 13))), lanes)
    for query in found:
        wrong = broken(case, query, found[query], exact[query]) or broken(case, query, spread[query], exact[query])
        assert not wrong, f"{query} under {[(str(at), d) for at, d in drops]}: {wrong}"
        if lanes == 1 or case.grouped:
            assert sorted(map(repr, spread[query])) == sorted(map(repr, found[query]))
    event("dropped" if gone else "nothing dropped")


@given(cases(), st.data())
@_LAW
def test_7_1_4_the_law_of_window_drops_holds_across_joins(case: Case, data: st.DataObject) -> None:
    check(case, data)


@pytest.mark.slow
@given(cases(), st.data())
@settings(_LAW, max_examples=MANY, phases=[Phase.explicit, Phase.generate, Phase.shrink], derandomize=False)
def test_7_1_4_the_law_of_window_drops_holds_across_joins_at_length(case: Case, data: st.DataObject) -> None:
    check(case, data)


SCRIPT = """
CREATE STREAM s (a INT, x INT);
CREATE STREAM t (a INT, y INT);
CREATE QUERY q WITH (max_gap = 12) AS SELECT k, count(*) AS n FROM
    (ISTREAM(SELECT s.a AS k FROM s [Range 2 Milliseconds], t [Range 3 Milliseconds] WHERE s.a = t.a))
    [Range 20 Milliseconds Slide 20 Milliseconds] GROUP BY k;
"""


def test_the_policy_drops_on_both_sides_of_a_join() -> None:
    network = optimize(compile_script(SCRIPT))
    work = {n: Work(1e-3, 1.0) for n in network.nodes() if n.inputs}
    load = LoadModel(network, work, {"s": 100.0, "t": 100.0})
    drops = WindowShedding().shed(Plan(network), load, 0.5 * load.load()).drops
    assert sorted(at.node.label for at, _ in drops) == ["stream s", "stream t"]
    assert len({d.grid for _, d in drops if isinstance(d, WindowDrop)}) == 1


@pytest.mark.parametrize("lanes", [1, 2])
def test_the_excess_goes_on_both_sides_and_the_gap_holds(lanes: int) -> None:
    drawn = Random(3)
    events = [("st"[i % 2], i * 100, {"a": drawn.randrange(2), "xy"[i % 2]: 1}) for i in range(8000)]
    exact = evaluate(SCRIPT, events)
    result = evaluate(SCRIPT, events, batches=[500, 77], lanes=lanes, shed={"policy": "window", "excess": 0.5}, seed=1)
    again = evaluate(SCRIPT, events, batches=None, shed={"policy": "window", "excess": 0.5}, seed=1)
    assert net(result["q"]) == net(again["q"])
    whole = net(exact["q"])
    assert all(count <= whole.get(key, 0) for key, count in net(result["q"]).items())
    lost = {d.location.node.label: d.dropped for d in result.stats.drops if not d.location.node.inputs}
    assert all(lost[f"stream {name}"] > 1000 for name in "st")
    assert sum(o.rows_in for o in result.stats.operators) < 0.75 * sum(o.rows_in for o in exact.stats.operators)
