"""Semantic load shedding: from values to loss, to predicates, to both sides of a join (Tatbul 3.7)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cql import compile_script
from penstock.plan.drops import Location, SemanticDrop
from penstock.plan.expressions import format_expression
from penstock.plan.network import Network
from penstock.plan.nodes import Source
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.shed.grid import cells_of, grids
from penstock.shed.mapped import Mapped
from penstock.shed.qos import qos
from penstock.shed.ranges import attributes
from penstock.shed.semantic import Semantic, SemanticShedding
from penstock.shed.watching import watched
from penstock.stats.forgetting import Forgetting
from penstock.stats.histograms import Histogram
from penstock.stats.load import LoadModel, Work
from penstock.stats.snapshot import DropStatistics, Snapshot, StreamStatistics
from penstock.stats.values import Seen, Values
from penstock.testing import Element, evaluate, net

TABLE_3_3 = """CREATE STREAM s (x DOUBLE);
CREATE QUERY q WITH (value = 'x: 0..50 = 0.2, 50..101 = 1') AS SELECT x, x + 1 AS y FROM s"""
TABLE_3_4 = """
CREATE STREAM s1 (x DOUBLE); CREATE STREAM s2 (x DOUBLE);
CREATE QUERY o WITH (value = 'x: 0..50 = 0.25, 50..101 = 1') AS
SELECT s1.x AS x FROM s1 [Range 1 Minute], s2 [Range 1 Minute] WHERE s1.x = s2.x;
"""


def seen(network: Network, low_of: dict[str, float]) -> dict[tuple[object, str], Seen]:
    """Values spread evenly in [0, 50) and [50, 101); the share of the first by the node's label."""
    found = {}
    for each in watched(network):
        edges = np.array([-np.inf, *each.cuts, np.inf])
        low = low_of.get(each.node.label, low_of["else"])
        widths = np.where(np.isfinite(edges[:-1]) & np.isfinite(edges[1:]), edges[1:] - edges[:-1], 0.0)
        counts = np.where(edges[:-1] < 50, widths / 50 * low, widths / 51 * (1 - low))
        histogram = Histogram(each, (*(1000 * counts).tolist(), 0.0), low=0.0, high=101.0)
        found[each.node, each.column] = Seen(histogram, histogram)
    return found


def load_of(script: str, low_of: dict[str, float], cost_s: float = 0.001) -> LoadModel:
    network = optimize(compile_script(script))
    work = {n: Work(cost_s, 1.0) for n in network.nodes() if n.inputs}
    rates = {n.name: 100.0 for n in network.nodes() if isinstance(n, Source)}
    return LoadModel(network, work, rates, values=seen(network, low_of))


def test_section_3_7_1_table_3_3_the_loss_function_that_values_and_frequencies_give() -> None:
    """Intervals 0-50 (u .2, f .4) and 51-100 (u 1, f .6): w .08 and .6, n .12 and .88; the map bends at (60, .88)."""
    load = load_of(TABLE_3_3, {"else": 0.4})
    network = load.network
    found = grids(network, attributes(network, [qos(q) for q in network.queries]))
    cells = cells_of(load, found)
    parts, worth = cells.of(network.query("q").root), cells.worth["q"]
    inside = parts > 0
    assert parts[inside] == pytest.approx([0.4, 0.6])
    assert worth[inside] == pytest.approx([0.08 / 0.68, 0.6 / 0.68])
    road = Mapped(0, Semantic()).road_map(Plan(network), load)
    curve = dict(zip(np.round(road.cursors[:, 0], 6).tolist(), 1 - road.lost, strict=True))
    assert curve[0.6] == pytest.approx(0.88, abs=0.005)
    for share, utility in curve.items():
        expected = 0.8824 + (share - 0.6) / 0.4 * 0.1176 if share >= 0.6 else share / 0.6 * 0.8824
        assert utility == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("drop", "least"), [(0.2, 25.0), (0.7, 75.5)])
def test_section_3_7_2_the_drop_predicate_keeps_what_is_worth_most(drop: float, least: float) -> None:
    """Half the first interval for 20%: value >= 25. All of it and half the second for 70%: the thesis rounds 75.5."""
    load = load_of(TABLE_3_3, {"else": 0.4})
    shedding = SemanticShedding().shed(Plan(load.network), load, drop * load.load())
    ((where, made),) = shedding.drops
    assert isinstance(made, SemanticDrop)
    assert isinstance(where.node, Source)
    assert made.rate == pytest.approx(drop)
    kept = format_expression(made.keep)
    assert f"x >= {least}" in kept
    assert "x < 50" not in kept


