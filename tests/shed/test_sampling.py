"""Sampling with an error bound (Babcock, Datar, Motwani): rates, places, unbiased answers, errors that hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.drops import Location, RandomDrop
from penstock.plan.estimates import why_not
from penstock.plan.nodes import Source
from penstock.plan.rewrites import optimize
from penstock.shed.bounds import HOEFFDING, VARIANCE, Bound
from penstock.shed.qos import qos
from penstock.shed.samplers import samplers
from penstock.shed.sampling import Subject, allocate
from penstock.stats.load import LoadModel
from penstock.testing import Result, evaluate
from tests.shed.networks import Boxes, source, trees


def test_babcock_3_2_example_1_shed_a_fifth_before_a_and_three_eighths_before_b() -> None:
    """Effective rates .5 and .8: keep .8 before A, .625 before B, all before C."""
    boxes, s = Boxes(), source()
    a = boxes.box(s, 1.0)
    b, c = boxes.box(a, 1.0), boxes.box(a, 1.0)
    load = boxes.load({"q1": b, "q2": c}, {"s": 1.0})
    kept = {at: 1 - drop.rate for at, drop in samplers(load, {"q1": 0.5, "q2": 0.8})}
    assert kept == {Location(s): pytest.approx(0.8), Location(a, b): pytest.approx(0.625)}


@pytest.mark.parametrize(("mu", "sigma", "n", "epsilon", "delta"), [(10, 5, 1000, 0.1, 0.01), (1, 0, 200, 0.2, 0.05)])
def test_babcock_equation_2_has_the_logarithm_under_the_root(
    mu: float, sigma: float, n: int, epsilon: float, delta: float
) -> None:
    expected = sqrt((sigma**2 + mu**2) / (2 * n * mu**2) * log(2 / delta)) / epsilon
    assert HOEFFDING.rate(epsilon, (sigma**2 + mu**2) / (n * mu**2), delta) == pytest.approx(min(1.0, expected))
    assert HOEFFDING.rate(1e-4, 1.0, delta) == 1.0


@pytest.mark.parametrize("bound", [HOEFFDING, VARIANCE])
def test_a_bounds_rate_is_the_inverse_of_its_error(bound: Bound) -> None:
    for scatter in (1e-4, 1e-2):
        for rate in (0.1, 0.5, 0.9):
            assert bound.rate(bound.error(rate, scatter, 0.05), scatter, 0.05) == pytest.approx(rate)


def needed(load: LoadModel, left: Mapping[Location, float]) -> float:
    """What is needed when these shares of the stream are left at the places."""
    total = 0.0
    for node in load.nodes:
        if node.inputs:
            at = Location(node.inputs[0], node)
            total += load.of(node).cost_s * load.rate(Location(node.inputs[0])) * left[at]
    return total


@given(trees(), st.data())
@settings(max_examples=40, deadline=None)
def test_babcock_theorem_1_no_placement_with_the_same_effective_rates_is_cheaper(
    load: LoadModel, data: st.DataObject
) -> None:
    """All placements: at every inner node the share that is left there is anything between what its queries need and
    what comes; a grid of them, on trees of a few segments."""
    rates = {q.name: data.draw(st.floats(0.05, 1.0)) for q in load.network.queries}
    drops = dict(samplers(load, rates))
    reached: dict[object, float] = {}
    for node in load.nodes:
        come = 1.0 if isinstance(node, Source) else reached[node.inputs[0]]
        arc = 1.0 if isinstance(node, Source) else kept(drops, Location(node.inputs[0], node))
        reached[node] = come * arc * kept(drops, Location(node))
    for query in load.network.queries:
        got = reached[query.root] * kept(drops, Location(query.root, query=query.name))
        assert got == pytest.approx(rates[query.name])
    mine = load.load_under(drops.items())
    inner = [n for n in load.nodes if n.inputs][:5]
    for tried in product((0.0, 0.35, 1.0), repeat=len(inner)):
        slack = dict(zip(inner, tried, strict=True))
        left: dict[Location, float] = {}
        behind: dict[object, float] = {}
        for node in load.nodes:
            if isinstance(node, Source):
                behind[node] = 1.0
                continue
            least = max(rates[q.name] for q in load.network.queries if node in below(q.root))
            come = behind[node.inputs[0]]
            behind[node] = least + slack.get(node, 0.0) * (come - least)
            left[Location(node.inputs[0], node)] = behind[node]
        assert needed(load, left) >= mine * (1 - 1e-9)


def kept(drops: Mapping[Location, object], at: Location) -> float:
    drop = drops.get(at)
    return 1 - drop.rate if isinstance(drop, RandomDrop) else 1.0


def below(root: object) -> set[object]:
    from penstock.plan.node import Node, walk

    assert isinstance(root, Node)
    return set(walk(root))


@given(trees(), st.data())
@settings(max_examples=30, deadline=None)
def test_the_errors_of_all_queries_are_equal_and_the_largest_is_smaller_than_with_other_allocations(
    load: LoadModel, data: st.DataObject
) -> None:
    bound = data.draw(st.sampled_from((HOEFFDING, VARIANCE)))
    assume(load.load() > 0)
    subjects = [Subject(q.name, data.draw(st.floats(1e-5, 1e-2)), 0.05) for q in load.network.queries]
    excess = data.draw(st.floats(0.2, 0.8)) * load.load()
    found = allocate(load, subjects, excess, bound)
    errors = {s.query: bound.error(found.rates[s.query], s.scatter, s.delta) for s in subjects}
    below_one = [errors[q] for q, rate in found.rates.items() if rate < 1 - 1e-9]
    assert below_one
    assert max(below_one) == pytest.approx(min(below_one), rel=1e-3)
    assert found.error >= max(errors.values()) - 1e-12
    assert load.load() - load.load_under(samplers(load, found.rates)) >= excess * (1 - 1e-6)
    for other in (uniform, by_need):
        rates = other(load, subjects, excess)
        worst = max(bound.error(rates[s.query], s.scatter, s.delta) for s in subjects)
        assert max(below_one) <= worst * (1 + 1e-6)


def searched(load: LoadModel, excess: float, rates_at: Callable[[float], dict[str, float]]) -> dict[str, float]:
    """The largest rates of a family that save `excess`."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        enough = load.load() - load.load_under(samplers(load, rates_at(middle))) >= excess
        low, high = (middle, high) if enough else (low, middle)
    return rates_at(low)


