"""Windows drawn by hand (see `timeline`), and what windows promise about memory, gaps and sharing."""

from __future__ import annotations

import time

import numpy as np
import pytest

from penstock.errors import PenstockError
from penstock.operators.base import Context, Event
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.operators.registry import build
from penstock.operators.slide_attribute_window import SlideAttributeWindow
from penstock.plan.nodes import Source, Window
from penstock.plan.schema import Schema
from penstock.plan.windows import END, Range, Rows, SlideRange, SlideRows, WindowSpec
from tests.operators.harness import Runner, check, events, net, net_of_reference, run, source
from tests.operators.timeline import S, show

YEAR_US = 365 * 86_400 * 1_000_000


def test_range_includes_both_ends() -> None:
    show(Window(S, Range(2)), """
        at      0   1   2   3   4   5   6   END
        in      a   b   .   .   c   .   .   .
        window  a   ab  ab  b   c   c   c   .""")  # fmt: skip


def test_now_holds_one_instant() -> None:
    show(Window(S, Range(0)), """
        at      0   1   2   3   END
        in      a   bc  .   d   .
        window  a   bc  .   d   .""")  # fmt: skip


def test_range_unbounded_keeps_all() -> None:
    show(Window(S, Range(None)), """
        at      -5  0   7   END
        in      a   b   .   .
        window  a   ab  ab  ab""")  # fmt: skip


def test_rows_hold_the_last_and_outlive_time() -> None:
    show(Window(S, Rows(2)), """
        at      0   1   2   3   END
        in      a   .   bc  d   .
        window  a   a   bc  cd  cd""")  # fmt: skip


def test_rows_take_ties_in_the_total_order() -> None:
    derived = [Event(0, 0, ("z",)), Event(0, 0, ("a",)), Event(0, 0, (None,)), Event(0, 0, ("é",))]
    assert net(run(Window(S, Rows(2)), {"S": derived})) == {(0, ((1, "z"),)): 1, (0, ((1, "é"),)): 1}


def test_partition_by_keeps_the_last_of_each_and_null_is_one_value() -> None:
    keyed = source("S", "k int, name string")
    fed = {"S": events((0, 1, "a"), (1, None, "b"), (2, 1, "c"), (3, None, "d"))}
    assert net(run(Window(keyed, Rows(1, ("k",))), fed, [2])) == {
        (0, ((1, 1), (1, "a"))): 1,
        (1, ((0,), (1, "b"))): 1,
        (2, ((1, 1), (1, "a"))): -1, (2, ((1, 1), (1, "c"))): 1,
        (3, ((0,), (1, "b"))): -1, (3, ((0,), (1, "d"))): 1,
    }  # fmt: skip


def test_slide_is_half_open_and_holds_until_the_next_window_ends() -> None:
    # windows: [-2, 2) [0, 4) [2, 6) [4, 8) ...
    show(Window(S, SlideRange(4, 2)), """
        at      0   1   2   3   4   5   6   7   8   9   10  END
        in      a   .   b   .   c   .   .   .   .   .   .   .
        window  .   .   a   a   ab  ab  bc  bc  c   c   .   .""")  # fmt: skip


def test_tumbling_windows_replace_one_another() -> None:
    show(Window(S, SlideRange(3, 3)), """
        at      0   1   2   3   4   5   6   7   8   9   END
        in      a   .   b   c   .   .   .   .   .   .   .
        window  .   .   .   ab  ab  ab  c   c   c   .   .""")  # fmt: skip


def test_a_slide_longer_than_the_size_leaves_gaps() -> None:
    # windows: [0, 2) [5, 7)
    show(Window(S, SlideRange(2, 5)), """
        at      0   1   2   3   4   5   6   7   8   12  END
        in      a   .   b   c   .   d   .   .   .   .   .
        window  .   .   a   a   a   a   a   d   d   .   .""")  # fmt: skip


def test_origin_moves_the_anchor_and_time_may_be_negative() -> None:
    # windows: [-5, -1) [-1, 3)
    show(Window(S, SlideRange(4, 4, origin=-1)), """
        at      -4  -3  -2  -1  0   1   2   3   7   END
        in      a   .   .   b   .   .   .   .   .   .
        window  .   .   .   a   a   a   a   b   .   .""")  # fmt: skip


def test_rows_slide_end_with_their_last_tuple() -> None:
    # windows of tuples: (., a) (a, b, c) (c, d, e)
    show(Window(S, SlideRows(3, 2)), """
        at      0   1   2   3   4   5   END
        in      a   b   c   .   de  f   .
        window  a   a   abc abc cde cde cde""")  # fmt: skip


def test_rows_slide_with_gaps() -> None:
    # windows of tuples: (b) (e), origin 1, every third
    show(Window(S, SlideRows(1, 3, origin=1)), """
        at      0   1   2   3   4   5   END
        in      a   b   c   d   e   f   .
        window  .   b   b   b   e   e   e""")  # fmt: skip


def test_bounds_are_the_windows_own() -> None:
    found = run(Window(S, SlideRange(4, 2), bounds=True), {"S": events((1, "a"))})
    assert [(e.ts, e.sign, *e.row[1:]) for e in found] == [(2, 1, -2, 2), (4, -1, -2, 2), (4, 1, 0, 4), (6, -1, 0, 4)]


def test_bounds_of_rows_are_the_stamps_of_first_and_last() -> None:
    node = Window(S, SlideRows(2, 2), bounds=True)
    found = run(node, {"S": events((1, "a"), (5, "b"), (6, "c"), (9, "d"))}, [6])
    assert net(found) == net_of_reference(node, {"S": events((1, "a"), (5, "b"), (6, "c"), (9, "d"))})
    assert [e.row for e in found if e.sign > 0] == [("a", 1, 5), ("b", 1, 5), ("c", 6, 9), ("d", 6, 9)]