def test_section_3_7_3_table_3_4_both_inputs_of_the_join_get_the_same_predicate() -> None:
    """O.x .25/.1 and 1.0/.9; S1 .4/.6, S2 .2/.8: normalised utilities .027 and .973, copied to both inputs."""
    load = load_of(TABLE_3_4, {"stream s1": 0.4, "stream s2": 0.2, "window [Range 1 Minute]": 0.3, "else": 0.1})
    network = load.network
    found = grids(network, attributes(network, [qos(q) for q in network.queries]))
    cells = cells_of(load, found)
    inside = cells.of(network.query("o").root) > 0
    assert cells.worth["o"][inside] == pytest.approx([0.025 / 0.925, 0.9 / 0.925], abs=1e-4)
    shedding = SemanticShedding().shed(Plan(network), load, 0.3 * load.load())
    drops = {at.node.label: drop for at, drop in shedding.drops}
    assert set(drops) == {"stream s1", "stream s2"}
    predicates = {format_expression(d.keep) for d in drops.values() if isinstance(d, SemanticDrop)}
    assert len(predicates) == 1, predicates


def events(count: int, seed: int = 3) -> list[tuple[str, int, dict[str, object]]]:
    drawn = random.Random(seed)
    return [("s", i * 1000, {"x": drawn.uniform(0, 100), "k": drawn.choice("aab")}) for i in range(count)]


def worth(found: Sequence[Element]) -> float:
    return sum(0.2 if e.values["x"] < 50 else 1.0 for e in found)


def inside(found: Sequence[Element], exact: Sequence[Element]) -> bool:
    whole = net(exact)
    return all(count <= whole[key] for key, count in net(found).items())


WHOLE = """
CREATE STREAM s (x DOUBLE, k STRING);
CREATE QUERY q WITH (value = 'x: 0..50 = 0.2, 50..101 = 1') AS SELECT x FROM s WHERE x > 10;
CREATE QUERY c WITH (value = "k: 'a' = 1, else = 0.1") AS SELECT k FROM s;
CREATE QUERY n AS SELECT k, x * 2 AS y FROM s WHERE x < 90;
"""


@pytest.mark.parametrize("excess", [0.1, 0.3, 0.5, 0.8])
def test_semantic_drops_lose_less_value_than_random_ones_and_deliver_a_subset(excess: float) -> None:
    given_ = events(3000)
    exact = evaluate(WHOLE, given_)
    by_policy = {}
    for policy in ("semantic", "random"):
        result = evaluate(WHOLE, given_, shed={"policy": policy, "excess": excess}, batches=300)
        assert all(inside(result[q], exact[q]) for q in result.queries)
        worked = sum(o.rows_in for o in result.stats.operators) / sum(o.rows_in for o in exact.stats.operators)
        assert worked == pytest.approx(1 - excess, abs=0.03)
        by_category = sum(1.0 if e.values["k"] == "a" else 0.1 for e in result["c"])
        whole = sum(1.0 if e.values["k"] == "a" else 0.1 for e in exact["c"])
        by_policy[policy] = (
            worth(result["q"]) / worth(exact["q"]) + by_category / whole + len(result["n"]) / len(exact["n"])
        )
    assert by_policy["semantic"] > by_policy["random"] + 0.02


def test_what_a_filter_throws_away_is_dropped_first_and_costs_nothing() -> None:
    script = """CREATE STREAM s (x DOUBLE, k STRING);
    CREATE QUERY q WITH (value = 'x: 0..50 = 0.2, 50..101 = 1') AS SELECT x, k FROM s WHERE x > 40"""
    given_ = events(2000)
    exact = evaluate(script, given_)
    result = evaluate(script, given_, shed={"policy": "semantic", "excess": 0.2}, batches=100)
    assert net(result["q"]) == net(exact["q"])
    assert sum(d.dropped for d in result.stats.drops) > 300


def test_the_value_of_a_computed_column_is_dropped_at_the_latest_place_where_it_exists() -> None:
    script = """CREATE STREAM s (x DOUBLE, k STRING);
    CREATE QUERY q WITH (value = 'y: 0..100 = 0.2, 100..202 = 1') AS SELECT x * 2 AS y FROM s;
    CREATE QUERY p WITH (value = 'x: 0..50 = 0.2, 50..101 = 1') AS SELECT x, k FROM s"""
    network = optimize(compile_script(script))
    nodes = {(w.node.label, w.column) for w in watched(network)}
    assert ("stream s", "x") in nodes
    assert not any(label == "stream s" and column == "y" for label, column in nodes)
    given_ = events(1000)
    exact = evaluate(script, given_)
    result = evaluate(script, given_, shed={"policy": "semantic", "excess": 0.4})
    assert all(inside(result[q], exact[q]) for q in result.queries)
    assert result.stats.shortfall == pytest.approx(0, abs=1e-6)


