"""The input manager: reordering, progress, heartbeats, late arrivals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.lane.events import Arrival
from penstock.lane.input_manager import InputManager, StreamInput
from penstock.lane.reference import in_order
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.network import StreamDefinition
from penstock.plan.schema import Schema
from penstock.plan.windows import BEGIN, END
from penstock.settings import Settings

SCHEMA = Schema.parse("a bigint")


def stream(within_us: int | None, late: str = "keep") -> StreamInput:
    return StreamInput(StreamDefinition("s", SCHEMA, within_us=within_us, late=late), Settings())


def train(ts: list[int], first: int = 0) -> Train:
    stamps = np.array(ts, np.int64)
    return Train([Vector(stamps.copy())], stamps, seq=np.arange(first, first + len(ts)))


def read(t: Train) -> list[tuple[int, int]]:
    return list(zip(t.ts.tolist(), t.column(0).values.tolist(), strict=True))


def test_arrivals_are_put_in_order_within_the_bound() -> None:
    s = stream(within_us=5)
    s.arrive(train([10, 7, 12, 9]))
    assert read(s.release()) == []
    assert s.progress == 7
    s.arrive(train([16, 11], first=4))
    assert read(s.release()) == [(7, 7), (9, 9), (10, 10)]
    assert s.progress == 11


def test_progress_promises_that_nothing_earlier_follows_not_that_nothing_at_it_does() -> None:
    s = stream(within_us=0)
    s.arrive(train([3]))
    assert (read(s.release()), s.progress) == ([], 3)
    s.arrive(train([3]))
    s.heartbeat(4)
    assert read(s.release()) == [(3, 3), (3, 3)]


def test_a_late_arrival_is_kept_at_the_streams_current_time() -> None:
    s = stream(within_us=2)
    s.arrive(train([10, 7, 20]))
    s.heartbeat(END)
    assert read(s.release()) == [(10, 10), (10, 7), (20, 20)]
    assert (s.late_kept, s.late_dropped, s.rows) == (1, 0, 3)


def test_a_late_arrival_is_dropped_where_the_stream_says_so() -> None:
    s = stream(within_us=2, late="drop")
    s.arrive(train([10, 8, 7, 20]))
    s.heartbeat(END)
    assert read(s.release()) == [(8, 8), (10, 10), (20, 20)]
    assert (s.late_kept, s.late_dropped, s.rows) == (0, 1, 4)


def test_what_comes_after_a_heartbeat_promised_otherwise_is_late() -> None:
    s = stream(within_us=100)
    s.heartbeat(50)
    s.arrive(train([40, 60]))
    s.heartbeat(END)
    assert read(s.release()) == [(50, 40), (60, 60)]


def test_a_measured_bound_grows_with_the_skew() -> None:
    s = stream(within_us=None)
    s.arrive(train([10, 20]))
    assert (read(s.release()), s.progress) == ([(10, 10)], 20)
    s.arrive(train([30, 23, 17], first=2))
    s.release()
    assert (s.bound_us, s.late_kept, s.progress) == (7, 1, 23)


def test_each_stream_has_a_progress_of_its_own() -> None:
    manager = InputManager([StreamDefinition("s", SCHEMA, within_us=1), StreamDefinition("t", SCHEMA, within_us=1)])
    manager.arrive("s", train([10]))
    assert [(name, progress) for name, _, progress in manager.release()] == [("s", 9), ("t", BEGIN)]
    manager.heartbeat("t", 9)
    assert [(name, progress) for name, _, progress in manager.release()] == [("s", 9), ("t", 9)]


@pytest.mark.parametrize("ts", [BEGIN, END, END + 1])
def test_a_timestamp_outside_of_all_time_is_refused(ts: int) -> None:
    with pytest.raises(PenstockError, match="stream 's' has a timestamp outside of all time"):
        stream(0).arrive(train([ts]))


def test_an_unknown_stream_is_refused() -> None:
    with pytest.raises(PenstockError, match="unknown stream 'x'"):
        InputManager([]).heartbeat("x", 1)


def test_statistics_count_rows_and_measure_the_rate() -> None:
    s = stream(within_us=0)
    s.arrive(train([0, 500_000, 1_000_000]))
    found = s.statistics()
    assert (found.rows, found.rate, found.waiting, found.bound_us) == (3, 3.0, 3, 0)


@given(
    ts=st.lists(st.integers(-20, 20), max_size=20),
    cuts=st.lists(st.integers(0, 20), max_size=4),
    within_us=st.integers(0, 12),
    late=st.sampled_from(["keep", "drop"]),
)
def test_with_a_declared_bound_cuts_do_not_matter(ts: list[int], cuts: list[int], within_us: int, late: str) -> None:
    s = stream(within_us, late)
    released: list[tuple[int, int]] = []
    places = sorted({0, len(ts), *(c for c in cuts if c < len(ts))})
    for start, stop in pairwise(places):
        s.arrive(train(ts[start:stop], start))
        released += read(s.release())
    s.heartbeat(END)
    released += read(s.release())
    arrivals = [Arrival("s", t, i, (t,)) for i, t in enumerate(ts)]
    expected = sorted(in_order(s.definition, arrivals), key=lambda e: e[:2])
    assert released == [(e.ts, e.row[0]) for e in expected]
