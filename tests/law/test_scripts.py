"""The law for scripts: random CQL over every type means the same on the reference and on the lane, however it is cut,
spread, scheduled and shared."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.lane.reference import Element as Bare
from penstock.lane.schedulers import SCHEDULERS
from penstock.plan.functions import aggregate, function, user_functions
from penstock.testing import Element, evaluate
from tests.law.compare import net, unmatched
from tests.law.scripts import Script

SEEDS = 80
MANY = int(os.environ.get("PENSTOCK_LAW_CASES", "5000"))


@pytest.fixture(autouse=True)
def in_python() -> Iterator[None]:
    """A function and an aggregate that scripts call."""
    kept = dict(user_functions.functions), dict(user_functions.aggregates)

    @function(returns="double", takes=["double"])
    def halved(x: Any) -> Any:
        return x / 2

    @aggregate(returns="double")
    class spread:
        def init(self) -> None:
            self.values: list[float] = []

        def incr(self, value: Any) -> None:
            self.values.append(float(value))

        def final(self) -> float | None:
            return max(self.values) - min(self.values) if self.values else None

    yield
    user_functions.functions, user_functions.aggregates = kept


def obeys(seed: int) -> None:
    """One script: whole, and in some other way."""
    script, draw = Script(seed), random.Random(seed)
    close = draw.random() < 0.8
    expected = evaluate(script.text, script.events, engine="reference", close=close)
    doubles = [v for _, _, row in script.events for v in row.values() if isinstance(v, float) and math.isfinite(v)]
    other = {
        "batches": draw.choice((1, 2, 3, 7, [0, 2, 1, 5], [1, 0, 0, 3])), "scheduler": draw.choice(list(SCHEDULERS)),
        "sharing": draw.random() < 0.5, "lanes": draw.choice((1, 1, 2, 3, 4)),
    }  # fmt: skip
    for how in ({}, other):
        found = evaluate(script.text, script.events, engine="lane", close=close, **how)
        for query in found.queries:
            left, right = bare(found[query]), bare(expected[query])
            apart = unmatched(left, right, 1e-9 * sum(map(abs, doubles)))
            assert not apart, f"seed {seed}, {query} under {how}, close={close}:\n{script.text}\n{apart}"


def bare(elements: list[Element]) -> dict[tuple[int, Any], int]:
    """The net counts of rows, arrays as tuples."""
    rows = (tuple(tuple(v) if isinstance(v, list) else v for v in e.values.values()) for e in elements)
    return net(Bare(e.timestamp, e.sign, row) for e, row in zip(elements, rows, strict=True))


def test_scripts_mean_the_same_however_they_run() -> None:
    for seed in range(SEEDS):
        obeys(seed)


@pytest.mark.slow
def test_scripts_at_length() -> None:
    for seed in range(SEEDS, SEEDS + MANY):
        obeys(seed)
