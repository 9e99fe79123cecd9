"""What is shed on Spark is what is shed in process: sampled with weights that cross the wire, and by value at the
gate; at every drop input = kept + dropped, and the counts add up to the sources'."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from penstock.control.accounts import balance
from penstock.spark.events import AccountLog
from penstock.spark.state.files import Folder
from penstock.stats.snapshot import Snapshot
from penstock.testing import evaluate, net

SCRIPT = """
CREATE STREAM s (x DOUBLE, n INT, k STRING);
CREATE QUERY total WITH (answer = 'estimate') AS
    SELECT k, sum(x) AS t, count(*) AS c FROM s [Range 100 Milliseconds Slide 100 Milliseconds] GROUP BY k;
CREATE QUERY long WITH (answer = 'estimate') AS
    SELECT avg(x) AS m FROM s [Range 400 Milliseconds Slide 200 Milliseconds];
CREATE QUERY worth WITH (value = 'n: 0..50 = 0.2, 50..101 = 1') AS SELECT n, k FROM s WHERE n > 10;
CREATE QUERY named WITH (value = "k: 'a' = 1, else = 0.3") AS SELECT k FROM s WHERE x < 9;
"""


def events(count: int) -> list[tuple[str, int, dict[str, Any]]]:
    drawn = random.Random(4)
    return [("s", i * 500, {"x": drawn.uniform(0, 10), "n": drawn.randrange(101), "k": drawn.choice("abc")})
            for i in range(count)]  # fmt: skip


@pytest.mark.parametrize("policy", ["auto", "semantic"])
def test_spark_sheds_what_a_lane_sheds(policy: str) -> None:
    given = events(2000)
    shed = {"policy": policy, "excess": 0.5}
    lane = evaluate(SCRIPT, given, shed=shed, seed=9, batches=500)
    spark = evaluate(SCRIPT, given, engine="spark", shed=shed, seed=9, batches=500, lanes=2)
    for query in lane.queries:
        assert rounded(net(spark[query])) == rounded(net(lane[query]))
    assert {(str(d.location), d.reason): (d.rows_in, d.dropped) for d in spark.stats.drops} == {
        (str(d.location), d.reason): (d.rows_in, d.dropped) for d in lane.stats.drops
    }
    assert any(d.dropped for d in spark.stats.drops)
    assert all(d.rows_in == d.kept + d.dropped for d in spark.stats.drops)


def rounded(found: dict[Any, int]) -> dict[Any, int]:
    """Sums of doubles depend on their order in the last digits."""
    return {(ts, tuple(f"{v:.9g}" if isinstance(v, float) else v for v in row)): n for (ts, row), n in found.items()}


def test_accounts_are_kept_beside_the_answers(tmp_path: Path) -> None:
    """A line for each query and batch under the checkpoint, with what was delivered, dropped and lost."""
    given = events(1200)
    result = evaluate(SCRIPT, given, engine="spark", shed={"policy": "auto", "excess": 0.4}, batches=300)
    assert {a.query for a in result.accounts} == set(result.queries)
    for query in result.queries:
        assert sum(a.delivered for a in result.accounts if a.query == query) == len(result[query])
    log = AccountLog(Folder(str(tmp_path / "accounts")))
    for snapshot in result.log:
        if isinstance(snapshot, Snapshot):
            log.snapshot(snapshot, "on")
    assert not balance(result.stats), balance(result.stats)
    log.close()
    (file,) = (tmp_path / "accounts").iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {"batch", "query", "delivered", "dropped", "share", "lost", "error", "gap_us"} <= set(lines[0])
    assert sum(line["delivered"] for line in lines if line["query"] == "worth") == len(result["worth"])
