"""Set operators and relation-to-stream operators against their references."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.base import Stream
from penstock.plan.node import Node
from penstock.plan.nodes import Distinct, DStream, Except, Intersect, IStream, RStream, Union, Window
from penstock.plan.schema import Schema
from penstock.plan.windows import END, SlideRange
from tests.operators import harness
from tests.operators.harness import Runner, check, net
from tests.operators.relations import Fed, feeds, relations

SLIDES = st.builds(SlideRange, st.integers(1, 6), st.integers(1, 6), st.integers(-3, 3))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Node, Fed, list[int]]:
    """A set operator over relations, perhaps made a stream, what is fed, and cuts."""
    schema = draw(harness.schemas(most=2))
    a, b = draw(relations(schema)), draw(relations(schema))
    every = draw(st.booleans())
    combined = draw(st.sampled_from([a, Distinct(a), Except(a, b, every), Intersect(a, b, every), Union((a, b))]))
    streamed = draw(st.sampled_from([combined, IStream(combined), DStream(combined), RStream(combined)]))
    return streamed, draw(feeds(schema)), draw(harness.cuts())


@given(cases(), st.one_of(st.none(), st.integers(0, 99)))
@settings(max_examples=200)
def test_agrees_with_the_reference(case: tuple[Node, Fed, list[int]], shuffle: int | None) -> None:
    with harness.cramped(shuffle is None):
        check(*case, shuffle=shuffle)


@given(harness.histories(Schema.parse("c0 int"), last=12), SLIDES, SLIDES, harness.cuts())
def test_rstream_emits_at_every_boundary_while_there_are_rows(
    history: Stream, a: SlideRange, b: SlideRange, cuts: list[int]
) -> None:
    stream = harness.source("A", "c0 int")
    both = Union((Window(stream, a), Window(stream, b)))
    boundaries = tuple((int(s.slide), int(s.origin + s.size)) for s in (a, b))
    check(RStream(both, boundaries), {"A": history}, cuts)


@given(cases(), st.integers(-8, 20))
@settings(max_examples=60)
def test_goes_on_after_a_stop_and_a_start(case: tuple[Node, Fed, list[int]], stop: int) -> None:
    node, fed, cuts = case
    runner = Runner([node])
    before = runner.feed(fed, sorted({c for c in cuts if c < stop} | {stop}))[node]
    after = runner.copied().feed(fed, [END])[node]
    assert net(before + after) == harness.net_of_reference(node, fed)
