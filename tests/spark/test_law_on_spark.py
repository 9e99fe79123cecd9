"""The invariance law on Spark: gate, panes, exchange, lane servers and commit records give what the reference gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from penstock.lane import reference
from penstock.lane.events import skew_us
from penstock.lane.reference import Element
from penstock.lane.session import Job
from penstock.settings import Settings
from penstock.spark import kit
from tests.law.cases import Case, cases, sizes
from tests.law.compare import difference

CASES = 6
MANY = int(os.environ.get("PENSTOCK_SPARK_LAW_CASES", "150"))
ALWAYS = Settings(pane_rows=0)
NEVER = Settings(pane_rows=1 << 40)
_LAW = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit,
                Phase.generate])  # fmt: skip


def on_spark(case: Case, cut: int | tuple[int, ...] | None, lanes: int, how: Settings) -> dict[str, list[Element]]:
    """The case's results, in batches of these sizes."""
    job = Job(case.network, case.streams, case.relations, case.given, cut)
    return kit.run(job, lanes, settings=how).elements


def punctual(case: Case) -> Case:
    """The case with bounds that its arrivals keep: lateness goes by batches on Spark, by rows in the reference."""
    streams = tuple(
        replace(s, within_us=max(s.within_us or 0, skew_us(a.ts for a in case.given if a.name == s.name)))
        for s in case.streams
    )
    return replace(case, network=replace(case.network, streams=streams))


def law(case: Case, cut: int | tuple[int, ...], lanes: int, how: Settings) -> None:
    case = punctual(case)
    expected = reference.evaluate(case.network, case.streams, case.given)
    same(case, on_spark(case, cut, lanes, how), expected)


def same(case: Case, found: dict[str, list[Element]], expected: dict[str, Sequence[Element]]) -> None:
    for query in case.network.queries:
        apart = difference(found[query.name], expected[query.name], case.given)
        assert not apart, f"{query.name}, Spark less reference: {apart}"


WAYS = {"cut": sizes, "lanes": st.sampled_from((1, 2, 3)), "how": st.sampled_from((ALWAYS, ALWAYS, NEVER))}


@pytest.mark.usefixtures("spark")
@given(case=cases(), **WAYS)
@_LAW
def test_the_law_on_spark(case: Case, cut: int | tuple[int, ...], lanes: int, how: Settings) -> None:
    law(case, cut, lanes, how)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@given(case=cases(), **WAYS)
@settings(_LAW, max_examples=MANY, derandomize=False)
def test_the_law_on_spark_at_length(case: Case, cut: int | tuple[int, ...], lanes: int, how: Settings) -> None:
    law(case, cut, lanes, how)
