"""The join on single cases: the thesis' example, skewed and colliding keys, what the predicate is taken apart into."""

from __future__ import annotations

import math
import time
from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators import join_pipeline, join_side, registry
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.operators.join import MJoin
from penstock.operators.join_conditions import conditions, steps
from penstock.plan.expressions import Column
from penstock.plan.functions import call, function, user_functions
from penstock.plan.nodes import Window
from penstock.plan.types import INT
from penstock.plan.windows import Range, Rows
from tests.operators.harness import Element, check, events, run, source, table
from tests.operators.joins import A, B, C, column, equal, join, near, number


def test_example_5_1_1_an_insertion_passes_the_pipeline_of_its_stream() -> None:
    """R1(A), R2(A, B), R3(B): <1> into R1 makes <1, 1, 2> and <1, 1, 3>, then <1, 1, 2, 2>."""
    columns = {"R1": "a int", "R2": "a int, b int", "R3": "b int"}
    r1, r2, r3 = (Window(source(n, c), Rows(None)) for n, c in columns.items())
    on = call("=", Column("0.a", INT), Column("1.a", INT)), call("=", Column("1.b", INT), Column("2.b", INT))
    node = join(r1, r2, r3, on=on)
    fed = {"R2": events((0, 1, 2), (0, 1, 3), (0, 2, 3)), "R3": events((0, 2)), "R1": events((1, 1))}
    assert run(node, fed, [1]) == [Element(1, 1, (1, 1, 2, 2))]
    half = join(r1, r2, on=on[:1])
    assert sorted(e.row for e in run(half, fed, [1])) == [(1, 1, 2), (1, 1, 3)]
    operator = registry.build(node, Context())
    assert isinstance(operator, MJoin) and operator.orders == [(1, 2), (0, 2), (1, 0)]


def test_arrivals_are_the_oldest_and_weights_multiply() -> None:
    node = join(table("T", "k int"), table("U", "k int"), on=(call("=", Column("0.k", INT), Column("1.k", INT)),))
    column_of = [Vector(np.array([7]))]
    left = Train(column_of, np.array([5]), arrival=np.array([90]), weight=np.array([2.0]))
    right = Train(column_of, np.array([6]), arrival=np.array([80]), weight=np.array([5.0]))
    out = registry.build(node, Context()).process([left, right], 10)
    assert (out.ts.tolist(), out.arrival.tolist(), out.weight.tolist()) == ([6], [80], [10.0])


def test_rows_on_which_a_function_fails_are_left_out_on_both_sides() -> None:
    @function(returns="int")
    def checked(values: np.ndarray) -> list[int]:
        if (values < 0).any():
            raise ValueError("negative")
        return [v % 3 for v in values.tolist()]

    fed = {n: events(*((t, t - 3, t % 2, "", 0.0) for t in range(8))) for n in "AB"}
    windows = Window(A, Rows(4)), Window(B, Range(3))
    try:
        for on in (
            call("=", call("checked", column("0.k")), column("1.v")),
            call("<", call("checked", column("0.k")), column("1.v")),
            call("=", call("checked", column("0.k")), call("checked", column("1.k"))),
            call("=", call("+", call("checked", column("0.k")), column("1.v")), number(2)),
        ):
            check(join(*windows, on=(on,)), fed, [2, 5])
    finally:
        del user_functions.functions["checked"]


def test_a_key_that_half_a_million_rows_share_leaves_in_linear_time() -> None:
    """One call expires all of them: by Range, oldest first, and by keys of a partition, in any order."""
    count = 500_000
    node = join(Window(source("A", "k int, n int"), Range(9)), table("T", "k int"), on=(equal("0.k", "1.k"),))
    context = Context()
    window, operator = registry.build(node.members[0], context), registry.build(node, context)
    columns = [Vector(np.zeros(count, np.int64)), Vector(np.arange(count))]
    entering = window.process([Train(columns, np.zeros(count, np.int64), seq=np.arange(count))], 1)
    nothing = Train.empty(node.members[1].schema)
    operator.process([entering, nothing], 1)
    leaving = window.process([Train.empty(node.members[0].schema)], 100)
    assert len(leaving) == count
    started = time.perf_counter()
    shuffled = leaving.take(np.random.default_rng(0).permutation(count))
    assert len(operator.process([shuffled, nothing], 100)) == 0
    assert time.perf_counter() - started < 5


def test_mixed_keys_that_collide_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_side, "mixture", lambda columns: np.zeros_like(columns[0]))
    monkeypatch.setattr(join_pipeline, "mixture", lambda columns: np.zeros_like(columns[0]))
    fed = {n: events(*((t, t % 3, t % 2, "", 0.0) for t in range(12))) for n in "AB"}
    check(join(*(Window(s, Range(4)) for s in (A, B)), on=(equal("0.k", "1.k"), equal("0.v", "1.v"))), fed, [3, 7])