def uniform(load: LoadModel, subjects: list[Subject], excess: float) -> dict[str, float]:
    """The same rate for all."""
    return searched(load, excess, lambda rate: {s.query: max(rate, 1e-9) for s in subjects})


def by_need(load: LoadModel, subjects: list[Subject], excess: float) -> dict[str, float]:
    """Naive: in proportion to the scatter itself, not to its root."""
    most = max(s.scatter for s in subjects)
    return searched(load, excess, lambda rate: {s.query: max(rate * s.scatter / most, 1e-9) for s in subjects})


SCRIPT = """
CREATE STREAM s (x DOUBLE, k STRING);
CREATE RELATION r (k STRING, f INT);
CREATE QUERY n WITH (answer = 'estimate', confidence = {confidence}) AS
    SELECT count(*) AS n, sum(x) AS total, avg(x) AS mean FROM s [Range 100 Milliseconds Slide 100 Milliseconds]
    WHERE x > 0.1;
CREATE QUERY g WITH (answer = 'estimate', confidence = {confidence}) AS
    SELECT k, 2 * sum(x) AS total, count(x) AS n FROM s [Range 200 Milliseconds Slide 200 Milliseconds] GROUP BY k;
"""
JOINED = """
CREATE QUERY j WITH (answer = 'estimate', confidence = {confidence}) AS
    SELECT sum(s.x * r.f) AS total FROM s [Range 50 Milliseconds], r WHERE s.k = r.k;
"""


def events(windows: int, rows: int, draw: Callable[[random.Random], float]) -> list[tuple[str, int, dict[str, object]]]:
    """`rows` tuples in each 100 ms, two groups of them."""
    drawn = random.Random(11)
    step = 100_000 // rows
    listed = [("s", i * step, {"x": draw(drawn), "k": drawn.choice("ab")}) for i in range(windows * rows)]
    return [("r", -1, {"k": "a", "f": 1}), ("r", -1, {"k": "b", "f": 3}), *listed]


DISTRIBUTIONS: Mapping[str, Callable[[random.Random], float]] = {
    "even": lambda r: r.uniform(0, 10),
    "exponential": lambda r: r.expovariate(1.0),
    "around zero": lambda r: r.gauss(1.0, 2.0),
}


