"""Window drops on Spark: whole windows go, before rows reach a lane where it is known that a batch goes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.spark.counting import Totals
from penstock.spark.drops import Counted
from penstock.testing import evaluate, net
from tests.shed.test_window_shedding import GAPS, SCRIPT, longest_gap

_DRAWN = random.Random(7)
EVENTS = [("s", i * 800, {"k": _DRAWN.choice((0, 1, None)), "x": _DRAWN.uniform(0, 100)}) for i in range(1200)]
UNGROUPED = """
CREATE STREAM s (k INT, x DOUBLE);
CREATE QUERY q WITH (max_gap = 6) AS SELECT count(*) AS n, max(x) AS m
    FROM s [Range 20 Milliseconds Slide 20 Milliseconds];
"""


@pytest.mark.parametrize(("lanes", "excess"), [(1, 0.4), (2, 0.6)])
def test_windows_are_dropped_whole_and_gaps_kept(lanes: int, excess: float) -> None:
    exact = evaluate(SCRIPT, EVENTS)
    wish = {"policy": "window", "excess": excess}
    result = evaluate(SCRIPT, EVENTS, engine="spark", batches=300, lanes=lanes, shed=wish, seed=2)
    lane = evaluate(SCRIPT, EVENTS, batches=77, shed=wish, seed=2)
    assert result.stats.shut_down == lane.stats.shut_down
    for query in result.queries:
        assert net(result[query]) == net(lane[query])
        assert all(count <= net(exact[query]).get(key, 0) for key, count in net(result[query]).items())
        if query not in result.stats.shut_down:
            assert longest_gap(result[query], exact[query]) <= GAPS[query]
    assert sum(len(result[q]) for q in result.queries) < sum(len(exact[q]) for q in exact.queries)


def test_what_a_running_batch_drops_goes_at_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    at_gate: list[int] = []
    count = Totals.dropped_at_gate

    def spy(totals: Totals, attempts: Any, drops: Any, counted: Counted) -> None:
        at_gate.append(sum(counted.dropped))
        count(totals, attempts, drops, counted)

    monkeypatch.setattr(Totals, "dropped_at_gate", spy)
    wish = {"policy": "window", "excess": 0.6}
    result = evaluate(UNGROUPED, EVENTS, engine="spark", batches=20, lanes=1, shed=wish, seed=2)
    lane = evaluate(UNGROUPED, EVENTS, batches=20, shed=wish, seed=2)
    assert net(result["q"]) == net(lane["q"])
    dropped = {d.reason: (d.rows_in, d.dropped) for d in result.stats.drops if not d.location.node.inputs}
    assert dropped == {d.reason: (d.rows_in, d.dropped) for d in lane.stats.drops if not d.location.node.inputs}
    assert sum(at_gate) > 0.5 * dropped["window"][1]
