"""What the accumulators stand on: exact sums, heaps, labels and sketches, each against the obvious."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.operators.aggregates.base import Rows
from penstock.operators.aggregates.best import Queue
from penstock.operators.aggregates.double_sum import DoubleSum
from penstock.operators.aggregates.extreme import ExtremeKeys
from penstock.operators.aggregates.integer_sum import IntegerSum
from penstock.operators.aggregates.linear import CARRY_AFTER, Linear
from penstock.operators.aggregates.naive import evaluate, to_float
from penstock.operators.aggregates.ordering import Labels, number_keys
from penstock.operators.aggregates.quantile import Quantile
from penstock.operators.aggregates.variance import Variance
from penstock.operators.columns.dictionary import Dictionary
from penstock.operators.columns.vector import Vector, words
from penstock.operators.kernels import sketch
from penstock.plan.nodes import AggregateCall
from penstock.plan.types import BIGINT, decimal

WIDEST = Decimal("9" * 27 + ".999")


def test_the_naive_average_of_decimals_compares_all_their_digits() -> None:
    call = AggregateCall("a", "avg", "x", decimal(34, 7))
    assert evaluate(call, decimal(30, 3), [WIDEST, WIDEST]) == WIDEST


FINITE = st.floats(allow_nan=False, allow_infinity=False)
EXTREME = st.sampled_from(
    [5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 1e308, -1e308, 1.0,
     -1.0, 1e16, 0.1, -0.1, 1e-200, 0.0, -0.0]
)  # fmt: skip
DOUBLES = st.lists(st.one_of(EXTREME, FINITE, st.floats(-1e12, 1e12)), min_size=1, max_size=12)


def of(values: list[float]) -> Rows:
    """Rows of slot 0."""
    return Rows(np.zeros(len(values), np.int64), Vector(np.array(values)))


def value(accumulator: Linear) -> float:
    """What slot 0 has."""
    return float(accumulator.read(np.array([0])).values[0])


def filled(accumulator: Linear, values: list[float]) -> Linear:
    """The accumulator with these in slot 0."""
    accumulator.resize(1)
    accumulator.add(of(values))
    return accumulator


@given(DOUBLES)
@example([1.7976931348623157e308, 1.7976931348623157e308, -1.7976931348623157e308])
@example([1e308, 5e-324, -1e308])
@example([1.0, 2.0**-53, 2.0**-1074])
@example([1.0, 2.0**-53])
@example([-1.0, -(2.0**-53), -(2.0**-60)])
def test_a_sum_is_the_exact_sum_rounded_once(values: list[float]) -> None:
    assert value(filled(DoubleSum(), values)) == to_float(sum(map(Fraction, values), Fraction()))


@given(DOUBLES, DOUBLES)
@example([5e-324], [1e308, -1.7976931348623157e308])
def test_what_leaves_leaves_nothing_behind(stay: list[float], leave: list[float]) -> None:
    accumulator = filled(DoubleSum(), stay + leave)
    accumulator.apply(of(leave)._replace(signs=np.full(len(leave), -1, np.int8)))
    assert value(accumulator) == to_float(sum(map(Fraction, stay), Fraction()))


@given(DOUBLES)
@example([1e9, 1e9 + 1e-7, 1e9 + 2e-7])
@example([1e155, -1e155, 1e155])
@example([5e-324, 0.0])
def test_a_variance_does_not_cancel(values: list[float]) -> None:
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    wanted = sum((x - mean) ** 2 for x in exact) / len(exact)
    found = value(filled(Variance(population=True), values))
    assert found == pytest.approx(to_float(wanted), rel=1e-15, abs=1e-323) if wanted < 2**1023 else found > 1e307
    assert found >= 0


def test_a_standard_deviation_need_not_overflow() -> None:
    assert value(filled(Variance(population=True, root=True), [1e308, -1e308])) == 1e308
    assert value(filled(Variance(population=True, root=True), [1e-200, -1e-200])) == 1e-200


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12))
@example([2**63 - 1] * 5)
@example([-(2**63)] * 3)
def test_sums_of_integers_do_not_overflow_on_the_way(values: list[int]) -> None:
    whole, mean = IntegerSum(), IntegerSum(mean=True)
    for accumulator in (whole, mean):
        accumulator.resize(1)
        accumulator.add(Rows(np.zeros(len(values), np.int64), Vector(np.array(values))))
    total = sum(values)
    found = whole.read(np.array([0]))
    assert (found.nulls is None) == (-(2**63) <= total < 2**63)
    assert found.nulls is not None or found.values[0] == total
    assert value(mean) == total / 1 / len(values)


@pytest.mark.parametrize("kind", [DoubleSum, Variance])
def test_limbs_carry_on_before_they_are_full(kind: type[Linear]) -> None:
    """As if there had been many rows: carrying changes no value."""
    values = [0.1, -1e10, 7.25, 1e-9] * 50
    accumulator, other = filled(kind(), values), filled(kind(), values)
    accumulator.load = CARRY_AFTER
    accumulator.add(of([]))
    accumulator.add(of(values))
    other.add(of(values))
    assert value(accumulator) == value(other)
    assert accumulator.load < CARRY_AFTER


def test_a_limb_that_is_nearly_full_still_counts() -> None:
    accumulator = filled(DoubleSum(), [1.0])
    accumulator.state[0, 1:] *= 1 << 29
    assert value(accumulator) == 2.0**29


@pytest.mark.parametrize("seed", range(4))
def test_a_queue_gives_the_best_of_what_is_left(seed: int) -> None:
    """Random coming and going in a few slots, at times only going, with many equal values."""
    random, queue = Random(seed), Queue(ExtremeKeys(BIGINT, seed % 2 == 1, None))
    queue.resize(3)
    live = [Counter[int]() for _ in range(3)]
    best = max if seed % 2 else min
    rows, expected = [], []
    for i in range(6000):
        slot = random.randrange(3)
        leaves = bool(live[slot]) and random.random() < (0.9 if (i // 500) % 2 else 0.3)
        number = random.choice(sorted(live[slot])) if leaves else random.randrange(200)
        live[slot][number] += -1 if leaves else 1
        live[slot] = +live[slot]
        rows.append((slot, number, -1 if leaves else 1))
        expected.append(best(live[slot], default=None))
    slots, numbers, signs = (np.array(c) for c in zip(*rows, strict=True))
    for cut in range(0, 6000, 750):
        part = slice(cut, cut + 750)
        marks = np.ones(750, np.bool_)
        found = queue.apply(Rows(slots[part], Vector(numbers[part]), signs[part].astype(np.int8), marks))
        nulls = np.zeros(750, np.bool_) if found.nulls is None else found.nulls
        shown = [None if n else v for v, n in zip(found.values.tolist(), nulls.tolist(), strict=True)]
        assert shown == expected[part]


def test_a_queue_does_not_grow_with_what_has_passed() -> None:
    """A sliding window over falling values, where the least never leaves the bottom of a lazy heap of the greatest."""
    for falling in (False, True):
        queue = Queue(ExtremeKeys(BIGINT, False, None))
        queue.resize(1)
        sizes = []
        for step in range(40):
            numbers = np.arange(step * 500, step * 500 + 500)
            gone = numbers - 1000
            both, signs = np.stack([numbers, gone], axis=1).reshape(-1), np.tile(np.array([1, -1], np.int8), 500)
            keep = (signs > 0) | (both >= 0)
            listed = -both[keep] if falling else both[keep]
            queue.apply(Rows(np.zeros(int(keep.sum()), np.int64), Vector(listed), signs[keep]))
            sizes.append(queue.nbytes())
        assert sizes[-1] == sizes[10]


def test_order_keys_of_doubles() -> None:
    ordered = np.array([-np.inf, -1e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, np.inf, np.nan])
    keys = number_keys(words(Vector(ordered)), double=True)
    assert (np.diff(keys) > 0).all()
    assert number_keys(words(Vector(np.array([-0.0]))), double=True)[0] == keys[4]


def test_labels_order_strings_as_they_come_and_go() -> None:
    random, dictionary = Random(5), Dictionary()
    labels = Labels(dictionary)
    live: set[str] = set()
    for _ in range(300):
        fresh = {"".join(random.choices("abé", k=random.randrange(1, 9))) for _ in range(random.randrange(1, 6))}
        live |= fresh
        codes = np.array([dictionary.code(s) for s in fresh])
        labels.learn(codes)
        listed = sorted(live)
        found = labels.label_of[[dictionary.code(s) for s in listed]]
        assert (np.diff(found) > 0).all()
        if random.random() < 0.2:
            live = set(random.sample(listed, len(listed) // 2))
            mask = np.zeros(len(dictionary.values), np.bool_)
            mask[[dictionary.code(s) for s in live]] = True
            dictionary.sweep(mask)


def test_labels_are_given_again_where_there_is_no_room() -> None:
    """Each string falls between the last two: after about 32 of them no number is left there."""
    dictionary = Dictionary()
    labels = Labels(dictionary)
    strings = ["a", "b"] + ["a" + "b" * i for i in range(1, 100)]
    strings += [f"{c}" for c in "cdefghijklmnopqrstuvwxyz"]
    for s in [*strings[:2], *reversed(strings[2:])]:
        labels.learn(np.array([dictionary.code(s)]))
    found = labels.label_of[[dictionary.code(s) for s in sorted(strings)]]
    assert (np.diff(found) > 0).all()
    assert labels.version > 4


NORMAL = FINITE.filter(lambda x: x == 0 or abs(x) > 1e-300)


@given(st.lists(st.one_of(NORMAL, st.integers(-255, 255)), min_size=1, max_size=60), st.floats(0, 1))
def test_a_quantile_is_within_a_hundredth(values: list[float], rank: float) -> None:
    quantile = Quantile(rank)
    quantile.resize(1)
    quantile.add(of([float(v) for v in values]))
    exact = sorted(values)[math.floor(rank * (len(values) - 1))]
    found = float(quantile.read(np.array([0])).values[0])
    assert abs(found - exact) <= 0.01 * abs(exact)
    assert found == exact or not float(exact).is_integer() or abs(exact) >= 256


def test_sketches_order_everything() -> None:
    ordered = np.array([-np.inf, -1e300, -2.0, -1.0, -1e-300, 0.0, 1e-300, 1.0, 1.01, 1e300, np.inf, np.nan])
    assert (np.diff(sketch.buckets(ordered)) > 0).all()
    assert sketch.buckets(np.array([-0.0]))[0] == 0
