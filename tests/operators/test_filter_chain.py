"""Filters in any order, profiled in any way, keep the same rows; what they are said to drop is what they drop."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.operators.filter import FilterOperator
from penstock.operators.profiled_rows import RUN, Sampler
from penstock.plan.expressions import Call, Column, Literal, conjunction
from penstock.plan.filters import ALL, NEXT, Profiling, allowed, protectors
from penstock.plan.functions import call
from penstock.plan.nodes import Filter, Source
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, BOOLEAN

S = Source("s", Schema.parse("a bigint, b bigint, c bigint"))
A, B, C = (Column(name, BIGINT) for name in "abc")
CALLED: list[int] = []


def above(column: Column, value: int) -> Call:
    found = call(">", column, Literal(value, BIGINT))
    assert isinstance(found, Call)
    return found


@ps.function(returns="boolean", name="chain_inverse")
def inverse(x: Any) -> Any:
    CALLED.extend(x.tolist())
    if (x == 0).any():
        raise ZeroDivisionError
    return 100 // x > 3


@ps.function(returns="boolean", name="chain_odd")
def odd(x: Any) -> Any:
    if (x == 50).any():
        raise ValueError
    return x % 2 == 1


INVERSE, ODD = Call("chain_inverse", (A,), BOOLEAN), Call("chain_odd", (B,), BOOLEAN)
PLAIN = (above(A, 20), above(B, 50), above(C, 70), call("=", call("%", A, Literal(3, BIGINT)), Literal(0, BIGINT)))
GUARDED = (call("<>", A, Literal(0, BIGINT)), INVERSE, ODD, above(C, 30))


def rows(count: int, seed: int) -> Train:
    rng = np.random.default_rng(seed)
    columns = [Vector(rng.integers(0, 100, count)) for _ in range(3)]
    return Train(columns, np.arange(count))


def kept(filters: tuple[Any, ...], trains: list[Train], order: Any, profiling: Profiling | None) -> Any:
    context = Context()
    operator = FilterOperator(Filter(S, conjunction(filters)), context)
    operator.arrange(order, profiling)
    found = [operator.process((t,), 0).ts.tolist() for t in trains]
    return found, {f: n for f, n in context.set_aside.items() if n}, operator.profiled()


TRAINS = [rows(n, n) for n in (1, 0, 7, 300, RUN + 1, 3000)]
WAYS = [None, *(Profiling(rate, what, 1, whole)
                for rate in (0.01, 0.3, 1.0) for what in (ALL, NEXT, 2) for whole in (True, False))]  # fmt: skip


@pytest.mark.parametrize("filters", [PLAIN, GUARDED], ids=["plain", "guarded"])
def test_neither_order_nor_profiling_changes_what_is_kept(filters: tuple[Any, ...]) -> None:
    wanted = kept(filters, TRAINS, None, None)[:2]
    node = Filter(S, conjunction(filters))
    rng = random.Random(1)
    for way in WAYS:
        order = tuple(rng.sample(range(4), 4))
        if allowed(node, order):
            found, aside, _ = kept(filters, TRAINS, order, way)
            assert found == wanted[0], (order, way)
            assert all(rows <= wanted[1][f] for f, rows in aside.items()), "what another filter drops is not asked"


def test_what_is_profiled_is_what_the_filters_say_of_rows_that_are_dropped() -> None:
    train = rows(2000, 1)
    a, b, c = (v.values for v in train.columns)
    drops = [a <= 20, b <= 50, c <= 70, a % 3 != 0]
    words = sum(d.astype(np.int64) << i for i, d in enumerate(drops))
    _, _, found = kept(PLAIN, [train], (3, 1, 0, 2), Profiling(1.0))
    assert found.sampled == 2000
    assert found.bits.tolist() == words[words != 0].tolist()
    for what in (NEXT, 2):
        order = (3, 1, 0, 2)
        _, _, found = kept(PLAIN, [train], order, Profiling(1.0, what))
        whole = words[words != 0].tolist()
        for partly, word in zip(found.bits.tolist(), whole, strict=True):
            first = next(i for i, f in enumerate(order) if word >> f & 1)
            seen = order[: first + 2] if what == NEXT else (*order[: first + 1], 2)
            assert partly == sum(1 << f for f in set(seen) if word >> f & 1)


def test_a_filter_that_can_raise_stays_behind_what_protects_it_and_sees_no_row_that_this_drops() -> None:
    node = Filter(S, conjunction(GUARDED))
    assert protectors(node) == (0, 0b1, 0b1, 0)
    assert not allowed(node, (1, 0, 2, 3)) and allowed(node, (3, 0, 2, 1))
    for way in WAYS:
        CALLED.clear()
        kept(GUARDED, TRAINS, (3, 0, 2, 1), way)
        assert CALLED and 0 not in CALLED


def test_a_row_that_an_earlier_filter_would_have_dropped_is_not_counted_as_set_aside() -> None:
    """`odd` is written behind `inverse` and comes before it: where it raises, and `inverse` drops the row, nothing is
    set aside, as in the order in which they are written."""
    wanted = kept(GUARDED, TRAINS, None, None)
    assert wanted[1]["chain_odd"] > 0
    for way in WAYS:
        assert kept(GUARDED, TRAINS, (0, 2, 1, 3), way)[:2] == wanted[:2]


@pytest.mark.parametrize("count", [1, 100, RUN, 2000, 100_000])
@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0])
def test_runs_are_the_share_of_rows_that_was_asked_for(count: int, rate: float) -> None:
    sampler, taken, times = Sampler(rate, 1), 0, max(50, min(40_000, 5_000_000 // count))
    for _ in range(times):
        run = sampler.run(count)
        if run is not None:
            assert 0 <= run[0] < run[1] <= count
            taken += run[1] - run[0]
    assert taken / (times * count) == pytest.approx(rate, rel=0.4 if count == 1 else 0.2)
