"""Networks of several stages: every row finds the fragment that wants it, however late that runs."""

from __future__ import annotations

import random

import pytest

from penstock.cql import compile_script
from penstock.lane import reference
from penstock.lane.events import Arrival
from penstock.lane.session import Job
from penstock.spark import kit
from penstock.spark.stages import Staged, staged
from tests.law.compare import difference

SCRIPT = """
CREATE STREAM s (k INT, j INT) WITHIN 0 SECONDS;
CREATE STREAM t (k INT, w BIGINT) WITHIN 0 SECONDS;
CREATE RELATION r (k INT, x INT);
CREATE VIEW counts AS SELECT k, count(*) AS n FROM s [Range 10] GROUP BY k;
CREATE QUERY stream_on_result AS SELECT a.n, t.w FROM counts a, t [Range 10] WHERE a.n = t.k;
CREATE QUERY relation_on_result AS SELECT a.n, r.x FROM counts a, r WHERE a.n = r.k;
CREATE QUERY relation_on_one_lane AS SELECT a.n, r.x FROM counts a, r;
CREATE QUERY last_rows AS SELECT a.n, t.w FROM counts a, t [Rows 3];
CREATE QUERY without AS SELECT count(j) AS n FROM s [Partition By k Rows 3] EXCEPT
  SELECT w FROM t [Range 7 Slide 1 Origin -1];
CREATE QUERY at_boundaries AS Rstream(SELECT j, w FROM s [Range 9 Slide 5], t [Range 10] WHERE s.k = t.k);
CREATE QUERY past_a_stage AS SELECT a.k, y.m FROM counts a,
  (SELECT n, count(*) AS m FROM counts GROUP BY n) y WHERE a.n = y.m;
CREATE QUERY four_deep AS SELECT m, count(*) AS l FROM
  (SELECT a.n AS n, y.m AS m FROM counts a, (SELECT n, count(*) AS m FROM counts GROUP BY n) y WHERE a.n = y.m)
  GROUP BY m;
"""


def given(seed: int, rows: int) -> list[Arrival]:
    draw = random.Random(seed)
    loaded = [Arrival("r", 0, i, (draw.randrange(4), i)) for i in range(5)]
    now, found = 0, list(loaded)
    for i in range(rows):
        now += draw.choice((0, 1, 1, 4))
        values = draw.randrange(4), draw.choice((None, 1, 2))
        found.append(Arrival(draw.choice("st"), now, len(loaded) + i, values))
    return found


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("lanes", "cut"), [(1, 30), (3, 11)])
def test_sources_and_results_of_all_stages_meet(lanes: int, cut: int) -> None:
    network = compile_script(SCRIPT)
    rows = given(lanes, 60)
    found = kit.run(Job(network, network.streams, network.relations, rows, cut), lanes).elements
    expected = reference.evaluate(network, network.streams, rows)
    for query in network.queries:
        apart = difference(found[query.name], expected[query.name], rows)
        assert expected[query.name], f"{query.name} says nothing"
        assert not apart, f"{query.name}, Spark less reference: {apart}"


def cut(query: str, lanes: int = 2) -> Staged:
    declared = SCRIPT[: SCRIPT.index("CREATE QUERY")]
    return staged(compile_script(f"{declared} CREATE QUERY q AS {query}"), lanes)


def test_a_source_is_read_at_stage_0_only() -> None:
    for query in ("SELECT a.n, t.w FROM counts a, t [Rows 3]", "SELECT a.n, r.x FROM counts a, r WHERE a.n = r.k"):
        found = cut(query)
        assert {e.leaf.name for e in found.entries_of(0)} == {"s", "t" if "t [" in query else "r"}
        assert all(e.leaf.name.startswith("exchange") for e in found.entries_of(1))


def test_rows_that_lanes_hand_on_are_spread_by_any_value() -> None:
    found = cut("SELECT a.n, t.w FROM counts a, t [Range 10] WHERE a.n = t.k", lanes=3)
    assert found.lanes_of(found.entries_of(1)[0].fragment) == (0, 1, 2)
