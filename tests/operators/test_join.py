"""The n-way windowed join against its reference: any predicate, ties on several sides, rows that go as they come."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.base import Stream
from penstock.operators.join import MJoin
from penstock.plan.expressions import Column
from penstock.plan.functions import call
from penstock.plan.nodes import Filter, Join, Window
from penstock.plan.types import INT
from penstock.plan.windows import END, Range
from tests.operators.harness import Element, Runner, check, cuts, net, run
from tests.operators.joins import FED, SOURCES, joins, number


@given(joins(), FED, cuts(), st.one_of(st.none(), st.integers(0, 99)))
def test_any_join(node: Join, fed: dict[str, Stream], where: list[int], shuffle: int | None) -> None:
    check(node, fed, where, shuffle)


@given(joins(), FED, cuts(), st.randoms(use_true_random=False))
def test_orders_may_change_while_it_runs(node: Join, fed: dict[str, Stream], where: list[int], random: Random) -> None:
    runner = Runner([node])
    operator = runner.operators[node]
    assert isinstance(operator, MJoin)
    found: list[Element] = []
    for until in [*sorted(set(where)), END]:
        others = [[j for j in range(len(node.members)) if j != i] for i in range(len(node.members))]
        operator.orders = [tuple(random.sample(o, len(o))) for o in others]
        found += runner.feed(fed, [until])[node]
    assert net(found) == net(run(node, fed))


@given(joins(), FED, st.integers(0, 20))
def test_it_goes_on_after_it_was_stored(node: Join, fed: dict[str, Stream], where: int) -> None:
    runner = Runner([node])
    found = runner.feed(fed, [where])[node]
    found += runner.copied().feed(fed, [END])[node]
    assert net(found) == net(run(node, fed))


@given(joins(), FED, cuts())
def test_nothing_is_kept_when_all_windows_are_empty(node: Join, fed: dict[str, Stream], where: list[int]) -> None:
    """No row is alive, and no stub holds rows back, though a filter lets few of them reach the join."""
    ones = call("=", Column("k", INT), number(1))
    kept = Join(tuple(Filter(Window(s, Range(3)), ones) for s in SOURCES[: len(node.members)]), node.predicate)
    runner = Runner([kept])
    runner.feed(fed, [*sorted(set(where)), END])
    operator = runner.operators[kept]
    assert isinstance(operator, MJoin)
    assert not any(len(side.alive) for side in operator.sides)
    assert all(stub.low == store.end for store in runner.context.stores.values() for stub in store.stubs)
