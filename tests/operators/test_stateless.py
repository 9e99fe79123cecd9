"""Source, Table, Filter, Map, Delay and Union against their references, and the registry's contract."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators import registry
from penstock.operators.base import Context, Stream
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan import nodes
from penstock.plan.expressions import Column, Expression, Literal
from penstock.plan.functions import call
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Filter, IStream, Map, Source, Table, Union, Window
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT
from penstock.plan.windows import Range, Rows
from tests.operators import harness
from tests.operators.harness import check, events, run, source
from tests.operators.relations import Fed, feeds, windows

SCHEMA = Schema.parse("a bigint, b string")
A = Column("a", BIGINT)
BIG = call(">", A, Literal(0, BIGINT))
SOURCES = st.sampled_from([Source("A", SCHEMA), Source("B", SCHEMA)])


def chains(base: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    """Filters, maps, delays and unions in any order."""
    double: Expression = call("+", A, A)

    def longer(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        columns = {f.name: Column(f.name, f.type) for f in SCHEMA}
        swapped = (("a", A), ("b", columns["b"]))
        return st.one_of(
            inner.map(lambda n: Filter(n, BIG)),
            inner.map(lambda n: Delay(n, 1e-9)),
            inner.map(lambda n: Map(n, swapped)),
            inner.map(lambda n: Map(n, (("a", double), ("b", columns["b"])))),
            st.builds(lambda m, n: Union((m, n)), inner, inner),
        )

    return st.recursive(base, longer, max_leaves=4)


@given(chains(SOURCES), feeds(SCHEMA), harness.cuts(), st.integers(0, 9))
def test_over_streams(node: Node, fed: Fed, cuts: list[int], shuffle: int) -> None:
    check(node, fed, cuts, shuffle)


@given(chains(st.one_of(windows("A", SCHEMA), st.just(Table("T", SCHEMA)))), feeds(SCHEMA), harness.cuts())
def test_over_relations(node: Node, fed: Fed, cuts: list[int]) -> None:
    check(node, fed, cuts)


@given(chains(SOURCES), feeds(SCHEMA), harness.cuts(), st.integers(1, 4))
def test_windows_of_rows_see_the_total_order_below(node: Node, fed: Fed, cuts: list[int], count: int) -> None:
    check(Window(node, Rows(count)), fed, cuts)


@given(harness.histories(SCHEMA), harness.cuts())
def test_windows_over_derived_streams(history: Stream, cuts: list[int]) -> None:
    check(Window(IStream(Window(Source("A", SCHEMA), Range(2))), Rows(2)), {"A": history}, cuts)


def test_a_filter_and_a_projection_keep_the_rows_numbers_and_the_weights() -> None:
    ids, ts = np.array([7, 8, 9]), np.array([1, 2, 3])
    train = Train([Vector(np.array([1, -1, 2])), Vector(ts)], ts, None, ts, ts - 5, np.array([2.0, 3.0, 4.0]), ids)
    schema = Schema.parse("a bigint, c bigint")
    stream = Source("S", schema)
    twice = Map(Filter(stream, BIG), (("c", Column("c", BIGINT)), ("d", call("*", A, A))))
    context = Context()
    out = registry.build(twice, context).process([registry.build(twice.input, context).process([train], 9)], 9)
    assert [v.values.tolist() for v in out.columns] == [[1, 3], [1, 4]]
    assert [a.tolist() for a in (out.ids, out.weight, out.seq, out.arrival) if a is not None] == [
        [7, 9], [2.0, 4.0], [1, 3], [-4, -2],
    ]  # fmt: skip


def test_a_union_of_windows_does_not_mix_up_row_numbers() -> None:
    stream = source("S", "x int")
    node = Union((Window(stream, Rows(1)), Window(stream, Rows(1))))
    runner = harness.Runner([node])
    runner.feed({"S": events((0, 1), (1, 2))}, [5])
    trains = [Train([Vector(np.array([1]))], np.array([0]), ids=np.array([0])) for _ in range(2)]
    assert runner.operators[node].process(trains, 9).ids is None
    check(node, {"S": events((0, 1), (1, 2))})


def test_a_delay_says_its_cost_and_changes_nothing() -> None:
    node = Delay(source("S", "x int"), 0.25)
    operator = registry.build(node, Context())
    assert getattr(operator, "cost_s", None) == 0.25
    assert [e.row for e in run(node, {"S": events((0, 1), (1, 2))})] == [(1,), (2,)]


def _operator_nodes() -> list[type[Node]]:
    """Every concrete node class that penstock.plan.nodes offers."""
    found = (c for _, c in inspect.getmembers(nodes, inspect.isclass))
    return [c for c in found if issubclass(c, Node) and c not in (Node, getattr(nodes, "Combination", None))]


@pytest.mark.parametrize("kind", _operator_nodes(), ids=lambda kind: kind.__name__)
def test_every_node_has_a_module_with_a_fast_operator_and_a_reference(kind: type[Node]) -> None:
    module = registry.module(kind)
    assert callable(module.build) and callable(module.reference)
    assert module.__doc__ and len(module.__doc__) > 60
    assert module.reference.__doc__
