"""The worked examples of Tatbul 4.5, 4.10.2 and the slides, and the general rule against them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.drops import Location
from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import Source, WindowAggregate
from penstock.plan.schema import Schema
from penstock.plan.window_reach import reach
from penstock.plan.windows import SlideRange
from penstock.shed.window_rules import Grid, Spec, common, counted_pipeline, extent, fan_out, pipeline

S = Source("s", Schema.parse("x int"))
A0, A1, A2 = Spec(4, 1), Spec(3, 2, 12), Spec(3, 3, 12)


def over(below: Node, spec: Spec, origin: int = 0) -> WindowAggregate:
    return WindowAggregate(below, SlideRange(spec.size, spec.slide, origin), (), ())


def grid(*roots: Node) -> Grid:
    queries = tuple(Query(f"q{i}", root) for i, root in enumerate(roots))
    return common(reach(Network(queries=queries), Location(S)).needs)


def test_example_4_5_1_pipeline() -> None:
    assert pipeline(A1, A2)[:2] == (5, 3)
    found = grid(over(over(S, A1, 1), A2, 1))
    assert (found.size, found.slide) == (5, 3)
    assert (1 - found.origin) % 3 == (3 - 1 + 1) % 3  # moved back by the first one's size, 3: stamps are ends


def test_example_4_5_2_fan_out() -> None:
    assert fan_out(A1, A2) == (7, 6, 4)
    assert (extent(A1), extent(A2)) == (1, 0)
    found = grid(over(S, A1, 1), over(S, A2, 1))
    assert (found.origin % 6, found.size, found.slide, found.scales) == (1, 7, 6, (3, 2))
    starts = [found.origin + k * found.slide for k in range(3)]
    assert {1, 7} <= set(starts)
    last_of_a1 = 5  # the last window of A1 that starts before 7
    assert last_of_a1 + A1.size == 8 == 1 + found.size


def test_example_4_5_3_composite_both_ways() -> None:
    assert pipeline(A0, fan_out(A1, A2))[:2] == (10, 6)
    assert (pipeline(A0, A1)[:2], pipeline(A0, A2)[:2]) == ((6, 2), (6, 3))
    assert fan_out(pipeline(A0, A1), pipeline(A0, A2))[:2] == (10, 6)
    shared = over(S, A0)
    found = grid(over(shared, A1), over(shared, A2))
    assert (found.size, found.slide) == (10, 6)


def test_example_4_10_2_counted_pipeline() -> None:
    assert counted_pipeline(A1, A2)[:2] == (7, 6)
    assert counted_pipeline(A2)[:2] == (3, 3)


def test_a_scaled_batch_is_floored_and_zero_forbids_the_drop() -> None:
    assert grid(over(S, A1, 1), over(S, A2, 1)).batch([12, 12]) == 4
    assert grid(over(S, A1, 1), over(S, A2, 1)).batch([2, 12]) == 0


specs = st.builds(lambda slide, more: Spec(slide + more, slide), st.integers(1, 6), st.integers(0, 6))


@given(st.lists(specs, min_size=1, max_size=3), st.lists(specs, min_size=1, max_size=3))
def test_the_general_rule_is_the_thesis_rule_where_windows_meet(left: list[Spec], right: list[Spec]) -> None:
    roots: list[Node] = []
    for side in (left, right):
        below: Node = S
        for spec in side:
            below = over(below, spec)
        roots.append(below)
    behind = [sum(a.size for a in side[:-1]) for side in (left, right)]
    wanted = fan_out(pipeline(*left), pipeline(*right))
    found = grid(*roots)
    assert found.slide == wanted.slide
    slides = left[-1].slide, right[-1].slide
    if any((t + behind[0]) % slides[0] == 0 == (t + behind[1]) % slides[1] for t in range(found.slide)):
        assert found.size == wanted.size
    else:
        assert found.size >= max(pipeline(*left).size, pipeline(*right).size)


@given(st.lists(st.tuples(specs, st.integers(-9, 9)), min_size=1, max_size=3))
def test_what_a_query_needs_lies_in_one_window_of_the_drop(sides: list[tuple[Spec, int]]) -> None:
    roots = [over(S, spec, origin) for spec, origin in sides]
    found = grid(*roots)
    for spec, origin in sides:
        for start in range(origin, origin + found.slide, spec.slide):
            begin = start - (start - found.origin) % found.slide
            assert start + spec.size <= begin + found.size