def test_an_attribute_takes_the_part_of_time() -> None:
    laps = source("S", "lap int, name string")
    node = Window(laps, Range(1, on="lap"))
    found = run(node, {"S": events((0, 1, "a"), (1, 2, "b"), (2, 1, "c"), (3, 3, "d"), (4, 1, "late"), (5, None, "n"))})
    assert [(e.ts, e.sign, e.row[1]) for e in found] == [
        (0, 1, "a"), (1, 1, "b"), (2, 1, "c"), (3, -1, "a"), (3, -1, "c"), (3, 1, "d"),
    ]  # fmt: skip


def test_windows_over_an_attribute_end_with_the_tuple_that_passes_them_and_count_the_late() -> None:
    laps = source("S", "lap int, name string")
    node = Window(laps, SlideRange(2, 2, on="lap"))
    runner = Runner([node])
    found = runner.feed({"S": events((0, 0, "a"), (1, 1, "b"), (2, 2, "c"), (3, 1, "late"), (9, 7, "d"))}, [END])[node]
    assert [(e.ts, e.sign, e.row[1]) for e in found] == [(2, 1, "a"), (2, 1, "b"), (9, -1, "a"), (9, -1, "b")]
    operator = runner.operators[node]
    assert isinstance(operator, SlideAttributeWindow) and operator.late == 1


def test_bounds_that_the_attribute_cannot_hold_are_refused() -> None:
    node = Window(source("S", "lap int"), SlideRange(1.5, 1.5, on="lap"), bounds=True)
    with pytest.raises(PenstockError, match="window_start and window_end are int"):
        build(node, Context())


@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("spec", [SlideRange(1, 1), SlideRange(10, 1), SlideRange(1, 7)])
def test_a_year_without_tuples_costs_nothing(spec: WindowSpec, bounds: bool) -> None:
    node = Window(S, spec, bounds)
    gap = YEAR_US // 7 * 7
    fed = {"S": events((-gap, "a"), (0, "b"), (gap, "c"))}
    check(node, fed, [1])
    start = time.perf_counter()
    run(node, fed, [1, gap // 2])
    assert time.perf_counter() - start < 1.0


def numbers(rows: int, step: int = 1, first: int = 0) -> Train:
    """A train of four bigint columns."""
    ts = np.arange(first, first + rows) * step
    return Train([Vector(np.arange(rows)) for _ in range(4)], ts, arrival=ts)


WIDE = Source("W", Schema.parse("a bigint, b bigint, c bigint, d bigint"))


@pytest.mark.parametrize("specs", [[Range(999_999)], [Rows(1_000_000)], [Range(999_999), Rows(1_000_000), Range(5)],
                                   [SlideRange(1_000_000, 1_000)]])  # fmt: skip
def test_a_million_rows_of_four_columns_take_at_most_80_mb(specs: list[WindowSpec]) -> None:
    context = Context()
    windows = [build(Window(WIDE, spec), context) for spec in specs]
    for first in range(0, 2_000_000, 50_000):
        train = numbers(50_000, first=first)
        for window in windows:
            window.process([train], first + 50_000)
    stores = sum(store.nbytes for store in context.stores.values())
    assert len(context.stores) == 1
    assert 48e6 < stores + sum(w.nbytes() for w in windows) <= 80e6


def test_a_cold_key_does_not_hold_the_rows_of_the_others() -> None:
    window = build(Window(WIDE, Rows(2, ("a",))), Context())
    cold = numbers(1)
    window.process([cold], 1)
    for first in range(1, 100_000, 500):
        train = numbers(500, first=first)
        columns = [Vector(train.ts % 7 + 1), *train.columns[1:]]
        window.process([Train(columns, train.ts)], first + 500)
    assert window.nbytes() < 200_000


def test_gaps_between_windows_do_not_hold_the_tuples_in_them() -> None:
    for spec in (SlideRange(10, 100_000), SlideRows(10, 100_000)):
        window = build(Window(WIDE, spec), Context())
        for first in range(0, 90_000, 500):
            window.process([numbers(500, first=first)], first + 500)
        assert window.nbytes() < 200_000


@pytest.mark.parametrize("spec", [Range(5), Rows(2), SlideRange(4, 2), SlideRows(3, 1)])
def test_a_window_added_later_sees_only_what_comes_later(spec: WindowSpec) -> None:
    early, late = events((0, "a"), (1, "b")), events((5, "c"), (6, "d"), (9, "e"))
    context = Context()
    first = Runner([Window(S, Range(100))], context=context)
    first.feed({"S": early}, [5])
    node = Window(S, spec)
    second = Runner([node], context=context)
    first.feed({"S": late}, [END])
    assert net(second.feed({"S": late}, [END])[node]) == net_of_reference(node, {"S": late})


def test_windows_say_when_they_change_next() -> None:
    fed = {"S": events((10, "a"), (12, "b"))}
    wanted: list[tuple[WindowSpec, int | None]] = [
        (Range(5), 16), (Range(None), None), (Rows(1), None), (SlideRange(4, 2), 16), (SlideRange(8, 8), 16),
    ]  # fmt: skip
    for spec, instant in wanted:
        runner = Runner([Window(S, spec)])
        runner.feed(fed, [13 if isinstance(spec, Range | Rows) else 15])
        assert runner.operators[Window(S, spec)].next_instant() == instant, spec
