"""The matrix view, kept up incrementally, is at any time what it would be from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from penstock.adapt.matrix_view import COLUMN, DIAGONALS, FULL, NEVER, ROW, MatrixView
from penstock.adapt.orders import static_greedy
from penstock.stats.profile_window import ProfileWindow
from tests.adapt.streams import correlated

Array = npt.NDArray[Any]
STEPS = 10_000


def by_definition(order: list[int], bits: Array) -> list[list[int]]:
    """V[i, j] as Babu 4.3.2 defines it."""
    n = len(order)
    rows = []
    for i in range(n):
        left = [w for w in bits.tolist() if not any(w >> order[k] & 1 for k in range(i))]
        rows.append([sum(w >> order[j] & 1 for w in left) if j >= i else 0 for j in range(n)])
    return rows


def kept(shape: int, column: int, i: int, j: int) -> bool:
    """Figure 4.9."""
    if shape == FULL:
        return i <= j
    if shape == ROW:
        return i == 0
    return (j == i and (shape == DIAGONALS or i <= column)) or (
        j == i + 1 if shape == DIAGONALS else j == column and i < j
    )


@pytest.mark.parametrize("shape", [FULL, COLUMN, ROW, DIAGONALS])
def test_the_view_is_what_it_would_be_from_scratch_after_each_of_many_steps(shape: int) -> None:
    rng = np.random.default_rng(shape)
    n = 5
    window, view = ProfileWindow(12, n), MatrixView(rng.permutation(n).tolist(), shape, 3)
    costs = np.ones(n)
    for step in range(STEPS):
        kind = rng.integers(8)
        if kind == 0:
            view.order[:] = rng.permutation(n)
            view.scan(window.bits())
        elif kind == 1 and shape == FULL:
            costs = rng.uniform(0.5, 2.0, n)
            view.correct(costs, window.bits())
            assert view.violation(costs) == NEVER
        else:
            bits = rng.integers(1, 1 << n, rng.integers(1, 4))
            view.count(window.push(bits), -1)
            view.count(bits, 1)
        wanted = by_definition(view.order.tolist(), window.bits())
        due = [[wanted[i][j] if kept(shape, 3, i, j) else 0 for j in range(n)] for i in range(n)]
        assert view.entries.tolist() == due, step


def test_a_correction_gives_the_order_and_the_view_of_the_greedy_algorithm() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        statistics = correlated(rng, int(rng.integers(2, 9)), 200)
        view = MatrixView(rng.permutation(statistics.filters).tolist())
        view.scan(statistics.bits)
        view.correct(statistics.costs, statistics.bits)
        assert view.entries.tolist() == by_definition(view.order.tolist(), statistics.bits)
        greedy = static_greedy(statistics)
        different = [i for i, (a, b) in enumerate(zip(view.order.tolist(), greedy, strict=True)) if a != b]
        # They may only differ behind the place from which nothing is left to drop.
        assert not different or not view.entries[different[0]].any()


def test_a_protected_filter_is_never_moved_before_its_protector() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        n = int(rng.integers(2, 8))
        protectors = [int(rng.integers(1 << i)) if rng.random() < 0.4 else 0 for i in range(n)]
        view = MatrixView(range(n), protectors=protectors)
        bits = rng.integers(1, 1 << n, 50)
        view.scan(bits)
        for _ in range(3):
            costs = rng.uniform(0.1, 2.0, n)
            view.correct(costs, bits)
            order = view.order.tolist()
            assert all(order.index(j) < order.index(i) for i in range(n) for j in range(n) if protectors[i] >> j & 1)
            assert view.violation(costs) == NEVER
