"""Semijoin and antisemijoin against every pair at every instant; NULL in and out of NOT IN."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.base import Event
from penstock.plan.expressions import TRUE, Column, Expression, Literal, conjunction
from penstock.plan.functions import call
from penstock.plan.node import Node
from penstock.plan.nodes import SemiJoin, Window
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, BOOLEAN
from penstock.plan.windows import END, Range, Rows
from tests.operators import harness
from tests.operators.harness import Runner, check, events, net, run, source
from tests.operators.relations import Fed, feeds, relations

MODES = st.sampled_from([(False, False), (True, False), (True, True)])


def predicates(schema: Schema) -> st.SearchStrategy[Expression]:
    """Equalities, comparisons, things that only one side is asked, and constants, joined by AND and OR."""
    types = dict(zip(schema.names, schema.types, strict=True))

    def compared(symbol: str, name: str) -> Expression:
        return call(symbol, Column(f"0.{name}", types[name]), Column(f"1.{name}", types[name]))

    names = st.sampled_from(schema.names)
    equal = st.builds(compared, st.just("="), names)
    unequal = st.builds(compared, st.sampled_from(["<", ">=", "<>"]), names)
    lonely = st.builds(lambda side, n: call("is_null", Column(f"{side}.{n}", types[n])), st.integers(0, 1), names)
    constant = st.sampled_from([TRUE, Literal(False, BOOLEAN), Literal(None, BOOLEAN)])
    part = st.one_of(equal, equal, unequal, lonely, constant)
    either = st.builds(lambda a, b: call("or", a, b), part, part)
    return st.lists(st.one_of(part, part, either), max_size=3).map(lambda ps: conjunction(tuple(ps)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Node, Fed, list[int]]:
    """A semijoin of any mode over relations of the same columns, what is fed, and cuts."""
    schema = draw(harness.schemas(most=2))
    negated, null_aware = draw(MODES)
    node = SemiJoin(draw(relations(schema)), draw(relations(schema)), draw(predicates(schema)), negated, null_aware)
    return node, draw(feeds(schema)), draw(harness.cuts())


@given(cases(), st.one_of(st.none(), st.integers(0, 99)))
@settings(max_examples=200)
def test_agrees_with_every_pair(case: tuple[Node, Fed, list[int]], shuffle: int | None) -> None:
    with harness.cramped(shuffle is None):
        check(*case, shuffle=shuffle)


@given(cases(), st.integers(-8, 20))
@settings(max_examples=60)
def test_goes_on_after_a_stop_and_a_start(case: tuple[Node, Fed, list[int]], stop: int) -> None:
    node, fed, cuts = case
    runner = Runner([node])
    before = runner.feed(fed, sorted({c for c in cuts if c < stop} | {stop}))[node]
    after = runner.copied().feed(fed, [END])[node]
    assert net(before + after) == harness.net_of_reference(node, fed)


A, B = source("A", "x bigint"), source("B", "y bigint")
X_IS_Y = call("=", Column("0.x", BIGINT), Column("1.y", BIGINT))


@pytest.mark.parametrize(
    ("left", "right", "stays"),
    [(1, [2], True), (1, [1], False), (1, [2, None], False), (None, [2], False), (None, [], True), (1, [], True)],
)  # fmt: skip
def test_not_in_with_nulls_is_sql_s(left: int | None, right: list[int | None], stays: bool) -> None:
    node = SemiJoin(Window(A, Rows(1)), Window(B, Rows(9)), X_IS_Y, negated=True, null_aware=True)
    fed = {"A": events((0, left)), "B": [Event(0, i, (y,)) for i, y in enumerate(right)]}
    assert bool(run(node, fed)) is stays
    check(node, fed)


def test_changes_on_both_sides_at_one_instant_net_out() -> None:
    node = SemiJoin(Window(A, Rows(1)), Window(B, Rows(1)), X_IS_Y)
    fed = {"A": events((0, 7), (5, 7)), "B": events((0, 7), (5, 7))}
    assert net(run(node, fed, [3])) == {(0, ((1, 7),)): 1}
    check(node, fed, [3])


def test_what_is_gone_is_forgotten() -> None:
    node = SemiJoin(Window(A, Range(3)), Window(B, Range(3)), X_IS_Y)
    runner = Runner([node])
    fed = {"A": events(*((t, t) for t in range(2000))), "B": events(*((t, t) for t in range(2000)))}
    runner.feed(fed, range(0, 2000, 10))
    semijoin = runner.operators[node]
    assert semijoin.nbytes() < 60_000
    runner.feed({}, [END])
    assert [len(v) for _, v in semijoin.vectors()] == [0] * 5