def exceeded(found: Result, exact: Result, query: str, columns: tuple[str, ...], keys: tuple[str, ...]) -> float:
    """The share of the stated half-widths that the exact answers lie outside of."""
    whole = {(e.timestamp, *(e.values[k] for k in keys)): e.values for e in exact[query]}
    outside = [
        abs(e.values[c] - whole[e.timestamp, *(e.values[k] for k in keys)][c]) > e.values[f"{c}_error"] + 1e-9
        for e in found[query]
        for c in columns
    ]
    assert len(outside) >= 0.99 * len(whole) * len(columns)
    return sum(outside) / len(outside)


def cover(windows: int, rows: int, distribution: str, excess: float, confidence: float) -> dict[str, float]:
    script = SCRIPT.format(confidence=confidence)
    given_ = events(windows, rows, DISTRIBUTIONS[distribution])
    exact = evaluate(script, given_)
    found = evaluate(script, given_, shed={"policy": "sampling", "excess": excess}, seed=3)
    assert any(d.reason == "sampling" and d.dropped for d in found.stats.drops)
    return {
        "sum, count": exceeded(found, exact, "n", ("n", "total"), ()),
        "avg": exceeded(found, exact, "n", ("mean",), ()),
        "by group": exceeded(found, exact, "g", ("total", "n"), ("k",)),
    }


def test_the_error_is_exceeded_in_at_most_the_stated_share_of_the_answers() -> None:
    shares = cover(400, 100, "even", 0.5, 0.9)
    margin = 2.5 * sqrt(0.1 * 0.9 / 400)
    assert all(share <= 0.1 + margin for share in shares.values()), shares
    assert max(shares.values()) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("distribution", list(DISTRIBUTIONS))
@pytest.mark.parametrize("excess", [0.3, 0.6, 0.8])
def test_over_2_000_answers_the_error_is_exceeded_in_at_most_the_stated_share(distribution: str, excess: float) -> None:
    for name, share in cover(2000, 200, distribution, excess, 0.95).items():
        assert share <= 0.05 + 2 * sqrt(0.05 * 0.95 / 2000), name


def test_estimates_are_unbiased_whatever_is_on_the_path() -> None:
    """Filters, groups, windows that slide and that do not, a join with a stored relation: the mean over seeds."""
    script = (SCRIPT + JOINED).format(confidence=0.95)
    given_ = events(8, 50, DISTRIBUTIONS["even"])
    exact = evaluate(script, given_)
    runs = [evaluate(script, given_, shed={"policy": "sampling", "excess": 0.5}, seed=i) for i in range(40)]
    for query, column, key in (("n", "total", None), ("n", "n", None), ("g", "total", "a")):
        chosen = [[e.values[column] for e in r[query] if key in (None, e.values.get("k"))] for r in [exact, *runs]]
        truth, found = sum(chosen[0]), [sum(c) for c in chosen[1:]]
        error = float(np.std(found)) / sqrt(len(found))
        assert abs(float(np.mean(found)) - truth) < 4 * error + 1e-9
    at = exact["j"][-1].timestamp // 2
    held = [last_at(r, "j", at) for r in (exact, *runs)]
    assert abs(float(np.mean(held[1:])) - held[0]) < 4 * float(np.std(held[1:])) / sqrt(len(runs)) + 1e-9


def last_at(result: Result, query: str, instant: int) -> float:
    shown = [e.values["total"] for e in result[query] if e.timestamp <= instant and e.sign > 0]
    return float(shown[-1]) if shown else 0.0


def test_without_drops_estimates_are_exact_and_their_errors_0() -> None:
    script = (SCRIPT + JOINED).format(confidence=0.95)
    given_ = events(4, 20, DISTRIBUTIONS["even"])
    plain = script.replace("answer = 'estimate', ", "")
    estimates, exact = evaluate(script, given_), evaluate(plain, given_)
    for query in estimates.queries:
        for e, x in zip(estimates[query], exact[query], strict=True):
            assert {n: e.values[n] for n in x.values} == pytest.approx(x.values)
            assert all(e.values[f"{n}_error"] == 0 for n in x.values if n != "k")


def test_an_error_that_a_query_declares_bounds_the_sampling_and_the_shortfall_is_said() -> None:
    script = SCRIPT.format(confidence=0.95).replace("QUERY n WITH (", "QUERY n WITH (max_error = 0.05, ")
    given_ = events(30, 100, DISTRIBUTIONS["even"])
    result = evaluate(script, given_, shed={"policy": "sampling", "excess": 0.95})
    assert result.stats.shortfall > 0.2
    relative = [e.values["total_error"] / e.values["total"] for e in result["n"]]
    assert np.mean(relative) == pytest.approx(0.05, rel=0.35)