def test_equal_terms_of_one_side_and_implied_equalities() -> None:
    """0.k = 1.k = 2.k = 1.v: rows of B need k = v, and A can look C up without B."""
    on = equal("0.k", "1.k"), equal("1.k", "2.k"), equal("1.v", "0.k")
    fed = {n: events(*((t, t % 3, t % 2, "", 0.0) for t in range(9))) for n in "ABC"}
    node = join(*(Window(s, Range(3)) for s in (A, B, C)), on=on)
    check(node, fed, [2, 5])
    taken_apart = conditions(node.predicate, 3)
    assert len(taken_apart.classes) == 1
    assert [s.keys[0][1].side for s in steps(taken_apart, 0, (2, 1))] == [0, 0]


def test_a_window_joined_with_itself() -> None:
    window = Window(A, Rows(3))
    fed = {"A": events(*((t // 2, t % 2, t, "x", 0.5) for t in range(10)))}
    check(join(window, window, on=(equal("0.k", "1.k"),)), fed, [1, 3])
    check(join(window, window, window, on=(equal("0.k", "1.v"), equal("1.s", "2.s"))), fed, [2])


def test_bands_are_searched_not_multiplied() -> None:
    """Far fewer candidates than the product, from either side."""
    node = join(Window(A, Rows(500)), Window(B, Rows(500)), on=near("0.v", "1.v", 2))
    for start in (0, 1):
        (step,) = steps(conditions(node.predicate, 2), start, (1 - start,))
        assert {b.term.side for b in step.bounds} == {1 - start} and len({b.term for b in step.bounds}) == 1


def test_what_a_relation_once_held_does_not_stay() -> None:
    tables = [table(name, "k int, d double") for name in "TU"]
    node = join(*tables, on=(equal("0.k", "1.k"), equal("0.d", "1.d")))
    operator, count = registry.build(node, Context()), 100_000
    keys, nothing = np.arange(count), Train.empty(node.members[1].schema)

    def change(first: int, sign: int, ts: int) -> Train:
        some = keys[first:]
        return Train([Vector(some), Vector(some / 2)], np.full(len(some), ts), np.full(len(some), sign, np.int8))

    operator.process([change(0, 1, 0), nothing], 1)
    full = operator.nbytes()
    operator.process([change(10, -1, 1), nothing], 2)
    assert operator.nbytes() < full / 20
    out = operator.process([nothing, change(8, 1, 2)], 3)
    assert sorted(out.column(0).values.tolist()) == [8, 9]
    assert len(operator.process([change(8, -1, 3).slice(0, 2), nothing], 4)) == 2


CHANGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(-1, 1)), max_size=14)


SIDES = st.lists(CHANGES, min_size=2, max_size=3)


@given(SIDES, st.lists(st.integers(1, 4), max_size=3), st.randoms(use_true_random=False))
def test_inputs_that_are_not_netted(sides: list[list[tuple[int, int, int]]], where: list[int], random: Random) -> None:
    """In one instant a - may come before the + that it takes back, and rows may come and go at once."""
    tables = [table(f"T{i}", "k int") for i in range(len(sides))]
    node = join(*tables, on=tuple(equal("0.k", f"{i}.k") for i in range(1, len(sides))))
    operator, inputs = registry.build(node, Context()), [deltas(changes, random) for changes in sides]
    found: Counter[tuple[int, int]] = Counter()
    for start, until in pairwise([0, *sorted(where), 9]):
        trains = [changes_train([c for c in listed if start <= c[0] < until]) for listed in inputs]
        out = operator.process(trains, until)
        assert (np.diff(out.ts) >= 0).all()
        for ts, key, sign in zip(out.ts.tolist(), out.column(0).values.tolist(), out.sign.tolist(), strict=True):
            found[(ts, key)] += sign
    for ts in range(5):
        for key in range(3):
            held = [sum(s for t, k, s in listed if t <= ts and k == key) for listed in inputs]
            assert sum(found[(t, key)] for t in range(ts + 1)) == math.prod(held)


def deltas(changes: list[tuple[int, int, int]], random: Random) -> list[tuple[int, int, int]]:
    """The changes that keep every count from falling below 0, those of an instant in any order; 0 comes and goes."""
    held: Counter[int] = Counter()
    by_instant: dict[int, list[tuple[int, int, int]]] = {}
    for ts, key, sign in sorted(changes):
        if held[key] + sign >= 0:
            held[key] += sign
            by_instant.setdefault(ts, []).extend([(ts, key, sign)] if sign else [(ts, key, 1), (ts, key, -1)])
    return [change for listed in by_instant.values() for change in random.sample(listed, len(listed))]


def changes_train(changes: list[tuple[int, int, int]]) -> Train:
    ts, keys, signs = (np.array([c[i] for c in changes], np.int64) for i in range(3))
    return Train([Vector(keys)], ts, signs.astype(np.int8))
