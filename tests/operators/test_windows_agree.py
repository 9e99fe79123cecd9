"""Every window operator against its reference: any schema, data, cuts and schedule, shared stores, stops and starts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.base import Stream
from penstock.plan.node import Node
from penstock.plan.nodes import Window
from penstock.plan.schema import Schema
from penstock.plan.windows import END, Range, Rows, SlideRange, SlideRows, WindowSpec
from tests.operators import harness
from tests.operators.harness import Runner, check, events, net

SMALL = st.integers(1, 7)


def specs(schema: Schema) -> st.SearchStrategy[WindowSpec]:
    """Windows of every form over `schema`."""
    by = st.lists(st.sampled_from(schema.names), max_size=2, unique=True).map(tuple)
    count = st.one_of(st.none(), SMALL)
    forms: list[st.SearchStrategy[WindowSpec]] = [
        st.builds(Range, st.one_of(st.none(), st.integers(0, 6))),
        st.builds(Rows, count, by),
        st.builds(SlideRange, SMALL, SMALL, st.integers(-9, 9)),
        st.builds(SlideRows, SMALL, SMALL, st.integers(-9, 9), by),
    ]
    axes = [f.name for f in schema if f.type.ordered_numeric]
    if axes:
        on = st.sampled_from(axes)
        sizes = st.one_of(SMALL, st.sampled_from([0.5, 1.5, 2.25]))
        forms += [st.builds(Range, st.one_of(st.none(), st.just(0), sizes), on),
                  st.builds(SlideRange, sizes, sizes, st.integers(-3, 3), on)]  # fmt: skip
    return st.one_of(forms)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """A window over a stream S of any columns, with its bounds as columns where they can be had."""
    schema = draw(harness.schemas())
    stream = harness.source("S", ", ".join(f"{f.name} {f.type}" for f in schema))
    spec = draw(specs(schema))
    on_attribute = isinstance(spec, SlideRange) and spec.on is not None
    bounds = isinstance(spec, SlideRange | SlideRows) and not on_attribute and draw(st.booleans())
    return Window(stream, spec, bounds)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Window, Stream, list[int]]:
    """A window, its stream (in place order, or derived and ordered by values), and cuts."""
    window = draw(windows())
    history = draw(harness.histories(window.input.schema, placed=draw(st.booleans())))
    return window, history, draw(harness.cuts())


@given(cases(), st.booleans())
@settings(max_examples=300)
def test_agrees_with_the_reference(case: tuple[Window, Stream, list[int]], cramped: bool) -> None:
    window, history, cuts = case
    with harness.cramped(cramped):
        check(window, {"S": history}, cuts)


FEW = st.integers(1, 3)
POOLED = st.one_of(
    st.builds(SlideRows, FEW, FEW, st.integers(-3, 3), st.just(("k",))),
    st.builds(Rows, FEW, st.just(("k",))),
    st.builds(SlideRange, FEW, FEW, st.integers(-3, 3), st.just("v")),
    st.builds(Range, FEW, st.just("v")),
)
LONG = st.lists(st.tuples(st.sampled_from([0, 1, None]), st.integers(-2, 3)), min_size=15, max_size=40)


@given(POOLED, st.booleans(), LONG, st.integers(1, 5))
@settings(max_examples=150)
def test_pools_that_move_at_every_turn_agree(
    spec: WindowSpec, bounds: bool, rows: list[tuple[int | None, int]], every: int
) -> None:
    window = Window(harness.source("S", "k int, v int"), spec, bounds and isinstance(spec, SlideRange | SlideRows))
    history = events(*((i, k, step + i // 4) for i, (k, step) in enumerate(rows)))
    with harness.cramped():
        check(window, {"S": history}, range(0, 40, every))


@given(cases(), st.lists(SMALL, min_size=1, max_size=3), st.integers(0, 2**32))
@settings(max_examples=100)
def test_windows_that_share_a_store_agree_under_any_schedule(
    case: tuple[Window, Stream, list[int]], sizes: list[int], seed: int
) -> None:
    window, history, cuts = case
    roots: list[Node] = [window, *(Window(window.input, Range(s)) for s in sizes), Window(window.input, Rows(sizes[0]))]
    with harness.cramped():
        emitted = Runner(roots, shuffle=seed).feed({"S": history}, [*sorted(set(cuts)), END])
    for root in roots:
        assert net(emitted[root]) == harness.net_of_reference(root, {"S": history})


@given(cases(), st.integers(-8, 40))
@settings(max_examples=100)
def test_goes_on_after_a_stop_and_a_start(case: tuple[Window, Stream, list[int]], stop: int) -> None:
    window, history, cuts = case
    runner = Runner([window])
    before = runner.feed({"S": history}, sorted({c for c in cuts if c < stop} | {stop}))[window]
    after = runner.copied().feed({"S": history}, [END])[window]
    assert net(before + after) == harness.net_of_reference(window, {"S": history})


@given(cases())
@settings(max_examples=100)
def test_next_instant_is_when_the_result_changes_without_input(case: tuple[Window, Stream, list[int]]) -> None:
    window, history, _ = case
    fed = {"S": history}
    runner = Runner([window])
    last = max((e.ts for e in history), default=0) + 1
    runner.feed(fed, [last])
    for _ in range(20):
        instant = runner.operators[window].next_instant()
        if instant is None:
            assert runner.feed(fed, [END])[window] == []
            return
        assert instant >= last
        quiet, due = runner.feed(fed, [instant, instant + 1])[window], runner
        assert all(e.ts == instant for e in quiet) and quiet
        last = due.done[window]
