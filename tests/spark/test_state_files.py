"""What a lane's state is made again from: retries, corrupt files, missing files. Right, or refused; never wrong."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.spark.lanes import keeper
from penstock.spark.lanes.keeper import Keeper, results_of
from penstock.spark.lanes.protocol import Request
from penstock.spark.lanes.wire import to_bytes
from penstock.spark.recovery import recovery
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.records import CommitRecord, PlanRecord, file_of

NETWORK = compile_script("""
CREATE STREAM s (k INT, v DOUBLE);
CREATE QUERY sums AS SELECT k, sum(v) AS total FROM s [Range 90 Slide 30] GROUP BY k;
CREATE QUERY pairs AS Istream(SELECT a.k AS k, a.v AS x, b.v AS y
  FROM s [Range 20] AS a, s [Partition By k Rows 4] AS b WHERE a.k = b.k);
""")
BATCHES, ROWS = 9, 40


def rows(batch: int) -> bytes:
    draw = random.Random(batch)
    ts = np.sort([100 * batch + draw.randrange(100) for _ in range(ROWS)])
    table = pa.table({"_entry": pa.array(np.zeros(ROWS, np.int32)), "_ts": ts, "_seq": np.arange(ROWS) + batch * ROWS,
                      "_arrival": ts, "s:k": pa.array([draw.randrange(4) for _ in ts], pa.int32()),
                      "s:v": [draw.random() for _ in ts]})  # fmt: skip
    return to_bytes(table)


class Driver:
    """What the pipeline does around one lane, batch after batch; each keeper is a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint = Checkpoint(str(folder), NETWORK, 1)
        self.keeper: Keeper | None = None
        self.before: str | None = None
        self.delivered: dict[int, Counter[Any]] = {}

    def request(self, batch: int, attempt: str) -> Request:
        return Request(str(self.checkpoint.folder.name), "run", self.checkpoint.network, 0, 1, batch, 0, self.before,
                       attempt, {"s": 100 * batch + 100})  # fmt: skip

    def run(self, batch: int, attempt: str = "a") -> Counter[Any]:
        """One attempt, without its commit."""
        request = self.request(batch, f"{attempt}{batch}")
        self.checkpoint.records.put_plan(PlanRecord(batch, batch, self.checkpoint.network, request.progress, 1))
        self.keeper = self.keeper or Keeper(request)
        self.attempt, _ = self.keeper.run(request, rows(batch))
        found = results_of(self.checkpoint.lane(self.attempt), self.attempt)
        return Counter((q, *row.values()) for q, t in found.items() for row in t.to_pylist())

    def commit(self, batch: int, found: Counter[Any]) -> None:
        record = CommitRecord(batch, batch, (self.attempt,), {"s": 0}, {"s": 0}, batch)
        self.checkpoint.records.put_commit(record)
        self.before, self.delivered[batch] = self.attempt.attempt, found

    def batches(self, start: int, end: int) -> None:
        for batch in range(start, end):
            self.commit(batch, self.run(batch))

    def dies(self) -> None:
        self.keeper = None


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot every third batch."""
    monkeypatch.setattr(keeper, "SNAPSHOT_EVERY", 3)


@pytest.fixture
def quiet(tmp_path: Path) -> dict[int, Counter[Any]]:
    driver = Driver(tmp_path / "quiet")
    driver.batches(0, BATCHES)
    assert all(len(found) > 3 for found in list(driver.delivered.values())[1:])
    return driver.delivered


def test_a_retry_after_a_death_in_the_middle_of_an_update(tmp_path: Path, quiet: dict[int, Counter[Any]]) -> None:
    driver = Driver(tmp_path / "broken")
    driver.batches(0, 5)
    driver.run(5, "lost")
    driver.commit(5, driver.run(5, "again"))
    driver.run(6, "lost")
    driver.dies()
    driver.batches(6, BATCHES)
    assert driver.delivered == quiet


def lane_file(folder: Path, part: str) -> Path:
    return sorted(p for p in (folder / "lanes" / "0").iterdir() if part in p.name)[-1]


def rot(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:10])


@pytest.mark.parametrize("damage", [rot, cut, Path.unlink])
def test_a_damaged_snapshot_is_made_up_for_by_an_older_one(
    tmp_path: Path, quiet: dict[int, Counter[Any]], damage: Callable[[Path], None]
) -> None:
    driver = Driver(tmp_path / "broken")
    driver.batches(0, 8)
    damage(lane_file(tmp_path / "broken", "snapshot"))
    driver.dies()
    driver.batches(8, BATCHES)
    assert driver.delivered == quiet


@pytest.mark.parametrize("damage", [rot, cut, Path.unlink])
def test_a_log_that_is_needed_and_damaged_is_refused(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    driver = Driver(tmp_path / "broken")
    driver.batches(0, 8)
    damage(tmp_path / "broken" / "lanes" / "0" / driver.attempt.file)
    driver.dies()
    with pytest.raises(PenstockError, match="cannot be rebuilt") as refused:
        driver.run(8)
    assert driver.attempt.file in str(refused.value)
    assert "restore the folder from a backup" in str(refused.value)


def test_a_commit_record_that_is_missing_in_between_is_refused(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "broken")
    driver.batches(0, 8)
    (tmp_path / "broken" / "commits" / file_of(7)).unlink()
    driver.before = "a6"
    driver.dies()
    driver.batches(8, 9)
    (tmp_path / "broken" / "commits" / file_of(6)).unlink()
    driver.dies()
    with pytest.raises(PenstockError, match="cannot be rebuilt"):
        driver.run(9)


def test_a_damaged_commit_record_is_named(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "broken")
    driver.batches(0, 3)
    rot(tmp_path / "broken" / "commits" / file_of(2))
    with pytest.raises(PenstockError, match=f"{file_of(2)} does not match its checksum"):
        Checkpoint(str(tmp_path / "broken"), NETWORK, 1)


def test_newest_commit_records_that_spark_has_seen_must_be_there(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "broken")
    driver.batches(0, 4)
    spark = tmp_path / "broken" / "spark" / "commits"
    spark.mkdir(parents=True)
    (spark / "3").touch()
    Checkpoint(str(tmp_path / "broken"), NETWORK, 1)
    (tmp_path / "broken" / "commits" / file_of(3)).unlink()
    with pytest.raises(PenstockError, match="Spark has finished its batch 3"):
        Checkpoint(str(tmp_path / "broken"), NETWORK, 1)


def test_what_a_restart_would_replay(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "broken")
    driver.batches(0, 8)
    driver.run(8)
    said = recovery(str(tmp_path / "broken"), None).splitlines()
    assert said[1] == "batches: 8 committed, the last at Spark's batch 7"
    assert said[3].startswith("batch 8 was planned and not committed")
    assert said[5] == f"lane 0: state from the snapshot of batch 5, then the logs of 2 batches, {2 * ROWS} rows"
    assert said[6].startswith("sinks: the results of batch 7 are handed on again")
    assert said[6].endswith("those of pairs, sums")
    more = compile_script("CREATE STREAM s (k INT, v DOUBLE); CREATE QUERY large AS SELECT k FROM s WHERE v > 0.5")
    changes = [line for line in recovery(str(tmp_path / "broken"), more).splitlines() if line.startswith("script")]
    assert [c.split(",")[0] for c in changes] == ["script: 'large' is added", "script: 'pairs' is removed",
                                                  "script: 'sums' is removed"]  # fmt: skip
    with pytest.raises(PenstockError, match="no run to continue"):
        recovery(str(tmp_path / "none"), None)
