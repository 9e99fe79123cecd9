"""Istream, Dstream and Rstream drawn by hand (see `timeline`)."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.operators.base import Context, Event
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.operators.registry import build
from penstock.plan.node import Node
from penstock.plan.nodes import Distinct, DStream, Except, IStream, RStream, Table, Union, Window
from penstock.plan.schema import Schema
from penstock.plan.windows import BEGIN, END, Range, Rows, SlideRange
from penstock.testing import evaluate
from tests.operators.harness import Runner, check, events, net, run, source
from tests.operators.timeline import S, show


def test_istream_over_now_emits_one_of_two_equal_rows_one_microsecond_apart() -> None:
    show(IStream(Window(S, Range(0))), """
        at      0   1   2   3   4   5   END
        in      a   a   b   .   b   bb  .
        out     a   .   b   .   b   b   .""")  # fmt: skip


def test_dstream_emits_what_leaves() -> None:
    show(DStream(Window(S, Range(1))), """
        at      0   1   2   3   4   5   END
        in      a   b   a   .   .   .   .
        out     .   .   .   b   a   .   .""")  # fmt: skip


def test_a_row_that_is_replaced_by_its_equal_does_not_show() -> None:
    show(IStream(Window(S, Rows(1))), """
        at      0   1   2   3   END
        in      a   a   b   a   .
        out     a   .   b   a   .""")  # fmt: skip


def test_rstream_emits_all_at_each_net_change() -> None:
    show(RStream(Window(S, Rows(2))), """
        at      0   1   2   3   4   END
        in      a   a   a   .   b   .
        out     a   aa  .   .   ab  .""")  # fmt: skip


def test_rstream_over_a_slide_emits_at_every_boundary_even_without_a_change() -> None:
    tumbling = Window(S, SlideRange(2, 2))
    picture = """
        at      0   1   2   3   4   5   6   END
        in      a   .   .   a   .   .   .   .
        out     .   .   a   .   {again}   .   .   ."""
    show(RStream(tumbling), picture.replace("{again}", "."))
    show(RStream(tumbling, ((2, 2),)), picture.replace("{again}", "a"))


def test_rstream_s_boundaries_do_not_begin_with_loaded_rows() -> None:
    table = Table("T", Schema.parse("name string"))
    node = RStream(Union((table, Window(S, SlideRange(2, 2)))), ((2, 2),))
    fed = {"T": [Event(BEGIN, 0, ("t",))], "S": events((1, "a"), (5, "b"))}
    assert [(e.ts, e.row[0]) for e in run(node, fed)] == [
        (BEGIN, "t"), (2, "t"), (2, "a"), (4, "t"), (6, "t"), (6, "b"), (8, "t"),
    ]  # fmt: skip
    check(node, fed, [3])


def test_rstream_s_boundaries_last_as_long_as_anything_arrives() -> None:
    """What an unbounded window holds is there at every boundary; the other stream's last tuple ends them."""
    script = """CREATE STREAM s (a INT); CREATE STREAM t (a INT);
        CREATE QUERY q AS Rstream(SELECT a FROM s [Range 2 Slide 4] UNION SELECT a FROM t [Rows Unbounded])"""
    fed = [("t", 3, {"a": 1}), ("s", 4, {"a": 2}), ("t", 5, {"a": 1}), ("t", 18, {"a": 1})]
    for how in ({"engine": "reference"}, {}, {"batches": 1}, {"batches": 2, "lanes": 3}, {"close": False}):
        found = [(e.timestamp, e.values["a"]) for e in evaluate(script, fed, **how)["q"]]
        assert found == [(3, 1), (6, 1), (6, 2), (10, 1), (14, 1), (18, 1)], how


def test_changes_of_an_instant_that_cancel_do_not_show() -> None:
    left, right = source("A", "x int"), source("B", "x int")
    node = IStream(Except(Window(left, Rows(5)), Window(right, Rows(5)), all=True))
    fed = {"A": events((0, 1), (1, 2)), "B": events((0, 1), (3, 2))}
    assert net(run(node, fed)) == {(1, ((1, 2),)): 1}
    check(node, fed)


def test_a_derived_stream_has_no_places_and_keeps_arrivals_and_weights() -> None:
    ts = np.array([3, 3, 4])
    train = Train([Vector(np.array([1, 2, 3]))], ts, None, ts, ts - 10, np.array([1.0, 2.0, 4.0]))
    schema = Schema.parse("x bigint")
    stream = source("S", "x bigint")
    context = Context()
    window, emit = build(Window(stream, Range(0)), context), build(IStream(Window(stream, Range(0))), context)
    out = emit.process([window.process([train], END)], END)
    assert len(schema) == out.width and out.seq is None and out.ids is None and out.insertions_only
    assert out.arrival.tolist() == [-7, -7, -6]
    assert out.weight is not None and out.weight.tolist() == [1.0, 2.0, 4.0]


def test_rstream_keeps_the_sum_of_weights() -> None:
    stream = source("S", "x bigint")
    window = Window(stream, Rows(3))
    context = Context()
    operators = build(window, context), build(RStream(window), context)
    train = Train([Vector(np.array([7, 7, 8]))], np.array([0, 0, 1]), weight=np.array([1.0, 3.0, 5.0]))
    out = operators[1].process([operators[0].process([train], END)], END)
    assert out.weight is not None
    assert [float(out.weight[out.ts == t].sum()) for t in (0, 1)] == [4.0, 9.0]


@pytest.mark.parametrize("node", [RStream(Window(S, Range(3))), Distinct(Window(S, Range(3)))], ids=lambda n: n.label)
def test_what_is_kept_of_rows_goes_with_them(node: Node) -> None:
    runner = Runner([node])
    runner.feed({"S": events(*((t, str(t)) for t in range(3000)))}, range(0, 3000, 7))
    assert runner.operators[node].nbytes() < 20_000
    runner.feed({}, [END])
    assert [len(v) for _, v in runner.operators[node].vectors()] == [0]
