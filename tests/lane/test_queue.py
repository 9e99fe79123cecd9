"""Queues: what is taken out, in what order, and where a long queue is cut."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.lane.queue import Arc
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.schema import Schema
from penstock.plan.windows import BEGIN, END, LAST

SCHEMA = Schema.parse("a bigint")


def train(*ts: int) -> Train:
    return Train([Vector(np.array(ts, np.int64))], np.array(ts, np.int64))


def filled(*trains: Train, progress: int) -> Arc:
    arc = Arc(SCHEMA)
    for number, t in enumerate(trains, 1):
        arc.put(t, len(t), number)
    arc.progress = progress
    return arc


def test_a_new_queue_is_empty_at_the_beginning_of_time() -> None:
    arc = Arc(SCHEMA)
    assert (arc.rows, arc.progress, arc.oldest) == (0, BEGIN, 0)
    assert len(arc.take(END)) == 0


def test_taking_up_to_progress_takes_all_trains_in_order() -> None:
    arc = filled(train(1, 2), train(2, 5), progress=6)
    assert arc.take(6).ts.tolist() == [1, 2, 2, 5]
    assert (arc.rows, arc.trains, arc.numbers) == (0, [], [])


def test_one_train_is_handed_on_as_it_is() -> None:
    t = train(1, 2)
    assert filled(t, progress=3).take(3) is t


@pytest.mark.parametrize(
    ("until", "taken", "left", "oldest"),
    [(1, [], [1, 2, 2, 5, 7], 1), (2, [1], [2, 2, 5, 7], 1), (3, [1, 2, 2], [5, 7], 2), (7, [1, 2, 2, 5], [7], 3)],
)
def test_taking_less_than_progress_splits_trains(until: int, taken: list[int], left: list[int], oldest: int) -> None:
    arc = filled(train(1, 2), train(2, 5), train(7), progress=9)
    assert arc.take(until).ts.tolist() == taken
    assert (arc.rows, arc.oldest) == (len(left), oldest)
    assert arc.take(9).ts.tolist() == left


def test_what_is_stamped_last_leaves_at_the_end() -> None:
    arc = filled(train(1, LAST), progress=END)
    assert arc.take(2).ts.tolist() == [1]
    assert arc.take(END).ts.tolist() == [LAST]


@pytest.mark.parametrize(
    ("stamps", "rows", "instant"),
    [([1, 2, 3], 3, None), ([1, 2, 3], 2, 3), ([1, 1, 1, 4], 1, 4), ([1, 1, 1], 1, None), ([1, 2, 2, 2, 3], 2, 2)],
)
def test_a_cut_leaves_about_so_many_rows_and_one_instant_at_least(
    stamps: list[int], rows: int, instant: int | None
) -> None:
    assert filled(train(*stamps[:1]), train(*stamps[1:]), progress=9).cut(rows) == instant


def test_dropping_forgets_what_is_earlier() -> None:
    arc = filled(train(1, 2), train(3), progress=4)
    arc.drop_before(2)
    assert arc.rows == 2
    assert arc.take(4).ts.tolist() == [2, 3]


def test_a_copy_has_the_same_content_and_a_life_of_its_own() -> None:
    arc = filled(train(1, 2), progress=4)
    copy = arc.copy(None)
    arc.take(4)
    assert copy.take(4).ts.tolist() == [1, 2]
