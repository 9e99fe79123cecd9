"""Workloads: rates, bursts, skew and correlation as stated, the same from the same seed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import PenstockError
from penstock.lane.arrival_processes import ArrivalProcess, Bursty, Constant, Poisson, Recorded
from penstock.lane.workload import Choice, CorrelatedFilters, Normal, Series, Uniform, Workload, Zipf, events_of

SECOND = 1_000_000
MINUTE = 60 * SECOND
PROCESSES = (Constant(300), Poisson(300), Bursty(1000, 0.5, 1.0), Bursty(1000, 0.5, 1.0, off_hz=50, tail=1.5))


def instants(process: ArrivalProcess, until_us: int = MINUTE, seed: int = 0) -> np.ndarray:
    return process.instants(until_us, np.random.default_rng(seed))


@pytest.mark.parametrize("process", PROCESSES)
def test_instants_are_in_order_and_inside(process: ArrivalProcess) -> None:
    found = instants(process)
    assert found.dtype == np.int64 and (np.diff(found) >= 0).all()
    assert found[0] >= 0 and found[-1] < MINUTE and len(instants(process, 0)) == 0


@pytest.mark.parametrize("process", PROCESSES)
def test_the_same_seed_gives_the_same_instants(process: ArrivalProcess) -> None:
    assert (instants(process, seed=3) == instants(process, seed=3)).all()
    assert isinstance(process, Constant) or len(instants(process, seed=3)) != len(instants(process, seed=4))


def test_a_constant_rate_is_exact() -> None:
    assert instants(Constant(3), SECOND).tolist() == [0, 333_333, 666_666]
    assert len(instants(Constant(2e6), SECOND)) == 2_000_000


def test_a_poisson_process_has_its_rate_and_its_variance() -> None:
    found = instants(Poisson(1000))
    assert abs(len(found) - 60_000) < 4 * 60_000**0.5
    a_second = np.bincount(found // SECOND, minlength=60)
    assert 0.5 < a_second.var() / a_second.mean() < 1.7


def test_bursts_have_their_mean_rate_and_vary_far_more_than_a_poisson_process() -> None:
    found = instants(Bursty(1000, 0.5, 1.5), 100 * MINUTE)
    assert len(found) / 6000 == pytest.approx(250, rel=0.1)
    a_tenth = np.bincount(found // (SECOND // 10), minlength=60_000)
    assert a_tenth.var() / a_tenth.mean() > 50


def test_heavy_tails_make_bursts_that_exponential_lengths_never_make() -> None:
    def longest_burst(tail: float | None) -> float:
        gaps = np.diff(np.flatnonzero(np.diff(instants(Bursty(200, 0.5, 0.5, tail=tail), 100 * MINUTE)) > SECOND // 4))
        return float(gaps.max())

    assert longest_burst(1.2) > 3 * longest_burst(None)


def test_recorded_instants_are_counted_from_the_first(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("100\n100\n\n107\n103\n")
    assert instants(Recorded(tmp_path / "trace")).tolist() == [0, 0, 3000, 7000]
    assert instants(Recorded(tmp_path / "trace", "seconds", speed=2)).tolist() == [0, 0, 1_500_000, 3_500_000]
    assert instants(Recorded(tmp_path / "trace"), 7000).tolist() == [0, 0, 3000]


def test_a_wrong_line_in_a_recording_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("1\ntwo\n")
    with pytest.raises(PenstockError, match="trace:2  'two' is no instant"):
        instants(Recorded(tmp_path / "trace"))
    with pytest.raises(PenstockError, match="cannot read arrival instants"):
        instants(Recorded(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(0), "the rate is 0: it must be positive"),
        (lambda: Poisson(float("nan")), "the rate is nan"),
        (lambda: Bursty(10, 1, 1, tail=1.0), "tail = 1.0 has no mean"),
        (lambda: Bursty(10, 1, 1, off_hz=-1), "cannot be negative"),
        (lambda: Recorded(Path("x"), "hours"), "unknown unit 'hours'"),
        (lambda: CorrelatedFilters(("a",), 1.5), "must lie between 0 and 1"),
        (lambda: CorrelatedFilters(("a",), 0.1), "cannot agree on 80%"),
    ],
)
def test_impossible_settings_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(PenstockError, match=message):
        make()


def test_zipf_shares() -> None:
    drawn = Zipf(100, 1.0).draw(200_000, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=100)
    assert counts[0] / counts[1] == pytest.approx(2, rel=0.05) and counts[0] / counts[9] == pytest.approx(10, rel=0.1)
    assert drawn.min() == 0 and drawn.max() == 99
    assert np.bincount(Zipf(10, 0).draw(100_000, np.random.default_rng(0))).min() > 9_500


@pytest.mark.parametrize(("selectivity", "agreement"), [(0.5, 0.8), (0.5, 1.0), (0.5, 0.5), (0.8, 0.9), (0.3, 0.7)])
def test_filters_of_a_group_agree_as_stated_and_pass_as_stated(selectivity: float, agreement: float) -> None:
    group = CorrelatedFilters(("a", "b", "c"), selectivity, agreement)
    drawn = group.draw(100_000, np.random.default_rng(1))
    passes = {c: v < group.bound for c, v in drawn.items()}
    for c, v in drawn.items():
        assert passes[c].mean() == pytest.approx(selectivity, abs=0.01)
        assert np.histogram(v, 10, (0, group.domain))[0] == pytest.approx(10_000, rel=0.1)
    for x, y in combinations("abc", 2):
        assert (passes[x] == passes[y]).mean() == pytest.approx(agreement, abs=0.01)


def test_filters_of_different_groups_are_independent() -> None:
    groups = (CorrelatedFilters(("a", "b"), 0.5), CorrelatedFilters(("c", "d"), 0.5))
    columns = Workload("S", Constant(100_000), {}, groups).generate(SECOND, 0).columns
    passes = {c: v < 5000 for c, v in columns.items()}
    assert (passes["a"] == passes["c"]).mean() == pytest.approx(0.5, abs=0.01)
    assert (passes["c"] == passes["d"]).mean() == pytest.approx(0.8, abs=0.01)


def test_a_column_does_not_depend_on_the_others_and_streams_differ() -> None:
    one = Workload("S", Constant(100), {"k": Uniform(0, 1000)}).generate(SECOND, 7).columns["k"]
    both = Workload("S", Constant(100), {"a": Normal(), "k": Uniform(0, 1000)}).generate(SECOND, 7).columns["k"]
    other = Workload("T", Constant(100), {"k": Uniform(0, 1000)}).generate(SECOND, 7).columns["k"]
    assert (one == both).all() and not (one == other).all()


def test_events_are_what_the_columns_hold() -> None:
    workload = Workload("S", Constant(2), {"n": Series(2, times=2), "s": Choice(("x",)), "d": Normal(5, 0)})
    assert workload.events(2 * SECOND, 0, start_us=10) == [
        ("S", 10 + i * SECOND // 2, {"n": i // 2, "s": "x", "d": 5.0}) for i in range(4)
    ]
    bare = Workload("T", Constant(1), {})
    assert [(s, ts) for s, ts, _ in events_of([workload, bare], SECOND, 0)] == [("S", 0), ("T", 0), ("S", 500_000)]