@pytest.mark.parametrize(
    ("select", "why"),
    [
        ("SELECT max(x) AS m FROM s [Range 1 Second Slide 1 Second]", "max cannot be estimated"),
        ("SELECT count(DISTINCT k) AS n FROM s [Range 1 Second]", "count distinct cannot be estimated"),
        ("SELECT sum(x) AS t FROM s [Rows 100]", "not over time"),
        ("SELECT sum(x) AS t FROM s [Rows 100 Slide 10]", "not over time"),
        ("SELECT k, sum(x) AS t FROM s [Range 1 Second Slide 1 Second] GROUP BY k HAVING sum(x) > 3", "by chance"),
        ("SELECT sum(x) / count(*) AS t FROM s [Range 1 Second Slide 1 Second]", "computes with estimates"),
        ("SELECT sum(s.x) AS t FROM s [Range 1 Second], t [Range 1 Second] WHERE s.k = t.k", "stored relations"),
        ("SELECT x FROM s", "only an aggregate"),
    ],
)
def test_what_cannot_be_estimated_stays_a_subset_and_the_reader_is_told(select: str, why: str) -> None:
    create = "CREATE STREAM s (x DOUBLE, k STRING); CREATE STREAM t (x DOUBLE, k STRING);"
    network = compile_script(f"{create} CREATE QUERY q WITH (answer = 'estimate') AS {select}")
    query = network.query("q")
    assert why in (why_not(query.root) or "")
    declared = qos(query)
    assert declared.answer == "subset"
    assert why in declared.notes[0]
    assert not any(n.endswith("_error") for n in query.root.schema.names)
    given_ = [("s", i * 1000, {"x": float(i % 7), "k": "a"}) for i in range(300)]
    result = evaluate(f"{create} CREATE QUERY q WITH (answer = 'estimate') AS {select}", given_,
                      shed={"policy": "sampling", "excess": 0.5})  # fmt: skip
    assert not any(d.reason == "sampling" for d in result.stats.drops)


def test_multiples_keep_their_error_and_other_names_do_not_collide() -> None:
    create = "CREATE STREAM s (x DOUBLE, k STRING);"
    window = "FROM s [Range 100 Milliseconds Slide 100 Milliseconds]"
    script = f"{create} CREATE QUERY q WITH (answer = 'estimate') AS SELECT sum(x) * -8 AS bits, sum(x) AS x {window};"
    given_ = events(3, 100, DISTRIBUTIONS["even"])[2:]
    for e in evaluate(script, given_, shed={"policy": "sampling", "excess": 0.5})["q"]:
        assert e.values["bits"] == pytest.approx(-8 * e.values["x"])
        assert e.values["bits_error"] == pytest.approx(8 * e.values["x_error"])
    with pytest.raises(PenstockError, match="have one name"):
        compile_script(
            f"{create} CREATE QUERY q WITH (answer = 'estimate') AS "
            f"SELECT sum(x) AS x, k AS x_error {window} GROUP BY k"
        )


def test_queries_that_share_a_stream_get_the_same_relative_error() -> None:
    """A count over a long window needs fewer tuples than one over a short one."""
    script = """CREATE STREAM s (x DOUBLE, k STRING);
    CREATE QUERY short WITH (answer = 'estimate') AS
        SELECT sum(x) AS t FROM s [Range 100 Milliseconds Slide 100 Milliseconds];
    CREATE QUERY long WITH (answer = 'estimate') AS
        SELECT sum(x) AS t FROM s [Range 1 Second Slide 1 Second];"""
    network = optimize(compile_script(script))
    assert {q.name for q in network.queries} == {"short", "long"}
    given_ = events(60, 200, DISTRIBUTIONS["even"])[2:]
    result = evaluate(script, given_, shed={"policy": "sampling", "excess": 0.5})
    relative = {q: float(np.mean([e.values["t_error"] / e.values["t"] for e in result[q]])) for q in result.queries}
    assert relative["long"] == pytest.approx(relative["short"], rel=0.25)
    rates = {str(d.location): d.dropped / d.rows_in for d in result.stats.drops}
    assert len(rates) == 2, rates
