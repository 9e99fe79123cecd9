"""Table 4.3 and the worked examples of specifications, and the naive twin against dropped batches (tau, U)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.drops.window_drop import whole
from penstock.operators.drops.window_specs import Decoded, Marked, aggregated, decode, filtered, mark, reference, united
from penstock.shed.window_rules import Spec, fan_out, pipeline

WITHIN, BEYOND, SIZE, T = 20, 5, 4, 10


@pytest.mark.parametrize(
    ("starts", "spec", "keep_until", "expected"),
    [
        (True, 30, WITHIN, Decoded(True, 27, 27, False)),
        (True, 30, BEYOND, Decoded(True, 27, 27, False)),
        (True, 0, WITHIN, Decoded(True, WITHIN, 0, False)),
        (True, 0, BEYOND, Decoded(False, BEYOND, 0, True)),
        (True, -1, WITHIN, Decoded(True, WITHIN, -1, False)),
        (True, -1, BEYOND, Decoded(False, BEYOND, -1, False)),
        (False, 30, WITHIN, Decoded(False, 27, 27, True)),
        (False, 30, BEYOND, Decoded(False, 27, 27, True)),
        (False, 0, WITHIN, Decoded(False, WITHIN, 0, True)),
        (False, 0, BEYOND, Decoded(False, BEYOND, 0, True)),
        (False, -1, WITHIN, Decoded(False, WITHIN, -1, False)),
        (False, -1, BEYOND, Decoded(False, BEYOND, -1, False)),
    ],
)
def test_table_4_3_without_the_extension(starts: bool, spec: int, keep_until: int, expected: Decoded) -> None:
    assert decode(starts, spec, T, keep_until, SIZE) == expected


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_slides_window_drop_in_action() -> None:
    """Values 30, 10, 20, then 30, with 4, -1, -1, 0: one result, 20 at time 1, whose specification is 4 - 2."""
    marked = [Marked(1, 4, 30), Marked(2, -1, 10), Marked(3, -1, 20), Marked(4, 0, 30)]
    made = aggregated(marked, 1, 3, 3, mean)
    assert reference(made) == [(1, 20)]
    assert made[0].spec == 2
    assert mark([(1, 30), (2, 10), (3, 20), (4, 30)], 1, 3, 3, [4])[:3] == marked[:3]


def test_the_printed_extension_would_deliver_a_wrong_count() -> None:
    """Figure 4.4's case: WinDrop(7,6), the first window kept and the second dropped. A1(3,2) may not open at 7."""
    marked = mark([(t, 1) for t in range(1, 13)], 1, 6, 7, [7])
    assert {m.t for m in marked if not m.fake} == set(range(1, 8))
    assert reference(aggregated(marked, 1, 2, 3, len)) == [(1, 3), (3, 3), (5, 3)]


def wcf(t: int, size: int, slide: int, theta: int) -> int:
    """Definition 7: to how many consecutive windows a tuple belongs."""
    m, phi = divmod(size, slide)
    i = (t - theta) // slide
    return i + 1 if i < m else m + 1 if t <= theta + (i - m) * slide + size - 1 and phi else m


def test_example_4_7_window_count_function() -> None:
    assert [wcf(t, 5, 2, 0) for t in range(9)] == [1, 1, 2, 2, 3, 2, 3, 2, 3]
    assert all(wcf(t, 3, 3, 0) == 1 for t in range(20))


@given(st.integers(1, 8), st.integers(0, 12), st.integers(-3, 3), st.integers(0, 60))
def test_the_window_count_function_counts_windows(slide: int, more: int, theta: int, after: int) -> None:
    size, t = slide + more, theta + after
    counted = sum(s <= t < s + size for s in range(theta, t + 1, slide))
    assert wcf(t, size, slide, theta) == counted


specs = st.builds(lambda slide, more: Spec(slide + more, slide), st.integers(1, 5), st.integers(0, 5))
levels = st.lists(specs, min_size=1, max_size=3)
arrivals = st.lists(st.integers(1, 60), min_size=1, max_size=50)


def counted(tuples: list[tuple[int, int]], side: Spec) -> list[tuple[int, int]]:
    """The exact answer: (start, count) of each window that holds something."""
    last = max((t for t, _ in tuples), default=0)
    starts = range(1, last + 1, side.slide)
    held = [(s, sum(s <= t < s + side.size for t, _ in tuples)) for s in starts]
    return [(s, n) for s, n in held if n]


def batches_of(dropped: Sequence[int], slide: int, size: int) -> list[tuple[int, int]]:
    """(tau, U) of each run of dropped windows."""
    first = [s for s in dropped if s - slide not in dropped]
    ends = [next(e for e in range(s, s + 10_000, slide) if e not in dropped) for s in first]
    return [(s - slide + size, e) for s, e in zip(first, ends, strict=True)]


@given(levels, arrivals, st.data())
@settings(max_examples=200, deadline=None)
def test_specifications_open_the_windows_that_dropped_batches_leave(
    sides: list[Spec], ts: list[int], data: st.DataObject
) -> None:
    """Down a pipeline, with a filter before each aggregate: what the thesis's marks let through is what (tau, U) does,
    and it is exact."""
    drop = pipeline(*sides)
    starts = list(range(1 + drop.slide, max(ts) + 1, drop.slide))
    dropped = [s for s in starts if data.draw(st.booleans())]
    batches = batches_of(dropped, drop.slide, drop.size)
    bound = data.draw(st.integers(0, 3))
    exact = [(t, t % 4) for t in sorted(ts)]
    marked = mark([(t, t % 4) for t in ts], 1, drop.slide, drop.size, dropped)
    for side in sides:
        exact = counted([(t, v) for t, v in exact if v >= bound], side)
        marked = aggregated(filtered(marked, lambda v: bool(v >= bound)), 1, side.slide, side.size, len)
        windows = [(t, t + side.size) for t, _ in exact]
        left = [e for e, stays in zip(exact, whole(windows, batches), strict=True) if stays]
        assert reference(marked) == left
        batches = [(tau - (side.size - 1), until) for tau, until in batches]


@given(specs, specs, arrivals, arrivals, st.data())
@settings(max_examples=100, deadline=None)
def test_specifications_over_a_union_and_behind_a_split(
    a: Spec, b: Spec, left: list[int], right: list[int], data: st.DataObject
) -> None:
    drop = fan_out(a, b)
    ts = sorted([*left, *right])
    dropped = [s for s in range(1 + drop.slide, max(ts) + 1, drop.slide) if data.draw(st.booleans())]
    batches = batches_of(dropped, drop.slide, drop.size)
    parts = [mark([(t, t) for t in side], 1, drop.slide, drop.size, dropped)
             for side in (left, right)]  # fmt: skip
    for side in (a, b):
        made = dict(reference(aggregated(united(*parts), 1, side.slide, side.size, len)))
        for start in range(1, max(ts) + 1, side.slide):
            held = sum(start <= t < start + side.size for t in ts)
            stays = whole([(start, start + side.size)], batches)[0]
            if start in made:
                assert stays and made[start] == held
            elif held and max(left) >= start + side.size <= max(right):
                assert not stays
