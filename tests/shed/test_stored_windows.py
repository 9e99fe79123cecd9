"""Windows over one stream have one store, which numbers its rows: no drop stands before one of them alone."""

from __future__ import annotations

import random

import pytest

from penstock.cql import compile_script
from penstock.plan.drops import Location
from penstock.plan.nodes import Window
from penstock.plan.rewrites import optimize
from penstock.plan.window_reach import reach
from penstock.shed.allowed import Allowed
from penstock.testing import evaluate, net

SCRIPT = """
CREATE STREAM s (a INT, x INT);
CREATE STREAM t (a INT, y INT);
CREATE QUERY p WITH (loss = '100: 1, 90: 0.2, 0: 0') AS ISTREAM(
    SELECT s.x AS x, t.y AS y FROM s [Range 2 Milliseconds], t [Range 4 Milliseconds] WHERE s.a = t.a);
CREATE QUERY q AS ISTREAM(SELECT s.x AS x, t.y AS y FROM s [Range 9 Milliseconds], t [Now] WHERE s.a = t.a);
CREATE QUERY r WITH (answer = 'estimate', max_error = 0.1) AS SELECT sum(x) AS n FROM s [Range 30 Milliseconds];
CREATE QUERY o WITH (answer = 'estimate') AS SELECT sum(x) AS n FROM s [Range 60 Milliseconds];
"""
DRAWN = random.Random(6)
GIVEN = [("st"[i % 2], i * 100, {"a": DRAWN.randrange(5), "xy"[i % 2]: DRAWN.randrange(1000)}) for i in range(3000)]


@pytest.mark.parametrize("policy", ["random", "auto", "sampling"])
def test_what_is_delivered_is_in_the_exact_answer(policy: str) -> None:
    exact = evaluate(SCRIPT, GIVEN)
    result = evaluate(SCRIPT, GIVEN, shed={"policy": policy, "excess": 0.5}, batches=[900, 70])
    assert any(d.dropped for d in result.stats.drops)
    for query in "pq":
        whole = net(exact[query])
        assert all(count <= whole.get(key, 0) for key, count in net(result[query]).items())


def test_the_places_before_them_are_refused() -> None:
    network = optimize(compile_script(SCRIPT))
    windows = [n for n in network.nodes() if isinstance(n, Window)]
    allowed = Allowed.of(network)
    for window in windows:
        alone = sum(w.input == window.input for w in windows) == 1
        assert (allowed.why_not(Location(window.input, window)) is None) is alone
        assert alone or "one store" in str(reach(network, Location(window.input, window)).why)
