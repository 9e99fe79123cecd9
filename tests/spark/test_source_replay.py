"""A trace replayed at its own pace."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row, SparkSession

from penstock.errors import PenstockError
from penstock.spark.sources import open_stream
from penstock.spark.sources.replay import feeding, halt
from penstock.spark.sources.replay.feeder import Feeder
from penstock.spark.sources.replay.spool import Spool, slice_ends
from tests.spark.streams import Options, declared

COLUMNS = "ts timestamp, n int"
START = 1704067200_000_000
TRACE = """ts,n
2024-01-01 00:00:00,0
2024-01-01 00:00:02,1
what,2
2024-01-01 00:00:01,3
2024-01-01 00:00:10,4
"""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE)
    return str(file)


def options(trace: str, **more: Any) -> Options:
    return {"path": trace, "header": True, **more}


def replayed(spark: SparkSession, given: Options, folder: Path, name: str, rows: int) -> tuple[list[Row], float]:
    """The rows once there are `rows` of them, and how long after the start that was."""
    stream = declared(COLUMNS, "replay", given, "ts")
    frame = open_stream(spark, stream, work=str(folder / "work"))
    writer = frame.writeStream.format("memory").queryName(name).option("checkpointLocation", str(folder / "ck"))
    query = writer.start()
    try:
        began = time.monotonic()
        while (found := spark.table(name).count()) < rows:
            assert query.isActive and time.monotonic() < began + 60, f"{found} rows"
            time.sleep(0.05)
        return spark.table(name).orderBy("_arrival", "_offset").collect(), time.monotonic() - began
    finally:
        query.stop()
        spark.catalog.dropTempView(name)


def test_rows_arrive_at_their_own_distances(spark: SparkSession, trace: str, tmp_path: Path) -> None:
    rows, took = replayed(spark, options(trace, speed=5), tmp_path, "replay1", 5)
    assert [r["n"] for r in rows] == [0, 1, 2, 3, 4]
    first = rows[0]["_arrival"]
    assert [r["_arrival"] - first for r in rows] == [0, 400_000, 400_000, 400_000, 2_000_000]
    assert took > 2.0
    assert abs(first / 1e6 - time.time()) < 60
    assert [r["_ts"] for r in rows if r["n"] != 2] == [START + s * 1_000_000 for s in (0, 2, 1, 10)]
    assert [(r["_bad"], r["_raw"]) for r in rows if r["_bad"]] == [("ts is not a timestamp", "what,2")]
    assert [r["_offset"] for r in rows] == [1, 2, 3, 4, 5]


def test_given_arrivals(spark: SparkSession, trace: str, tmp_path: Path) -> None:
    (tmp_path / "arrivals").write_text("0\n0\n150\n150.5\n900\n")
    rows, _ = replayed(spark, options(trace, arrivals=str(tmp_path / "arrivals")), tmp_path, "replay2", 5)
    assert [r["_arrival"] - rows[0]["_arrival"] for r in rows] == [0, 0, 150_000, 150_500, 900_000]


@dataclass
class Query:
    """A streaming query as the feeder sees it."""

    status: dict[str, str] = field(default_factory=lambda: {"message": "Waiting for data to arrive"})


@dataclass
class Session:
    """A session with streaming queries that come and go."""

    active: list[Query] = field(default_factory=list)

    @property
    def streams(self) -> Session:
        return self


def fed(folder: Path, until: int) -> float:
    """Feeds until so many slices have arrived and the query ends; how long that took."""
    session = Session()
    spool = Spool(folder, "")
    feeder = Feeder(spool, session)  # type: ignore[arg-type]
    feeder.start()
    time.sleep(0.1)
    began = time.monotonic()
    session.active = [Query()]
    while len(list(spool.arrived.iterdir())) < until:
        time.sleep(0.01)
    took = time.monotonic() - began
    session.active = []
    feeder.join(timeout=30)
    assert not feeder.is_alive()
    return took


def test_a_restart_goes_on_where_the_run_ended(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "")
    spool.pending.mkdir()
    spool.arrived.mkdir()
    for end_us in (100_000, 300_000, 5_000_000, 5_500_000, 90_000_000):
        (spool.pending / f"{end_us:018d}.parquet").touch()
    assert fed(tmp_path, 2) >= 0.3
    assert len(list(spool.arrived.iterdir())) == 2 and not feeding(str(tmp_path))
    assert 4.6 < fed(tmp_path, 3) < 30
    at = [p.stat().st_mtime for p in sorted(spool.arrived.iterdir())]
    assert at[1] - at[0] == pytest.approx(0.2, abs=1e-3)
    assert len(at) in (3, 4) and not feeding(str(tmp_path))


def test_a_replay_of_a_run_that_is_over_ends_whatever_else_runs(tmp_path: Path) -> None:
    spools = [Spool(tmp_path / name / "s", "") for name in ("over", "other")]
    for spool in spools:
        spool.pending.mkdir(parents=True)
        spool.arrived.mkdir()
        (spool.pending / f"{90_000_000:018d}.parquet").touch()
    feeders = [Feeder(spool, Session([Query()])) for spool in spools]  # type: ignore[arg-type]
    for feeder in feeders:
        feeder.start()
    halt(str(tmp_path / "over"))
    feeders[0].join(timeout=5)
    assert not feeding(str(tmp_path / "over")) and feeding(str(tmp_path / "other")) and feeding(str(tmp_path))
    halt(str(tmp_path))
    feeders[1].join(timeout=5)
    assert not feeding(str(tmp_path))


def test_slices_widen_in_a_long_replay() -> None:
    week = np.array([0, 7 * 86_400_000_000], np.int64)
    ends = slice_ends(week)
    assert ends[0] == -(-(week[1] + 1) // 20_000)
    assert ends[1] > week[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"speed": "fast"}, "not a number above 0"),
        ({"speed": 0}, "not a number above 0"),
        ({"format": "avro"}, "unknown format"),
        ({"pace_by": "when"}, "unknown column 'when'"),
        ({"path": "nowhere.csv"}, "there is no file or folder"),
    ],
)
def test_options_that_are_wrong(spark: SparkSession, trace: str, tmp_path: Path, given: Options, said: str) -> None:
    with pytest.raises(PenstockError) as caught:
        open_stream(spark, declared(COLUMNS, "replay", {**options(trace), **given}, "ts"), work=str(tmp_path / "work"))
    assert said in str(caught.value)


@pytest.mark.parametrize(("text", "said"), [("0\n1\n", "2 arrivals for 5 rows"), ("0\n9\n3\n4\n5", "out of order"),
                                            ("a\n", "are not numbers")])  # fmt: skip
def test_arrivals_that_are_wrong(spark: SparkSession, trace: str, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "arrivals").write_text(text)
    given = options(trace, arrivals=str(tmp_path / "arrivals"))
    with pytest.raises(PenstockError) as caught:
        open_stream(spark, declared(COLUMNS, "replay", given, "ts"), work=str(tmp_path / "work"))
    assert said in str(caught.value)
