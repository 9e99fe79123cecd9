"""Aurora's bounded-pass sort."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.operators.base import Stream
from penstock.plan.expressions import Column, Literal
from penstock.plan.functions import call
from penstock.plan.nodes import BSort, Filter, IStream, Window
from penstock.plan.types import INT
from penstock.plan.windows import LAST, Range, Rows
from tests.operators.harness import check, cuts, events, histories, run, source

S = source("S", "k int, s string, d double, b boolean, e decimal(30,2), a array<int>")
FED = st.fixed_dictionaries({"S": histories(S.schema)})


@given(st.sampled_from(S.schema.names), st.integers(0, 4), FED, cuts(), st.one_of(st.none(), st.integers(0, 99)))
def test_any_bsort(on: str, slack: int, fed: dict[str, Stream], where: list[int], shuffle: int | None) -> None:
    check(BSort(S, on, slack), fed, where, shuffle)


@given(st.integers(0, 3), FED, cuts())
def test_windows_see_the_sorted_order(slack: int, fed: dict[str, Stream], where: list[int]) -> None:
    check(Window(BSort(S, "k", slack), Rows(2)), fed, where)
    derived = IStream(Filter(Window(S, Range(2)), call(">", Column("k", INT), Literal(0, INT))))
    check(Window(BSort(derived, "d", slack), Rows(2)), fed, where)


def test_a_slack_of_one_is_one_pass_of_bubble_sort() -> None:
    fed = {"S": events(*((t, k, "", 0.0, True, None, None) for t, k in enumerate([3, 1, 2, 0, 4])))}
    found = [(e.ts, e.row[0]) for e in run(BSort(S, "k", 1), fed, [1, 3])]
    assert found == [(2, 1), (3, 2), (4, 0), (LAST, 3), (LAST, 4)]


def test_n_passes_sort_what_is_at_most_n_places_late() -> None:
    random.seed(5)
    values = sorted(range(200), key=lambda v: v + random.random() * 6)
    fed = {"S": events(*((t, k, "", 0.0, True, None, None) for t, k in enumerate(values)))}
    assert [e.row[0] for e in run(BSort(S, "k", 6), fed, range(0, 200, 7))] == list(range(200))
    assert [e.row[0] for e in run(BSort(S, "k", 0), fed)] == values


def test_a_negative_slack_is_refused() -> None:
    with pytest.raises(PenstockError, match="not a negative one"):
        BSort(S, "k", -1)
