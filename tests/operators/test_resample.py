"""Aurora's Resample."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.base import Stream
from penstock.plan.nodes import Resample, Window
from penstock.plan.windows import END, Rows
from tests.operators.harness import check, cuts, events, histories, run, source

A = source("A", "k int, s string")
B = source("B", "d double, k int, e decimal(5,2)")
FED = st.fixed_dictionaries({"A": histories(A.schema), "B": histories(B.schema)})


@given(st.integers(0, 6), FED, cuts(), st.one_of(st.none(), st.integers(0, 99)))
def test_any_resample(within: int, fed: dict[str, Stream], where: list[int], shuffle: int | None) -> None:
    check(Resample(A, B, ("d", "k", "e"), within), fed, where, shuffle)


@given(st.integers(0, 6), FED, cuts())
def test_its_order_is_the_order_of_the_left_stream(within: int, fed: dict[str, Stream], where: list[int]) -> None:
    check(Window(Resample(A, B, ("d",), within), Rows(2)), fed, where)


@given(FED, cuts())
def test_it_may_wait_until_the_end_of_time(fed: dict[str, Stream], where: list[int]) -> None:
    check(Resample(A, B, ("d", "k"), END), fed, where)


def test_values_between_two_neighbours() -> None:
    left = events((1, 7, "x"), (6, 8, "y"), (9, 9, "z"))
    right = events((0, 10.0, 0, None), (4, 20.0, 0, None), (9, 5.0, 0, None))
    found = run(Resample(A, B, ("d",), 4), {"A": left, "B": right}, [2, 5])
    assert [(e.ts, *e.row) for e in found] == [(4, 7, "x", 12.5), (9, 8, "y", 14.0), (9, 9, "z", 5.0)]


def test_neighbours_that_are_too_far_away() -> None:
    fed = {"A": events((5, 1, "one side"), (50, 2, "none")), "B": events((3, 10.0, 0, None), (9, 99.0, 0, None))}
    found = run(Resample(A, B, ("d",), 3), fed)
    assert [(e.ts, e.row[0], e.row[2]) for e in found] == [(8, 1, 10.0), (53, 2, None)]
