"""The worked examples of Babu chapter 4, with the thesis' numbers."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.adapt.a_greedy import AGreedy
from penstock.adapt.independent import Independent
from penstock.adapt.local_swaps import LocalSwaps
from penstock.adapt.matrix_view import NEVER, MatrixView
from penstock.adapt.ordering import Filters, Windowed
from penstock.adapt.orders import Statistics, optimal, static_greedy, unit_cost
from penstock.stats.profile_window import ProfileWindow
from tests.adapt.streams import measured, probes, words

INPUT = (1, 2, 1, 4, 7, 2, 5, 4)
PROFILED = (2, 4, 7, 2, 5, 4)
TABLES = ({1, 2, 4, 3}, {1, 2, 7, 6}, {1, 7, 5, 8}, {1, 2, 7, 9})
"""What the tables must hold of the values in figure 4.2 follows from the profile bits of figure 4.3; each of four."""
F1, F2, F3, F4 = 0, 1, 2, 3
EVEN = np.ones(4)


def test_example_4_2_1_probes_of_three_orders() -> None:
    bits = words(INPUT, TABLES)
    assert probes(bits, (F1, F2, F3, F4)) == 20
    assert probes(bits, (F3, F2, F4, F1)) == 18
    assert probes(bits, (F3, F1, F2, F4)) == 16
    statistics = Statistics(bits[bits != 0], EVEN, passing=2)
    assert unit_cost((F3, F1, F2, F4), statistics) * 8 == 16
    assert unit_cost(optimal(statistics), statistics) * 8 == 16


def test_example_4_3_1_the_profile_window_of_figure_4_3() -> None:
    window = ProfileWindow(6, 4)
    bits = words(INPUT, TABLES)
    window.push(bits[bits != 0])
    rows = [[int(word >> f & 1) for f in range(4)] for word in window.bits()]
    assert rows == [[0, 0, 1, 0], [0, 1, 1, 1], [1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1]]


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_section_4_3_1_how_many_selectivities_there_are_and_how_many_are_checked(n: int) -> None:
    """Each filter after each set of others: n 2^(n-1). Checked are V[i, j] for i < n and j >= i: (n+2)(n-1)/2."""
    assert sum(1 for f in range(n) for others in range(1 << n) if not others >> f & 1) == n * 2 ** (n - 1)
    assert sum(1 for i in range(n - 1) for _ in range(i, n)) == (n + 2) * (n - 1) // 2


def test_example_4_3_2_the_matrix_view_of_figure_4_4() -> None:
    view = MatrixView((F3, F1, F2, F4))
    view.count(words(PROFILED, TABLES), 1)
    assert view.entries.tolist() == [[4, 2, 3, 3], [0, 2, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert view.violation(EVEN) == NEVER
    assert static_greedy(Statistics(words(PROFILED, TABLES), EVEN)) == (F3, F1, F2, F4)


def test_example_4_3_3_violation_of_the_greedy_invariant() -> None:
    """Tuples 3 and 6 arrive, both dropped by F4 (and F3, F2 or F1 as the tables say); 2 and 4 leave. A violation in the
    first place; F4 comes first, then F3, F1, F2."""
    tables = (TABLES[0], TABLES[1], TABLES[2] | {6}, TABLES[3])
    window, view = ProfileWindow(6, 4), MatrixView((F3, F1, F2, F4))
    for word in words((*PROFILED, 3, 6), tables):
        gone = window.push(np.array([word]))
        view.count(gone, -1)
        view.count(np.array([word]), 1)
    assert view.entries[0].tolist() == [3, 3, 3, 4]
    assert view.violation(EVEN) == 0
    view.correct(EVEN, window.bits())
    assert view.order.tolist() == [F4, F3, F1, F2]
    assert view.violation(EVEN) == NEVER
    assert view.entries.tolist() == scanned(view.order.tolist(), window.bits()).entries.tolist()


def scanned(order: list[int], bits: np.ndarray) -> MatrixView:
    view = MatrixView(order)
    view.scan(bits)
    return view


@pytest.mark.parametrize("n", [3, 4, 10])
def test_example_4_5_1_independent_misses_what_filters_have_in_common(n: int) -> None:
    """0.49 n + 0.51 filters a tuple against 1.49, which is optimal."""
    tables = [set(range(1, 50))] * (n - 1) + [set(range(50, 101))]
    bits = words(range(1, 101), tables)
    statistics = Statistics(bits, np.ones(n))
    filters = Filters((0,) * n, (1.0,) * n)
    orders = {}
    for kind in (Independent, AGreedy):
        ordering = kind(filters, 1.0, 1000, 1.0)
        ordering.see(measured(bits, [1.0] * n))
        better = ordering.better(tuple(range(n))[::-1])
        orders[kind] = better.order if better else tuple(range(n))[::-1]
    assert orders[Independent][-1] == n - 1
    assert unit_cost(orders[Independent], statistics) == pytest.approx(0.49 * n + 0.51)
    assert orders[AGreedy].index(n - 1) == 1
    assert unit_cost(orders[AGreedy], statistics) == pytest.approx(1.49)
    assert unit_cost(optimal(statistics), statistics) == pytest.approx(1.49)


@pytest.mark.parametrize("n", [4, 5, 10])
def test_example_4_6_1_local_swaps_stays_in_a_local_optimum(n: int) -> None:
    """Filter i drops the i-th slice of 100/n; then F_n drops all but the slice of F_(n-1). A tuple costs (n+1)/2
    filters in the order as it was (LocalSwaps sees no violation) and 1 + 1/n in A-Greedy's: per tuple, what the thesis
    prints as 50(n+1) and 1 + 200/n."""
    width = 100 // n
    everything = set(range(1, 101))
    tables = [everything - set(range(i * width + 1, (i + 1) * width + 1)) for i in range(n)]
    tables[-1] = set(range((n - 2) * width + 1, (n - 1) * width + 1))
    bits = words(range(1, 101), tables)
    statistics = Statistics(bits, np.ones(n))
    before = tuple(range(n))
    found: dict[type[Windowed], tuple[int, ...]] = {}
    for kind in (LocalSwaps, AGreedy):
        ordering = kind(Filters((0,) * n, (1.0,) * n), 1.0, 1000, 1.0)
        assert ordering.better(before) is None
        ordering.see(measured(bits, [1.0] * n))
        better = ordering.better(before)
        found[kind] = better.order if better else before
    assert found[LocalSwaps] == before
    assert found[AGreedy][:2] == (n - 1, n - 2)
    assert unit_cost(found[AGreedy], statistics) == pytest.approx(1 + 1 / n)
    assert unit_cost(optimal(statistics), statistics) == pytest.approx(1 + 1 / n)
    # In the order as it was the slices before the last cost their number, the last filter meets its own in place n.
    assert unit_cost(before, statistics) == pytest.approx((n + 1) / 2)
