"""Aggregates over sliding windows: against the naive reference, Aurora's examples, and what users see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.nodes import Window, WindowAggregate
from penstock.plan.schema import Schema
from penstock.plan.types import STRING
from penstock.plan.windows import END, SlideRange, SlideRows, Sliding
from tests.operators.harness import TYPES, Element, Runner, check, cuts, elements, events, histories, run, source
from tests.operators.test_aggregate import call, calls

WINDOWS: tuple[Sliding, ...] = (
    SlideRange(4, 4), SlideRange(4, 2, 1), SlideRange(5, 3), SlideRange(3, 5, -1), SlideRange(7, 1), SlideRange(2, 6),
    SlideRows(3, 1), SlideRows(2, 2), SlideRows(5, 2, 1), SlideRows(2, 3, -2), SlideRows(3, 2, 0, ("k",)),
    SlideRows(1, 1), SlideRows(2, 1, 0, ("c0",)),
)  # fmt: skip


@given(st.data())
def test_every_aggregate_of_every_type_equals_its_reference(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
    columns = "k int, " + ", ".join(f"c{i} {t}" for i, t in enumerate(kinds))
    schema = Schema.parse(columns)
    keys = data.draw(st.sampled_from([(), ("k",), ("k", "c0")]))
    made = calls(schema, [f"c{i}" for i in range(len(kinds))])
    node = WindowAggregate(source("S", columns), data.draw(st.sampled_from(WINDOWS)), keys, made)
    history = data.draw(histories(schema, placed=data.draw(st.booleans())))
    check(node, {"S": history}, data.draw(cuts()))


ATTRIBUTE_WINDOWS = st.builds(
    SlideRange, st.sampled_from([1, 3, 4]), st.sampled_from([1, 2, 3, 5]), st.sampled_from([0, -1, 7]), st.just("a")
)


@given(st.data())
def test_windows_over_an_attribute(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["int", "bigint", "double", "timestamp", "decimal(5,2)"]))
    columns = f"k int, a {kind}, s string"
    schema = Schema.parse(columns)
    made = (*calls(schema, ["s"]), call(schema, "sum", "k"))
    node = WindowAggregate(source("S", columns), data.draw(ATTRIBUTE_WINDOWS), ("k",), made)
    check(node, {"S": data.draw(histories(schema))}, data.draw(cuts()))


@pytest.mark.parametrize("slide", [1, 2, 3])
@pytest.mark.parametrize("origin", [0, -5, 7])
def test_no_window_over_an_attribute_has_a_bound_that_64_bits_do_not_hold(slide: int, origin: int) -> None:
    """Those that begin before the least number or end after the greatest do not exist."""
    least, greatest = -(1 << 63), (1 << 63) - 1
    places = [least, least + 1, least + 9, 0, greatest - 9, greatest - 1, greatest]
    fed = {"S": events(*((t, 1, a) for t, a in enumerate(places)))}
    schema = Schema.parse("k int, a bigint")
    window = SlideRange(7, slide, origin, "a")
    node = WindowAggregate(source("S", "k int, a bigint"), window, ("k",), (call(schema, "count", None),))
    check(node, fed, [3])
    found = [e for e in run(node, fed) if e.row[2] < least + 20]
    assert found and all(e.row[2] > least and e.row[3] == e.row[2] + 7 for e in found)
    check(Window(source("S", "k int, a bigint"), window), fed, [3])


def over(
    window: Sliding, *functions: str, keys: tuple[str, ...] = (), columns: str = "k int, x int"
) -> WindowAggregate:
    """Aggregates of x over a window of S; of all rows where a function is written with a star."""
    schema = Schema.parse(columns)
    made = tuple(call(schema, f.rstrip("*"), None if f.endswith("*") else "x") for f in functions)
    return WindowAggregate(source("S", columns), window, keys, made)


def shown(node: WindowAggregate, *rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """(timestamp, values...) of the elements."""
    return [(e.ts, *e.row) for e in run(node, {"S": events(*rows)})]


def test_window_drop_in_action_averages_of_three() -> None:
    """Slides, window drop in action: 30, 10, 20 in a tumbling window of size 3 average 20. Aurora stamps it 1, its
    first tuple's time; here it is stamped with the window's end, 4, and carries 1 as its start (ERRATA 3).
    """
    node = over(SlideRange(3, 3, 1), "avg")
    assert shown(node, (1, 0, 30), (2, 0, 10), (3, 0, 20), (4, 0, 30)) == [(4, 20.0, 1, 4), (7, 30.0, 4, 7)]


def test_section_4_5_1_inputs_of_a_pipeline() -> None:
    """A1(3,2) then A2(3,3), one tuple an instant from 1 on, windows anchored at 1: the result that the thesis stamps
    1 is made of inputs [1, 6). A1's results lie at window starts 1 and 3, stamped with their ends 4 and 6, so A2 is
    anchored at 4.
    """
    inner = over(SlideRange(3, 2, 1), "count*")
    outer = WindowAggregate(
        inner, SlideRange(3, 3, 4), (), (call(inner.schema, "sum", "count_all"), call(inner.schema, "count"))
    )
    found = [(e.ts, e.row) for e in run(outer, {"S": events(*((t, 0, t) for t in range(1, 13)))})]
    assert (7, (6, 2, 4, 7)) in found


def test_windows_before_the_first_tuple_exist() -> None:
    node = over(SlideRange(4, 1), "count*")
    assert shown(node, (0, 0, 0)) == [(1, 1, -3, 1), (2, 1, -2, 2), (3, 1, -1, 3), (4, 1, 0, 4)]
    by_rows = over(SlideRows(3, 1), "count*", "first", "last")
    expected = [(5, 1, 8, 8, 5, 5), (6, 2, 8, 9, 5, 6), (6, 3, 8, 7, 5, 6), (9, 3, 9, 6, 6, 9)]
    assert shown(by_rows, (5, 0, 8), (6, 0, 9), (6, 0, 7), (9, 0, 6)) == expected


def test_a_window_over_time_is_emitted_when_its_end_is_final() -> None:
    runner = Runner([node := over(SlideRange(4, 2), "sum")])
    rows = events((0, 0, 1), (3, 0, 5))
    assert runner.feed({"S": rows}, [4])[node] == [Element(2, 1, (1, -2, 2))]
    assert runner.operators[node].next_instant() == 4
    assert runner.feed({}, [5])[node] == [Element(4, 1, (6, 0, 4))]
    assert runner.feed({}, [END])[node] == [Element(6, 1, (5, 2, 6))]
    assert runner.operators[node].next_instant() is None


def test_windows_over_rows_do_not_close_at_the_end_of_time() -> None:
    assert shown(over(SlideRows(2, 2), "sum"), (0, 0, 1), (1, 0, 2), (2, 0, 4)) == [(1, 3, 0, 1)]


def test_distinct_values_that_are_all_null() -> None:
    """A reading carries no value: nothing may be looked up for it."""
    columns = "d decimal(30,2)"
    schema = Schema.parse(columns)
    for window in (SlideRange(4, 4), SlideRange(4, 2)):
        made = (call(schema, "sum", "d", distinct=True), call(schema, "count", "d", distinct=True))
        node = WindowAggregate(source("S", columns), window, (), made)
        assert run(node, {"S": events((0, None))})[0].row[:2] == (None, 0)


def test_the_best_of_a_sliding_window_in_any_order() -> None:
    """Rising, falling and mixed values, many windows: rings grow, wrap around and shrink."""
    for turn in (1, -1, 7):
        rows = [(t, t % 3, t * turn % 101 if turn == 7 else t * turn) for t in range(400)]
        node = over(SlideRange(60, 3), "min", "max", "first", "last", keys=("k",))
        check(node, {"S": events(*rows)}, range(0, 400, 37))


def test_a_gap_of_any_length_costs_nothing() -> None:
    node = over(SlideRange(10, 1), "count*")
    far = 1 << 55
    assert len(shown(node, (0, 0, 1), (far, 0, 1))) == 20


def test_rows_between_hopping_windows_are_in_none() -> None:
    node = over(SlideRange(2, 5), "count*")
    assert shown(node, (0, 0, 0), (1, 0, 0), (2, 0, 0), (4, 0, 0), (6, 0, 0)) == [(2, 2, 0, 2), (7, 1, 5, 7)]


def test_an_attribute_ends_windows_and_makes_tuples_late() -> None:
    node = over(SlideRange(10, 5, 0, "x"), "count*", keys=())
    runner = Runner([node])
    history = events((0, 0, 3), (1, 0, 12), (2, 0, 4), (3, 0, 7), (4, 0, 16), (5, 0, None), (6, 0, 15))
    found = [(e.ts, *e.row) for e in runner.feed({"S": history}, [END])[node]]
    assert found == [(1, 1, -5, 5), (1, 1, 0, 10), (4, 2, 5, 15)]
    assert runner.operators[node].late == 1, (
        "4 came after windows [-5, 5) and [0, 10) had ended; 7 still lies in [5, 15)"
    )


def test_the_arrival_is_the_oldest_of_the_windows_oldest_pane() -> None:
    operator = Runner([node := over(SlideRange(4, 2), "sum")]).operators[node]
    train = Train([Vector(np.zeros(3, np.int64))] * 2, np.array([0, 1, 2]), arrival=np.array([70, 60, 90]))
    out = operator.process([train], 20)
    assert list(zip(out.ts.tolist(), out.arrival.tolist(), strict=True)) == [(2, 60), (4, 60), (6, 90)]


def test_panes_and_groups_are_given_back() -> None:
    """New keys all the time: memory stays that of one window."""
    columns = "k int, x string"
    node = WindowAggregate(source("S", columns), SlideRange(40, 10), ("k",), calls(Schema.parse(columns), ["x"]))
    runner, sizes = Runner([node]), []
    for t in range(0, 1000, 50):
        runner.feed({"S": events(*((t + i, t + i, str(t + i)) for i in range(50)))}, [t + 50])
        sizes.append(runner.operators[node].nbytes())
    assert sizes[-1] == sizes[3]


def test_a_copy_after_a_stop_goes_on() -> None:
    columns = "k int, x double, s string"
    node = WindowAggregate(source("S", columns), SlideRange(5, 2), ("k",), calls(Schema.parse(columns), ["x", "s"]))
    rows = [(t, t % 2, t / 3, "ab"[t % 2]) for t in range(12)]
    runner = Runner([node])
    before = runner.feed({"S": events(*rows[:7])}, [7])[node]
    after = runner.copied().feed({"S": events(*rows[7:])}, [20])[node]
    assert before + after == Runner([node]).feed({"S": events(*rows)}, [7, 20])[node]


def test_the_dictionaries_keep_what_windows_hold() -> None:
    """Codes given back between trains are taken by other strings; what a window still shows must not be among them."""
    columns = "k string, x string"
    node = WindowAggregate(source("S", columns), SlideRange(6, 2), ("k",), calls(Schema.parse(columns), ["x"]))
    runner = Runner([node])
    found = []
    for t in range(0, 40, 2):
        found += runner.feed({"S": events((t, f"k{t % 6}", f"v{(t * 7) % 11}"), (t + 1, "k0", f"w{t}"))}, [t + 2])[node]
        dictionary = runner.context.dictionaries.of(STRING)
        live = np.zeros(len(dictionary.values), np.bool_)
        for kind, vector in runner.operators[node].vectors():
            if kind == STRING:
                live[vector.values if vector.nulls is None else vector.values[~vector.nulls]] = True
        dictionary.sweep(live)
    history = [e for t in range(0, 40, 2) for e in ((t, f"k{t % 6}", f"v{(t * 7) % 11}"), (t + 1, "k0", f"w{t}"))]
    assert found == [e for e in run(node, {"S": events(*history)}) if e.ts < 40]


def test_partial_results_from_a_source_stand_for_rows() -> None:
    columns = "k int, x double, n bigint"
    schema = Schema.parse(columns)
    functions = [
        ("count", None),
        ("count", "x"),
        ("sum", "x"),
        ("avg", "n"),
        ("min", "x"),
        ("max", "n"),
        ("stddev", "x"),
    ]
    node = WindowAggregate(
        source("S", columns), SlideRange(6, 2), ("k",), tuple(call(schema, f, a) for f, a in functions)
    )
    rows = [(t, t % 2, t / 4, t * t) for t in range(24)]
    expected = run(node, {"S": events(*rows)})
    operator = Runner([node]).operators[node]
    panes = sorted({(t // 2, k) for t, k, _, _ in rows})
    lists = [(p * 2, k, [r[2:] for r in rows if (r[0] // 2, r[1]) == (p, k)]) for p, k in panes]
    out = operator.process_panes(partials(lists), END)
    assert elements(out, node.schema, Dictionaries()) == expected


def partials(panes: list[tuple[int, int, list[tuple[float, int]]]]) -> Train:
    """What a source sends for `functions` above: (timestamp, key, the pane's (x, n))."""
    rows = []
    for _, key, members in panes:
        x, n = [m[0] for m in members], [m[1] for m in members]
        mean = sum(x) / len(x)
        spread = sum((v - mean) ** 2 for v in x)
        split = (len(n), sum(v >> 32 for v in n), sum(v & 0xFFFFFFFF for v in n))
        rows.append((key, len(x), len(x), len(x), sum(x), *split, min(x), max(n), len(x), sum(x), spread))
    columns = [Vector(np.array(c)) for c in zip(*rows, strict=True)]
    return Train(columns, np.array([t for t, _, _ in panes]))