@given(st.lists(st.sampled_from(("sem", "rand", "none")), min_size=1, max_size=3), st.integers(0, 5))
@settings(max_examples=15, deadline=None)
def test_predicates_are_ranges_and_rates_are_what_they_drop(kinds: list[str], seed: int) -> None:
    drawn = random.Random(seed)
    bounds = sorted(drawn.sample(range(1, 100), 2))
    value = f"x: 0..{bounds[0]} = {drawn.random():.2f}, {bounds[0]}..{bounds[1]} = {drawn.random():.2f}, else = 0.5"
    queries = "".join(
        f"CREATE QUERY q{i} {f'WITH (value = {value!r})' if kind == 'sem' else ''} AS SELECT x, x + {i} AS y FROM s "
        f"WHERE x > {10 * i};"
        for i, kind in enumerate(kinds)
    )
    script = "CREATE STREAM s (x DOUBLE, k STRING);" + queries
    result = evaluate(script, events(2500, seed), shed={"policy": "semantic", "excess": drawn.uniform(0.05, 0.9)})
    for decision in result.log:
        proposal = getattr(decision, "proposal", None)
        for at, drop in proposal.change.drops if proposal is not None else ():
            counted = next(d for d in result.stats.drops if d.location == at)
            assert counted.dropped / counted.rows_in == pytest.approx(drop.rate, abs=0.06)


def test_values_that_a_drop_takes_are_remembered() -> None:
    """A drop at the source takes a range: what is counted then has none of it, what is known still has it."""
    network = optimize(compile_script(TABLE_3_3))
    (first, *_) = watched(network)
    stream = Location(first.node)
    low, high = first.cuts.index(0.0) + 1, first.cuts.index(50.0) + 1
    forgetting = Forgetting(network, half_life_s=1.0)
    counts = np.zeros(first.bins)
    dropped = 0
    for number in range(12):
        kept_low = 40 if number < 2 else 0
        counts[low] += kept_low
        counts[high] += 60
        dropped += 40 - kept_low
        forgetting.see(
            Snapshot(
                number, float(number), streams=(StreamStatistics("s", 100 * (number + 1), 0, 0, 0, 0, 0, None),),
                drops=(DropStatistics(stream, "semantic", 100 * number, dropped),),
                values=(Histogram(first, tuple(counts.tolist())),),
            )
        )  # fmt: skip
    known = forgetting.model().values[first.node, "x"]
    assert known.whole.parts[[low, high]] == pytest.approx([0.4, 0.6], abs=0.02)
    assert known.observed.parts[low] < 0.05


def test_what_an_operator_passes_is_not_relearnt_while_a_drop_stands_before_it() -> None:
    """A semantic drop on the way into a filter: the filter gets none of a range, and would still pass it."""
    script = """CREATE STREAM s (x DOUBLE);
    CREATE QUERY q WITH (value = 'x: 0..50 = 0.2, 50..101 = 1') AS SELECT x, x + 1 AS y FROM s WHERE x < 101;
    CREATE QUERY r AS SELECT x * 2 AS z FROM s"""
    network = optimize(compile_script(script))
    columns = {w.node.label: w for w in watched(network)}
    stream, passed = columns["stream s"], columns["filter x < 101.0"]
    low, high = stream.cuts.index(0.0) + 1, stream.cuts.index(50.0) + 1
    arc = Location(stream.node, passed.node)
    values, filtered = Values(), np.zeros(stream.bins)
    counts, dropped = np.zeros(stream.bins), 0
    for number in range(8):
        counts[[low, high]] += (40, 60)
        kept = 40 if number < 2 else 0
        filtered[[low, high]] += (kept, 60)
        dropped += 40 - kept
        histograms = (Histogram(stream, tuple(counts.tolist())), Histogram(passed, tuple(filtered.tolist())))
        drops = (DropStatistics(arc, "semantic", 100 * (number + 1), dropped),)
        came = (StreamStatistics("s", 100 * (number + 1), 0, 0, 0, 0, 0, None),)
        values.see(Snapshot(number, float(number), streams=came, drops=drops, values=histograms), 0.5)
    seen = values.seen()[passed.node, "x"]
    assert seen.whole.parts[[low, high]] == pytest.approx([0.4, 0.6], abs=0.02)
    assert seen.observed.parts[low] < 0.1
    assert values.selectivities()[passed.node] == pytest.approx(1.0, abs=0.02)
